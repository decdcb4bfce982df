"""The stack that a test left before it was killed: faulthandler's text becomes frames by zone.

Pure but for reading one small file. What is written there is a test process's own word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro_gate.model import Frame, Zone
from repro_gate_pytest import wire

_MOST_BYTES = 200_000
_HARNESS = "repro_gate_pytest/runner.py"
_FATAL = "Fatal Python error: "
_HEAD = re.compile(r"^(Current thread|Thread) 0x")
_FRAME = re.compile(r'^  File "(?P<path>.*)", line (?P<line>\d+) in (?P<function>.*)$')


@dataclass(frozen=True, kw_only=True, slots=True)
class Left:
    """What a process left: frames, outermost first, and the text that they were read from."""

    frames: tuple[Frame, ...] = ()
    text: str = ""


def read(channel: Path, *, crash: bool, tree: str, roots: Mapping[str, Any], tests: Collection[str]) -> Left:
    """The stack beside a run's channel. Of a ``crash`` only what the crash itself wrote.

    ``tree`` is the tree as the process saw it, ``roots`` where it says installed code is,
    ``tests`` are files of tests (relative to pytest's root).
    """
    path = Path(wire.stack_file(str(channel)))
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8", "replace")
        path.unlink()
    except OSError:
        return Left()
    if crash:
        # What is before it is the stack of a test that was slow: it does not say where this one ended.
        _, found, rest = text.rpartition(_FATAL)
        text = found + rest if found else ""
    return Left(frames=parse(text, tree=tree, roots=roots, tests=tests), text=text)


def parse(text: str, *, tree: str, roots: Mapping[str, Any], tests: Collection[str]) -> tuple[Frame, ...]:
    """Frames of the main thread; those of another one before them where only it is in the product."""
    threads: list[list[Frame]] = []
    for line in text.splitlines():
        if _HEAD.match(line):
            # A C stack, which newer versions add, has a head of its own, and no frames that are any.
            threads.append([])
        match = _FRAME.match(line)
        if match and threads:
            zone, shown = place(match["path"], tree=tree, roots=roots, tests=tests)
            frame = Frame(zone=zone, path=shown, line=int(match["line"]), function=match["function"])
            threads[-1].insert(0, frame)
    threads = [frames for frames in threads if frames]
    if not threads:
        return ()
    *others, main = threads  # faulthandler begins with the youngest
    harness = [number for number, frame in enumerate(main) if frame.path == _HARNESS]
    main = main[harness[-1] + 1 :] if harness else main  # a traceback would not begin at the process's start, either
    if not _in_product(main):
        for other in others:
            if _in_product(other):
                return (*other, *main)
    return tuple(main)


def place(path: str, *, tree: str, roots: Mapping[str, Any], tests: Collection[str]) -> tuple[Zone, str]:
    """Zone and displayed path of a source file, as the process itself would sort it."""
    if path.startswith("<frozen"):
        return Zone.STDLIB, path
    if path.startswith("<"):
        return (Zone.TEST if path.startswith("<doctest ") else Zone.PRODUCT), path
    for root in _strings(roots.get("ours")):
        if path.startswith(root):
            return Zone.THIRD_PARTY, "repro_gate_pytest/" + path.removeprefix(root)
    for root in _strings(roots.get("site")):
        if path.startswith(root):
            return Zone.THIRD_PARTY, path.removeprefix(root)
    if path.startswith(tree + "/"):
        relative = path.removeprefix(tree + "/")
        if "site-packages/" in relative:
            return Zone.THIRD_PARTY, relative.partition("site-packages/")[2]
        test = wire.TEST_PATH.search(relative) or any(relative.endswith(file) for file in tests if file)
        return (Zone.TEST if test else Zone.PRODUCT), relative
    for root in _strings(roots.get("stdlib")):
        if path.startswith(root):
            return Zone.STDLIB, path.removeprefix(root)
    return Zone.THIRD_PARTY, path.rpartition("/")[2]


def _in_product(frames: Sequence[Frame]) -> bool:
    return any(frame.zone is Zone.PRODUCT for frame in frames)


def _strings(value: object) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list) else []
