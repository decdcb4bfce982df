"""The processes below this one: seeing them, and ending what a test left running.

Belongs here: /proc, signals and prctl, on functions kept before any conftest could patch them.
"""

from __future__ import annotations

import functools
import os
import signal
from typing import Any, Callable, NoReturn

_fork, _waitpid, _killpg, _kill, _exit = os.fork, os.waitpid, os.killpg, os.kill, os._exit
_getpid, _getppid, _open = os.getpid, os.getppid, open

_used_by_children: Callable[[], Any] | None = None
try:
    import resource

    _used_by_children = functools.partial(resource.getrusage, resource.RUSAGE_CHILDREN)
except ImportError:  # not a Unix
    pass

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_MOST_ROUNDS = 200  # one for each generation of orphans


def guard() -> None:
    """Go on in a child, in a session of its own; this process waits for it and never returns.

    What the child's tests leave behind, however daemonised, becomes the guard's child and ends
    with it. A test that kills its parent or its process group reaches nothing but these two.
    """
    guardian = _getpid()
    adopt_orphans()
    pid = _fork()
    if pid:
        _stand(pid)
    die_with_parent()
    if _getppid() != guardian:
        _exit(1)
    os.setsid()


def _stand(pid: int) -> NoReturn:
    def told_to_end(*_: object) -> None:
        end_children()
        _exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, told_to_end)
    done = status = 0
    while done != pid:
        done, status = _waitpid(-1, 0)
    end_children()
    if os.WIFSIGNALED(status):
        _die_by(os.WTERMSIG(status))
    _exit(os.WEXITSTATUS(status))


def _die_by(number: int) -> None:
    """End as the child did, so that whoever started us sees what happened."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    _kill(_getpid(), number)


def adopt_orphans() -> None:
    """Become the parent of every orphan below this process (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Let the kernel end this process when its parent ends (Linux)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def kill_group(pid: int) -> None:
    """Kill the group that ``pid`` leads, or else ``pid`` alone. It must not have been reaped yet."""
    if not kill_rest_of_group(pid):
        try:
            _kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def kill_rest_of_group(pid: int) -> bool:
    """Kill what is left of the group that ``pid`` led; True if there was any."""
    try:
        _killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def reap(pid: int) -> None:
    """Wait for the end of a child."""
    try:
        _waitpid(pid, 0)
    except ChildProcessError:
        pass


def end_children() -> None:
    """End every child, and the orphans that each generation leaves to us."""
    for _ in range(_MOST_ROUNDS):
        pids = children_of(_getpid())
        if not pids:
            return
        for pid in pids:
            kill_group(pid)
            reap(pid)


def children_of(pid: int) -> list[int]:
    """The direct children of a process (of its main thread)."""
    try:
        with _open("/proc/%d/task/%d/children" % (pid, pid), "rb") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def offspring() -> tuple[int, frozenset[int]]:
    """What differs once this process had a child: the page faults of those it waited for, and who is there now."""
    return _faults(), frozenset(children_of(_getpid()))


def _faults() -> int:
    if _used_by_children is None:
        return 0
    used = _used_by_children()
    return int(used.ru_minflt + used.ru_majflt)


def resident(pid: int) -> int:
    """Bytes of memory that a process and those below it hold by themselves (shared pages do not count)."""
    total = 0
    queue = [pid]
    while queue:
        pid = queue.pop()
        queue.extend(children_of(pid))
        try:
            with _open("/proc/%d/statm" % pid, "rb") as file:
                words = file.read().split()
            total += (int(words[1]) - int(words[2])) * _PAGE
        except (OSError, IndexError, ValueError):
            continue
    return total


_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def _prctl(option: int, value: int) -> None:
    try:
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
    except (ImportError, OSError, AttributeError):  # not Linux
        pass
