"""Replay the capsule of a survivor: its mutant in a copy of the checkout, its tests, and what would make them blind.

Belongs here: the mutated file and what comes of the tests with it. Does not belong here: processes and directories
(``replay``, which passes in how one run is made).
"""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import re
import sys
import tokenize
from collections.abc import Callable
from typing import Any

from repro_gate_pytest.checkout import NoReplay, NotCollected

Attempt = Callable[[bytes], tuple[str, "dict[str, Any] | None", float]]
_RAISES = b"raise RuntimeError('repro-gate: a control that must fail')\n"
_NOTICED = ("failed", "error", "timeout", "crashed")


def survive(manifest: dict[str, Any], repo: str, times: int, attempt: Attempt) -> int:
    """0: it survived each time; 1: a test noticed it. ``attempt`` runs the tests with these bytes as the file.

    Raises NoReplay where the file is another one, where the tests fail without the mutant, or where they would
    not even notice a file that raises.
    """
    mutant = manifest["mutant"]
    data = _content(repo, mutant, manifest["project"]["commit"])
    mutated = patched(data, mutant["patch"])
    tests = manifest["tests"]
    print("replaying mutant %s of %s, line %d" % (mutant["id"], mutant["file"], first_line(data, mutated)))
    print("in a copy of %s, on %d test%s, %d times" % (repo, len(tests), "" if len(tests) == 1 else "s", times))
    outcome, failure, seconds = attempt(data)
    if outcome != "passed":
        raise NoReplay("without the mutant %s" % _said(outcome, failure))
    print("  without it: passed (%.1f s)" % seconds)
    if _outcome(attempt, _RAISES + data)[0] == "passed":
        raise NoReplay("no test notices that %s raises: this Python imports another copy of it" % mutant["file"])
    survived = 0
    for number in range(1, times + 1):
        outcome, failure, seconds = _outcome(attempt, mutated)
        if outcome != "passed" and outcome not in _NOTICED:
            raise NoReplay("with the mutant %s, neither passed nor failed" % _said(outcome, failure))
        survived += outcome == "passed"
        words = "survives" if outcome == "passed" else "KILLED  " + _said(outcome, failure)
        print("  %d/%d %s (%.1f s)" % (number, times, words, seconds))
        sys.stdout.flush()
    print("the mutant survived %d of %d times" % (survived, times))
    if survived == times and mutant["hint"]:
        print(mutant["hint"])
    return 0 if survived == times else 1


def patched(data: bytes, patch: dict[str, Any]) -> bytes:
    """The file after the patch, in the encoding that it declares (PEP 263).

    Raises NoReplay where the lines are not there.
    """
    try:
        # A mark is part of the text: the codec that takes it off would add one to each piece.
        encoding = (
            "utf-8" if data.startswith(codecs.BOM_UTF8) else tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        )
        lines, start = data.decode(encoding).split("\n"), patch["line"] - 1
        if start < 0 or start > len(lines) or lines[start : start + len(patch["removed"])] != patch["removed"]:
            raise NoReplay("the mutant's patch does not fit its file")
        lines[start : start + len(patch["removed"])] = patch["added"]
        return "\n".join(lines).encode(encoding)
    except (SyntaxError, ValueError, LookupError) as broken:
        raise NoReplay("the mutant's file is no text in the encoding that it declares: %s" % broken) from None


def first_line(data: bytes, mutated: bytes) -> int:
    """The first line that differs, as Python counts them: a patch's lines end at line feeds alone."""
    same = next(
        (at for at, (one, other) in enumerate(zip(data, mutated)) if one != other), min(len(data), len(mutated))
    )
    return len(re.findall(rb"\r\n?|\n", data[:same])) + 1


def _content(repo: str, mutant: dict[str, Any], commit: str) -> bytes:
    place = os.path.join(repo, *mutant["file"].split("/"))
    if os.path.realpath(place) != place or not os.path.isfile(place):
        raise NoReplay("%s has no file %s" % (repo, mutant["file"]))
    with open(place, "rb") as file:
        data = file.read()
    if hashlib.sha256(data).hexdigest() != mutant["sha256"]:
        words = "%s is not the file that the mutant was made of: check out the capsule's commit %s"
        raise NoReplay((words % (place, commit)).rstrip())
    return data


def _outcome(attempt: Attempt, data: bytes) -> tuple[str, dict[str, Any] | None, float]:
    try:
        return attempt(data)
    except NotCollected as why:
        return "error", {"message": str(why), "test": "collection"}, 0.0


def _said(outcome: str, failure: dict[str, Any] | None) -> str:
    if failure is None:
        return outcome
    return "%s %s: %s" % (failure.get("test", ""), outcome, failure["message"].split("\n", 1)[0][:100])
