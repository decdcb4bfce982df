"""bubblewrap: namespaces without a daemon. The machine's files are readable, its homes are not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from repro_gate.process import Process, run, start
from repro_gate.sandbox.paths import environments_within, needed, view_of, with_tester, working_directory
from repro_gate.sandbox.protocol import LOST, Interpreter, Local, Place, View

_MOST_SIGNAL = 64
_HOSTS = Path("/etc/hosts")
_HIDDEN = ("/home", "/root", "/mnt", "/media", "/srv")


# What bwrap says where a mount below / went away while it bound the root: another container's, say.
_PASSING = ("bwrap: Can't bind mount", "bwrap: Can't remount", "bwrap: Can't mount")
_AGAIN = 3


class Persistent:
    """A process below bwrap that is started again where bwrap could not begin because other mounts were changing."""

    def __init__(self, begin: Callable[[], Process], again: int = _AGAIN) -> None:
        self._begin = begin
        self._again = again
        self._process = begin()

    @property
    def pid(self) -> int:
        """The id of the process that runs now."""
        return self._process.pid

    def poll(self) -> int | None:
        """The status of its end, or None while it runs or was started again."""
        status = self._process.poll()
        if status != 1 or not self._again or not self._process.output()[1].startswith(_PASSING):
            return status
        self._again -= 1
        self._process.end()
        self._process = self._begin()
        return None

    def wait(self, seconds: float) -> int | None:
        """Wait at most so long for that status."""
        self._process.wait(seconds)
        return self.poll()

    def end(self, grace: float = 0.0) -> None:
        """Ask it and all below it to end, then make it."""
        self._again = 0
        self._process.end(grace)

    def output(self) -> tuple[str, str]:
        """Standard output and error so far, each cut to head and tail."""
        return self._process.output()

    def output_bytes(self) -> bytes:
        """All of standard output."""
        return self._process.output_bytes()

    def resident(self) -> int:
        """Bytes of memory that it and everything below it hold."""
        return self._process.resident()

    def why(self) -> str:
        """Who is inside cannot reach bwrap itself: a signal that ended it came from outside."""
        status = self._process.poll()
        return LOST if status is not None and status < 0 else ""


class Bubblewrap(Local):
    """Own user, pid, network, ipc and host-name namespaces; a read-only root; private /tmp and /run."""

    name = "bubblewrap"
    hermetic = True

    def __init__(self) -> None:
        self._program = shutil.which("bwrap")

    def why_not(self) -> str:
        """Tries a namespace; the answer is bwrap's own sentence."""
        if self._program is None:
            return "bwrap is not installed"
        tried = run([self._program, "--unshare-all", "--ro-bind", "/", "/", "true"], timeout=20)
        if tried.status != 0:
            return f"bwrap cannot make a namespace: {tried.stderr.strip() or tried.status}"
        return ""

    def notes(self) -> tuple[str, ...]:
        """What it does not give."""
        return ("no limit on memory or processors by the kernel; system files of this machine are readable",)

    def exit_status(self, status: int) -> int:
        """A signal is told as shells tell it."""
        return 128 - status if 128 < status <= 128 + _MOST_SIGNAL else status

    def view(self, place: Place) -> View:
        """The copy stands where the project really is, so that absolute paths hold."""
        return view_of(place)

    def start(
        self,
        place: Place,
        interpreter: Interpreter,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        umask: int,
        subdirectory: str,
        readable: Sequence[str],
        hostname: str | None,
        network: bool,
    ) -> Persistent:
        """The command below bwrap."""
        options = self._options(place, interpreter, subdirectory, readable, hostname, network)
        return Persistent(lambda: start([*options, "--", *argv], env=env, cwd=place.base, umask=umask))

    def _options(
        self,
        place: Place,
        interpreter: Interpreter,
        subdirectory: str,
        readable: Sequence[str],
        hostname: str | None,
        network: bool,
    ) -> list[str]:
        """The bwrap command. Later binds lie over earlier ones, so the order matters."""
        view = self.view(place)
        options = [self._program or "bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        options += ["--unshare-cgroup-try", "--die-with-parent", "--cap-drop", "ALL"]
        if not network:
            options.append("--unshare-net")
        as_root = os.geteuid() == 0
        if as_root:
            options += ["--uid", "1000", "--gid", "1000"]
        name = hostname or "repro-gate"
        options += ["--hostname", name]
        options += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/dev/shm", "--tmpfs", "/run"]
        if as_root:
            options += ["--ro-bind", str(_passwd(place.base)), "/etc/passwd"]
        if _HOSTS.is_file() and not _HOSTS.is_symlink():
            options += ["--ro-bind", str(_hosts(place.base, name)), str(_HOSTS)]
        hidden = [path for path in {*_HIDDEN, str(Path.home())} if Path(path).is_dir()]
        for path in sorted(hidden):
            options += ["--tmpfs", path]
        options += ["--bind", str(place.tmp), "/tmp"]
        covered = [*hidden, "/tmp", "/run"]
        for path in needed([*interpreter.directories, *readable], covered, str(place.original)):
            options += ["--ro-bind", path, path]
        options += ["--bind", str(place.tree), str(place.original)]
        if view.tree != str(place.original):
            options += ["--bind", str(place.tree), view.tree]
        options += ["--bind", str(place.home), view.home, "--bind", str(place.wire), view.wire]
        # Also where repro-gate itself is installed there, and the tests have another environment.
        for path in environments_within([*interpreter.directories, *readable], str(place.original)):
            options += ["--ro-bind", path, path]
        return [*options, "--chdir", working_directory(view, subdirectory)]


def _hosts(base: Path, name: str) -> Path:
    """The machine's table of hosts and the sandbox's own name:
    without an entry asking for it would go to the network.
    """
    path = base / "hosts"
    known = _HOSTS.read_text(encoding="utf-8", errors="replace")
    path.write_text(f"{known.rstrip()}\n127.0.0.1 {name}\n::1 {name}\n", encoding="utf-8")
    return path


def _passwd(base: Path) -> Path:
    """The machine's users and the one that tests run as: a user without an entry breaks getpass."""
    path = base / "passwd"
    try:
        users = Path("/etc/passwd").read_text(encoding="utf-8", errors="replace")
    except OSError:
        users = ""
    path.write_text(with_tester(users, 1000, 1000), encoding="utf-8")
    return path
