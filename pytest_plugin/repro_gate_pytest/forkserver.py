"""Collect once, fork per experiment, never trust the child to end.

The parent is the project's pytest process after collection. It runs no test: it reads commands,
forks, waits, watches memory, kills groups, and says how each child ended. Results go from the
child straight to the gate on a pipe of the experiment's own.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import warnings
from collections.abc import Mapping
from typing import Any, Callable

from repro_gate_pytest import axes, children, mutating, wire
from repro_gate_pytest.channel import Channel
from repro_gate_pytest.runner import Runner, conditions_of

# Kept: a conftest may patch any of these (gevent patches most).
_fork, _waitpid, _exit, _read = os.fork, os.waitpid, os._exit, os.read
_poll = select.poll
_open = open
_pidfd_open = getattr(os, "pidfd_open", None)

_TICK = 0.05


def unsafe_to_fork() -> str:
    """Why this process must not be forked, or an empty string."""
    if not hasattr(os, "fork"):
        return "this platform has no fork"
    others = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    if others:
        return "threads are alive after collection: " + ", ".join(sorted(others)[:5])
    return ""


class ForkServer:
    """Serves commands until told to quit or until the command pipe is gone."""

    def __init__(
        self,
        runner: Runner,
        events: Channel,
        commands: str,
        renew_capture: Callable[[], None],
        tree: str,
        unwatch: Callable[[], None] = lambda: None,
    ) -> None:
        self._runner = runner
        self._census = mutating.Census(tree)
        self._events = events
        self._renew_capture = renew_capture
        self._unwatch = unwatch
        self._children: dict[int, dict[str, Any]] = {}
        self._poll = _poll()
        self._commands = os.open(commands, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._keep = os.open(commands, os.O_WRONLY | os.O_CLOEXEC)  # so that no reader sees an end

    def serve(self) -> None:
        """The loop. Returns after QUIT, with no child left."""
        children.adopt_orphans()
        children.die_with_parent()
        self._poll.register(self._commands, select.POLLIN)
        buffer = b""
        while True:
            ready = self._poll.poll(_TICK * 1000 if self._children else 1000)
            if any(fd == self._commands for fd, _ in ready):
                buffer += _read(self._commands, 65536)
                lines, buffer = wire.split_lines(buffer)
                for line in lines:
                    if not self._obey(wire.decode(line)):
                        return
            self._reap()
            self._watch_memory()

    def _obey(self, command: Mapping[str, Any]) -> bool:
        if command["do"] == wire.RUN:
            self._start(command)
        elif command["do"] == wire.KILL:
            for pid, child in self._children.items():
                if child["run"] == command["run"]:
                    child["why"] = command.get("why", "killed")
                    children.kill_group(pid)
        elif command["do"] == wire.QUIT:
            for pid in list(self._children):
                children.kill_group(pid)
                children.reap(pid)
            children.end_children()
            return False
        return True

    def _start(self, command: Mapping[str, Any]) -> None:
        if "swap" in command:
            self._census.take()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pid = _fork()
        if pid == 0:
            self._be_child(command)
        limits = command.get("limits", {})
        ended = self._watch(pid)
        self._children[pid] = {"run": command["run"], "why": "", "memory": limits.get("memory", 0), "ended": ended}
        self._events.send(wire.FORKED, run=command["run"], pid=pid)

    def _watch(self, pid: int) -> int:
        """A descriptor that becomes readable when the child ends, or -1 (then it is polled for)."""
        try:
            fd: int = _pidfd_open(pid)  # type: ignore[misc]
        except (OSError, TypeError):
            return -1
        self._poll.register(fd, select.POLLIN)
        return fd

    def _be_child(self, command: Mapping[str, Any]) -> None:
        """In the fork: take on the conditions, run, end. Never returns."""
        status = 1
        try:
            os.setsid()
            children.die_with_parent()
            os.close(self._commands)
            os.close(self._keep)
            self._events.close()
            _volunteer_for_oom()
            channel = Channel(command["channel"])
            self._renew_capture()
            if "swap" in command and not self._exchange(command["swap"], channel):
                status = 0
                return
            if "swap" in command:
                self._unwatch()  # nobody asks which lines ran, and on some Pythons each of them costs
            conditions = conditions_of(command)
            axes.apply(conditions)
            self._runner.watch_time(command)
            self._runner.run(command["order"], channel, command.get("until", ()))
            status = 0
        except BaseException as broken:
            try:
                import traceback

                traceback.print_exception(type(broken), broken, broken.__traceback__, file=sys.__stderr__)
                sys.__stderr__.flush()  # type: ignore[union-attr]
            except BaseException:
                pass
        finally:
            _exit(status)

    def _exchange(self, swap: Mapping[str, Any], channel: Channel) -> bool:
        """Whether the swap took place: where it did not, no test may run."""
        try:
            count, reason = mutating.exchange(self._census, swap), ""
        except mutating.Refused as refused:
            count, reason = 0, str(refused)
        channel.send(wire.SWAPPED, count=count, reason=reason)
        return count > 0

    def _reap(self) -> None:
        for pid in list(self._children):
            try:
                done, status = _waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                done, status = pid, 0
            if not done:
                continue
            child = self._children.pop(pid)
            if child["ended"] != -1:
                self._poll.unregister(child["ended"])
                os.close(child["ended"])
            children.kill_rest_of_group(pid)
            if not self._children:
                children.end_children()
            self._events.send(wire.EXITED, run=child["run"], status=status, why=child["why"])

    def _watch_memory(self) -> None:
        for pid, child in self._children.items():
            if child["memory"] and not child["why"] and children.resident(pid) > child["memory"]:
                child["why"] = "memory"
                children.kill_group(pid)


def _volunteer_for_oom() -> None:
    """If memory runs out, the kernel should end the experiment and not the server."""
    try:
        with _open("/proc/self/oom_score_adj", "w") as file:
            file.write("900")
    except OSError:
        pass
