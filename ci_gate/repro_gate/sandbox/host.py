"""No sandbox: the machine itself. Asked for by name, or where nothing better is there for a scan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from repro_gate.process import Process, start
from repro_gate.sandbox.protocol import Interpreter, Local, Place, View


class Host(Local):
    """Runs commands as they are, in a fresh copy of the tree."""

    name = "host"
    hermetic = False

    def why_not(self) -> str:
        """It always works."""
        return ""

    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        return (
            "not hermetic: tests could read and write this machine's files",
            "network is refused inside Python only: C extensions and child processes could reach it",
        )

    def exit_status(self, status: int) -> int:
        """There is no program between."""
        return status

    def view(self, place: Place) -> View:
        """The same paths inside as outside."""
        return View(tree=str(place.tree), home=str(place.home), tmp=str(place.tmp), wire=str(place.wire))

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
    ) -> Process:
        """The command itself."""
        return start(argv, env=env, cwd=place.tree / subdirectory, umask=umask)
