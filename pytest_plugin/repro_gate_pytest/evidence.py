"""What a test was seen to do: network attempts, child processes, files, bound ports.

One audit hook, filtered by the event's name first. It names the test and the destination; it
misses C extensions and whatever child processes do. Belongs here: seeing (and refusing network
attempts on request). Does not belong here: judging.
"""

from __future__ import annotations

import errno
import os
import runpy
import socket
import sys
import time
import traceback
import warnings
from typing import Any, Callable

from repro_gate_pytest import children as processes
from repro_gate_pytest.testfiles import is_test as _is_test

_MOST = 50  # of each kind, per test
_MOST_OPENED = 400
UNTOLD = "a process"  # a child that was there, by whatever way it was started
# Kept: a test may patch these, and must not find us among its mock's calls.
_getcwd_of_os = os.getcwd
_fsdecode = os.fsdecode
_join = os.path.join
_normpath = os.path.normpath
_uname = os.uname
_inet_pton = socket.inet_pton
_sleep = time.sleep
_O_WRITE = os.O_WRONLY | os.O_RDWR
_getframe = sys._getframe
_TEXT_TOOLS = frozenset(
    (
        "awk",
        "cat",
        "cksum",
        "cmp",
        "diff",
        "egrep",
        "fgrep",
        "grep",
        "head",
        "md5sum",
        "rg",
        "sed",
        "sha1sum",
        "sha256sum",
        "strings",
        "tail",
        "wc",
    )
)
# Code whose reading of sources is not the test's: imports, and whoever shows the lines of a traceback.
_IMPORTERS = ("<frozen importlib", "<frozen zipimport", "<frozen runpy")
_QUOTERS = (traceback.__file__, warnings.__file__, runpy.__file__)  # runpy runs what it reads
_PYTESTS_OWN = "%s_pytest%s" % (os.sep, os.sep)

_gaierror = socket.gaierror
_EAI_AGAIN = getattr(socket, "EAI_AGAIN", -3)


class _State:
    recording = False
    refuse = False
    network: list[str] = []
    children: list[str] = []
    offspring: tuple[int, frozenset[int]] = (0, frozenset())
    files: list[str] = []
    binds: list[str] = []
    clocks: list[str] = []
    opened: list[str] = []
    sources: list[str] = []
    opened_wanted = False
    more = 0
    roots: tuple[str, ...] = ()
    delay: Callable[[], float] | None = None


def install() -> None:
    """Add the hook; it stays for the life of the process."""
    sys.addaudithook(_hook)


def watch_files(*roots: str) -> None:
    """Record reads and writes of files below these directories only."""
    _State.roots = tuple(os.path.realpath(root) + os.sep for root in roots)


def watch_opened() -> None:
    """Also record which files of the tree are opened for reading, sources among them."""
    _State.opened_wanted = True


def in_tree(filename: str) -> bool:
    """Whether a source file is the project's own (the first directory that is watched)."""
    return bool(_State.roots) and filename.startswith(_State.roots[0]) and "site-packages" not in filename


def refuse_network(refuse: bool) -> None:
    """Whether attempts to leave the machine fail at once."""
    _State.refuse = refuse


def delay_files(seconds: Callable[[], float] | None) -> None:
    """Wait a moment before each watched file operation (to let another process come between)."""
    _State.delay = seconds


def begin() -> None:
    """A test begins: forget what the last one did."""
    _State.network, _State.children, _State.files, _State.binds = [], [], [], []
    _State.clocks = []
    _State.opened = []
    _State.sources = []
    _State.more = 0
    _State.offspring = processes.offspring()
    _State.recording = True


def network_seen() -> bool:
    """Whether the current test tried to leave the machine."""
    return bool(_State.network)


def end() -> dict[str, Any] | None:
    """What was seen since ``begin``, or None for nothing."""
    _State.recording = False
    if not _State.children and _had_a_child(*_State.offspring):
        _State.children.append(UNTOLD)
    seen: dict[str, Any] = {
        "network": _State.network,
        "children": _State.children,
        "files": _State.files,
        "binds": _State.binds,
        "clocks": _State.clocks,
        "opened": _State.opened,
        "sources": _State.sources,
        "more": _State.more,
    }
    return {key: value for key, value in seen.items() if value} or None


def _had_a_child(faults: int, there: frozenset[int]) -> bool:
    """Whether one came since: multiprocessing and C extensions start some that no audit event tells of."""
    faults_now, there_now = processes.offspring()
    return faults_now != faults or bool(there_now - there)


def _note(kind: list[str], text: str, most: int = _MOST) -> None:
    if text in kind:
        return
    if len(kind) < most:
        kind.append(text)
    else:
        _State.more += 1


def _local(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if not host:
        return True
    text = str(host).lower()
    return text in ("localhost", "::1", "::", "0.0.0.0", "ip6-localhost", "localhost.localdomain") or (
        text.startswith(("127.", "::ffff:127.")) or text == socket_hostname() or text.endswith(".localhost")
    )


def socket_hostname() -> str:
    """This machine's own name: looking it up is not leaving the machine."""
    return _uname().nodename.lower()


def _on_connect(args: tuple[Any, ...]) -> None:
    address = args[1]
    if not isinstance(address, tuple) or not address or _local(address[0]):
        return  # unix sockets, netlink, loopback
    _note(_State.network, "connect %s:%s" % (address[0], address[1] if len(address) > 1 else ""))
    if _State.refuse:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")


def _on_send(args: tuple[Any, ...]) -> None:
    address = args[1]
    if not isinstance(address, tuple) or not address or _local(address[0]):
        return
    _note(_State.network, "send %s:%s" % (address[0], address[1] if len(address) > 1 else ""))
    if _State.refuse:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")


def _numeric(host: object) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            _inet_pton(family, str(host))
        except (OSError, ValueError):
            continue
        return True
    return False


def _on_lookup(args: tuple[Any, ...]) -> None:
    host = args[0]
    if _local(host) or _numeric(host):
        return
    _note(_State.network, "look up %s" % (host,))
    if _State.refuse:
        raise _gaierror(_EAI_AGAIN, "Temporary failure in name resolution")


def _on_bind(args: tuple[Any, ...]) -> None:
    address = args[1]
    if isinstance(address, tuple) and len(address) > 1 and address[1]:
        _note(_State.binds, "port %s" % (address[1],))
    elif isinstance(address, str) and address:
        _note(_State.binds, "socket %s" % (address,))


def _on_child(args: tuple[Any, ...]) -> None:
    if args:
        _note(_State.children, str(args[0])[:200])
        if _State.opened_wanted:
            _on_text_tool(args)


def _on_text_tool(args: tuple[Any, ...]) -> None:
    """Sources that a test has `grep` or its like read for it, also by a shell."""
    said = args[1] if len(args) > 1 else args[0]
    parts = [said] if isinstance(said, (str, bytes, os.PathLike)) else said
    if not isinstance(parts, (list, tuple)):
        return
    texts = [_fsdecode(part) for part in parts if isinstance(part, (str, bytes, os.PathLike))]
    words = [word.strip("'\"") for text in texts for word in text.split()]
    if _TEXT_TOOLS.isdisjoint(word.rpartition("/")[2] for word in words):
        return
    where = args[2] if len(args) > 2 and isinstance(args[2], (str, bytes, os.PathLike)) else _getcwd()
    paths = [_normpath(_join(_fsdecode(where), word)) for word in words if word.endswith(".py")]
    reader, by_another = _reader()
    if by_another or not reader or not _is_test(reader[len(_State.roots[0]) :].replace(os.sep, "/")):
        return
    for path in paths:
        if in_tree(path):
            _note(_State.sources, path[len(_State.roots[0]) :].replace(os.sep, "/"))


def _on_database(args: tuple[Any, ...]) -> None:
    _note(_State.clocks, "sqlite3")


def _on_fork(args: tuple[Any, ...]) -> None:
    _note(_State.children, "fork")


def _on_open(args: tuple[Any, ...]) -> None:
    path, mode, flags = args
    if not isinstance(path, (str, bytes)) or not _State.roots:
        return
    text = _fsdecode(path)
    source = text.endswith((".py", ".pyc"))
    if source and not _State.opened_wanted:
        return
    if not text.startswith("/"):
        text = _join(_getcwd(), text)
    if not text.startswith(_State.roots):
        return
    writes = isinstance(flags, int) and flags & _O_WRITE
    if mode is not None and isinstance(mode, str):
        writes = any(letter in mode for letter in "wax+")
    if _State.opened_wanted and not writes and text.startswith(_State.roots[0]):
        _on_read(text, source)
    if source:
        return
    _touch_file(("write " if writes else "read ") + text)


def _on_read(path: str, source: bool) -> None:
    relative = _normpath(path[len(_State.roots[0]) :])
    if relative.startswith("<"):
        return  # the interpreter looks for the lines of code that is in no file
    if relative.startswith(("..", ".pytest_cache")) or "__pycache__" in relative:
        return
    reader, by_another = _reader() if source else ("", False)
    if source and not reader:
        return
    relative = relative.replace(os.sep, "/")
    _note(_State.opened, relative, _MOST_OPENED)
    if source and not by_another and _is_test(reader[len(_State.roots[0]) :].replace(os.sep, "/")):
        _note(_State.sources, relative)


def _reader() -> tuple[str, bool]:
    """The project's file whose code opens a source, and whether an installed package does it on its behalf.

    Empty where the source is imported, or read to show a line of it: the innermost code that is the
    project's, an importer's, a quoter's or pytest's own decides.
    """
    frame: Any = _getframe(4)  # whoever opens it: below are this, _on_read, _on_open and _hook
    installed = False
    while frame is not None:
        filename: str = frame.f_code.co_filename
        if in_tree(filename):
            return filename, installed
        if filename in _QUOTERS or filename.startswith(_IMPORTERS) or _PYTESTS_OWN in filename:
            return "", False
        if frame.f_code.co_name == "getframeinfo":
            return "", False  # `inspect.stack()` has a line of each caller
        installed = installed or "-packages" in filename
        frame = frame.f_back
    return "", False


def _on_change(args: tuple[Any, ...]) -> None:
    if args and isinstance(args[0], (str, bytes)) and _State.roots:
        text = _fsdecode(args[0])
        if not text.startswith("/"):
            text = _join(_getcwd(), text)
        if text.startswith(_State.roots):
            _touch_file("write " + text)


def _touch_file(what: str) -> None:
    _note(_State.files, what)
    if _State.delay is not None:
        _sleep(_State.delay())


def _getcwd() -> str:
    try:
        return _getcwd_of_os()
    except OSError:  # the directory is gone
        return "/"


_HANDLERS: dict[str, Callable[[tuple[Any, ...]], None]] = {
    "socket.connect": _on_connect,
    "socket.sendto": _on_send,
    "socket.sendmsg": _on_send,
    "socket.getaddrinfo": _on_lookup,
    "socket.gethostbyname": _on_lookup,
    "socket.bind": _on_bind,
    "subprocess.Popen": _on_child,
    "os.posix_spawn": _on_child,
    "os.system": _on_child,
    "os.exec": _on_child,
    "os.fork": _on_fork,
    "os.forkpty": _on_fork,
    "sqlite3.connect": _on_database,
    "open": _on_open,
    "os.remove": _on_change,
    "os.rename": _on_change,
    "os.mkdir": _on_change,
    "os.rmdir": _on_change,
    "os.symlink": _on_change,
    "os.link": _on_change,
}
_watched = _HANDLERS.get
_NETWORK = frozenset(event for event in _HANDLERS if event.startswith("socket."))


def _hook(event: str, args: tuple[Any, ...]) -> None:
    handler = _watched(event)
    if handler is None:
        return
    if _State.recording or (_State.refuse and event in _NETWORK):
        handler(args)
