"""The stack of a test that hangs or crashes, on file before its process is gone.

A crash is faulthandler's own business: it writes to our file in place of standard error, which
any test may write to as well. For a hang, a timer of the kernel sends a signal that nobody uses, and faulthandler
answers it in C: also from a loop that never gives up the interpreter, and with no thread, which a test that forks
would be warned of. Where there are no such timers (not Linux, no ctypes) there is no stack.
"""

from __future__ import annotations

import faulthandler
import fcntl
import os
import signal
import time
from typing import Any

try:
    import ctypes
except ImportError:  # a Python built without libffi
    ctypes = None  # type: ignore[assignment]

_MARGIN = 0.15  # of the limit, at most a second: time to write the stack, and for a busy machine
_HIGH = 390
_USABLE = bool(ctypes) and hasattr(signal, "SIGRTMAX") and hasattr(faulthandler, "register")
_SIGNAL = int(getattr(signal, "SIGRTMAX", 0)) - 3
_monotonic = time.monotonic
_ftruncate = os.ftruncate


class StackWatch:
    """Armed for each test; the stack goes to ``path``, and only that of the latest test stays there."""

    def __init__(self, path: str, seconds: float) -> None:
        self._after = max(seconds * 0.5, seconds - min(1.0, seconds * _MARGIN))
        self._began = _monotonic()
        self._fd = -1
        self._timer: Any = None
        timer = _make_timer()
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)
            os.close(fd)
            faulthandler.enable(file=self._fd, all_threads=True)
            if timer is None:
                return
            faulthandler.register(_SIGNAL, file=self._fd, all_threads=True, chain=False)
        except (OSError, ValueError, RuntimeError):
            return
        self._timer = timer

    def begin(self) -> None:
        """A test begins: its time, too."""
        if self._timer is None:
            return
        now = _monotonic()
        if now - self._began >= self._after:
            try:
                _ftruncate(self._fd, 0)  # the test before was slow, but did end
            except OSError:
                self._timer = None
                return
        self._began = now
        self._timer(self._after)

    def end(self) -> dict[str, Any]:
        """The next ``begin`` sets the timer anew."""
        return {}


def _make_timer() -> Any:
    """A function that has ``_SIGNAL`` sent to this process after so many seconds, or None."""
    if not _USABLE:
        return None
    functions = _timer_functions()
    if functions is None:
        return None
    create, settime = functions

    class Event(ctypes.Structure):
        _fields_ = [
            ("value", ctypes.c_void_p),
            ("signo", ctypes.c_int),
            ("notify", ctypes.c_int),
            ("rest", ctypes.c_char * 64),
        ]

    class Spec(ctypes.Structure):
        _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "after_s", "after_ns")]

    handle = ctypes.c_void_p()
    event = Event(signo=_SIGNAL, notify=0)
    if create(time.CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(handle)) != 0:
        return None
    spec = Spec()
    pointer = ctypes.byref(spec)

    def after(seconds: float) -> None:
        whole = int(seconds)
        spec.after_s, spec.after_ns = whole, int((seconds - whole) * 1e9)
        settime(handle, 0, pointer, None)

    return after


def _timer_functions() -> Any:
    for library in (None, "librt.so.1"):  # in the C library itself since glibc 2.34
        try:
            loaded = ctypes.CDLL(library)
            return loaded.timer_create, loaded.timer_settime
        except (OSError, AttributeError):
            continue
    return None
