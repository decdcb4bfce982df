"""What one run of one test came to, and what was seen on the way."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from repro_gate.model.trace import Trace


class Outcome(enum.StrEnum):
    """Never a bare bool: these facts must not be mixed up."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    NOT_RUN = "not_run"

    @property
    def good(self) -> bool:
        """Counts as a pass: passed, or failed just as expected."""
        return self in (Outcome.PASSED, Outcome.XFAILED, Outcome.XPASSED)

    @property
    def bad(self) -> bool:
        """Counts as a failure."""
        return self in (Outcome.FAILED, Outcome.ERROR, Outcome.TIMEOUT, Outcome.CRASHED)


class Zone(enum.StrEnum):
    """Whose code a traceback frame is in."""

    TEST = "Test"
    PRODUCT = "Product"
    THIRD_PARTY = "3rd party"
    STDLIB = "Stdlib"


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """One frame of a traceback; ``path`` is relative to the tree where it can be."""

    zone: Zone
    path: str
    line: int
    function: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why a test failed. ``fingerprint`` is equal for the same failure on another machine."""

    phase: str
    type: str
    bases: tuple[str, ...]
    message: str
    chain: tuple[str, ...]
    frames: tuple[Frame, ...]
    fingerprint: str

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Failure:
        """From the wire or a capsule. Raises KeyError, TypeError or ValueError on another shape."""
        return cls(
            phase=str(data["phase"]),
            type=str(data["type"]),
            bases=tuple(map(str, data["bases"])),
            message=str(data["message"]),
            chain=tuple(map(str, data["chain"])),
            frames=tuple(
                Frame(zone=Zone(f["zone"]), path=str(f["path"]), line=int(f["line"]), function=str(f["function"]))
                for f in data["frames"]
            ),
            fingerprint=str(data["fingerprint"]),
        )

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "phase": self.phase,
            "type": self.type,
            "bases": list(self.bases),
            "message": self.message,
            "chain": list(self.chain),
            "frames": [
                {"zone": str(f.zone), "path": f.path, "line": f.line, "function": f.function} for f in self.frames
            ],
            "fingerprint": self.fingerprint,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What one test was seen to do. Each list is capped; ``more`` counts what was cut.

    ``clocks`` are others than Python's. Only where asked for: ``lines`` are watched lines that ran, ``ran`` what ran of
    recorded files (``away``: in child processes alone), ``opened`` files of the tree opened for reading other than by
    import, ``sources`` those of Python that code of tests opened, ``unrouted`` how many packets found no way out
    (None: not asked).
    """

    network: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    clocks: tuple[str, ...] = ()
    more: int = 0
    lines: tuple[tuple[str, int], ...] = ()
    opened: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    unrouted: int | None = None
    ran: tuple[Trace, ...] = ()
    away: tuple[Trace, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Evidence:
        """From the wire. Absent keys are empty. Raises TypeError or ValueError on another shape."""
        unrouted = data.get("unrouted")
        return cls(
            network=tuple(map(str, data.get("network", ()))),
            children=tuple(map(str, data.get("children", ()))),
            files=tuple(map(str, data.get("files", ()))),
            binds=tuple(map(str, data.get("binds", ()))),
            clocks=tuple(map(str, data.get("clocks", ()))),
            more=int(data.get("more", 0)),
            lines=tuple(
                (str(path), int(line)) for path, lines in dict(data.get("lines", {})).items() for line in lines
            ),
            opened=tuple(map(str, data.get("opened", ()))),
            sources=tuple(map(str, data.get("sources", ()))),
            unrouted=None if unrouted is None else int(unrouted),
            ran=Trace.all_from_json(data.get("ran", {})),
            away=Trace.all_from_json(data.get("away", {})),
        )

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; what was not asked for is left out."""
        data: dict[str, Any] = {
            "network": list(self.network),
            "children": list(self.children),
            "files": list(self.files),
            "binds": list(self.binds),
            "more": self.more,
        }
        lines: dict[str, list[int]] = {}
        for path, line in self.lines:
            lines.setdefault(path, []).append(line)
        asked = {
            "clocks": list(self.clocks),
            "lines": lines,
            "opened": list(self.opened),
            "sources": list(self.sources),
            "unrouted": self.unrouted,
            "ran": {trace.path: [trace.lines, trace.arcs] for trace in self.ran},
            "away": {trace.path: [trace.lines, trace.arcs] for trace in self.away},
        }
        return data | {key: value for key, value in asked.items() if value or value == 0}


@dataclass(frozen=True, kw_only=True, slots=True)
class TestRun:
    """One test in one experiment. ``touched`` names axes the test was seen to read from.

    ``contradiction``: what its report says otherwise than what was seen first-hand, as a sentence.
    """

    __test__ = False

    id: str
    outcome: Outcome
    seconds: float
    failure: Failure | None = None
    evidence: Evidence | None = None
    touched: tuple[str, ...] = ()
    output: str = ""
    contradiction: str = ""
