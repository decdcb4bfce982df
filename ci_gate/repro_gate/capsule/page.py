"""A capsule as a page for people: what fails, why, where it was seen, how to see it again, how to look inside.

Belongs here: words and layout. A capsule comes from anywhere: every line is made safe to print, and none
of its texts can stand where a label stands. Does not belong here: checking (``inspect``), printing (cli).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from repro_gate.capsule.archive import ENTRYPOINT
from repro_gate.capsule.inspect import Capsule, visible
from repro_gate.capsule.manifest import Manifest
from repro_gate.capsule.proof import Proof
from repro_gate.capsule.survivor import Survivor
from repro_gate.model import Conditions

_LABEL = 12
_MESSAGE_LINES = 12
_LINE = 300
# What a reader gets of the words for a cause's other tests, by its role.
_OTHERS = {"victim": "after", "brittle": "saved by", "": "beside"}


def show(capsule: Capsule) -> list[str]:
    """The page, line by line, each printable as it is."""
    manifest = capsule.manifest
    facts = [
        ("survives", _survivor(manifest.mutant)),
        ("proves" if manifest.proof else "passes" if manifest.mutant else "fails", _failure(manifest)),
        ("at", _place(capsule)),
        ("red on", _red(manifest.proof)),
        ("green on", _green(manifest)),
        ("cause", _cause(manifest)),
        ("conditions", _conditions(manifest)),
        ("tests", _tests(manifest)),
        ("pytest", _pytest(manifest)),
        ("verified", _verified(manifest)),
        ("not held", [", ".join(manifest.determinism.not_controlled)]),
        ("project", [_project(manifest)]),
        ("seen on", _environment(capsule)),
        ("made", _made(manifest)),
    ]
    lines = [f"capsule {manifest.id}", ""]
    for label, texts in facts:
        lines += _block(label, [text for text in texts if text])
    return [visible(line) for line in (*lines, "", *_commands(capsule))]


def _block(label: str, texts: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield f"{label if not number else '':<{_LABEL}}{visible(text, _LINE)}"


def _survivor(mutant: Survivor | None) -> Iterator[str]:
    """The mutant: where, its patch, and what would tell it from the original."""
    if mutant is None:
        return
    within = f" in {mutant.qualname}" if mutant.qualname else ""
    yield f"mutant {mutant.id} ({mutant.operator}) of {mutant.file}{within}"
    patch = mutant.patch.shown()
    yield from (f"  {line}" for line in patch[:_MESSAGE_LINES])
    if len(patch) > _MESSAGE_LINES:
        yield f"  … {len(patch) - _MESSAGE_LINES} more lines in manifest.json"
    yield mutant.hint


def _failure(manifest: Manifest) -> Iterator[str]:
    if manifest.mutant is not None:
        every = "its one test" if len(manifest.tests) == 1 else f"each of its {len(manifest.tests)} tests"
        yield f"{every}, with the mutant as without it"
        return
    expected = manifest.expected
    yield manifest.victim
    yield f"{expected.outcome}: {expected.type}" if expected.type else str(expected.outcome)
    message = expected.message.splitlines()
    yield from (f"  {line}" for line in message[:_MESSAGE_LINES])
    if len(message) > _MESSAGE_LINES:
        yield f"  … {len(message) - _MESSAGE_LINES} more lines in evidence/failure.json"


def _place(capsule: Capsule) -> Iterator[str]:
    """The innermost line of the failure that is the project's own."""
    frames = _dict(_document(capsule, "evidence/failure.json")).get("frames")
    own = [frame for frame in _list(frames) if _dict(frame).get("zone") in ("Test", "Product")]
    if own:
        yield f"{own[-1].get('path')}:{own[-1].get('line')}, in {own[-1].get('function')}"


def _red(proof: Proof | None) -> Iterator[str]:
    """Base, the reason that counts there, and what lies on it."""
    if proof is None:
        return
    yield f"base {proof.base} ({proof.reason})"
    laid = [*(each.path for each in proof.files), *(f"{each.path} (pytest's settings)" for each in proof.texts)]
    laid += [f"without {path}" for path in proof.removed if path not in {each.path for each in proof.files}]
    yield from (f"  {path}" for path in laid[:_MESSAGE_LINES])
    if len(laid) > _MESSAGE_LINES:
        yield f"  … {len(laid) - _MESSAGE_LINES} more in manifest.json"
    missing = sorted(proof.lenient.modules | proof.lenient.symbols)
    if missing:
        yield f"  imports that may be missing there: {', '.join(missing)}"
    if proof.lenient.tests:
        yield "  there the import of its file fails, and the test by that"


def _green(manifest: Manifest) -> Iterator[str]:
    proof = manifest.proof
    if proof is not None:
        yield f"head {manifest.project.commit}, {proof.passed} of {proof.of} replays"


def _cause(manifest: Manifest) -> Iterator[str]:
    cause = manifest.cause
    if manifest.proof is not None:
        return
    if manifest.mutant is not None:
        yield from (f"failed {row.failed} of {row.of}  {row.what}" for row in cause.table)
        return
    role = f" ({cause.role})" if cause.role else ""
    yield f"{cause.axis or 'no single axis'}{role}" + (f": {cause.detail}" if cause.detail else "")
    for other in cause.others:
        if other and other not in cause.detail:
            yield f"  {_OTHERS[cause.role]} {other}"
    for row in cause.table:
        yield f"  failed {row.failed} of {row.of}  {row.what}".rstrip()


def _conditions(manifest: Manifest) -> Iterator[str]:
    moved = manifest.conditions.differences(Conditions.baseline())
    if not moved:
        yield "neutral"
    for axis in moved:
        yield f"{axis} = {manifest.conditions.axis(axis)}"


def _tests(manifest: Manifest) -> Iterator[str]:
    lanes = len(manifest.partners)
    beside = f", and {lanes} further {'list' if lanes == 1 else 'lists'} at the same time" if lanes else ""
    yield ("1 test" if len(manifest.tests) == 1 else f"{len(manifest.tests)} tests, in this order") + beside
    if len(manifest.tests) > 1 or manifest.mutant is not None:
        yield from (f"  {test}" for test in manifest.tests[:_MESSAGE_LINES])
    if len(manifest.tests) > _MESSAGE_LINES:
        yield f"  … {len(manifest.tests) - _MESSAGE_LINES} more in manifest.json"


def _pytest(manifest: Manifest) -> Iterator[str]:
    """How pytest is started, as far as it is recorded and not the rule."""
    if manifest.invocation or manifest.pytest_args:
        yield shlex.join([*(manifest.invocation or "python -m pytest").split(), *manifest.pytest_args])


def _verified(manifest: Manifest) -> Iterator[str]:
    found = manifest.determinism
    pinned = "pinned" if found.pinned else "unpinned"
    rate = "" if found.rate is None else f", fails at a rate of {found.rate:.0%}"
    hermetic = "hermetic" if manifest.sandbox.hermetic else "not hermetic"
    yield f"{found.verified.k} of {found.verified.of} replays, {pinned}, level {found.level}{rate}"
    yield found.why
    yield f"in sandbox {manifest.sandbox.name} ({hermetic})"


def _project(manifest: Manifest) -> str:
    project = manifest.project
    place = f"{project.repository or 'unknown repository'} at {project.commit or 'unknown commit'}"
    return place + (f", in {project.root}" if project.root else "") + (" (with local changes)" if project.dirty else "")


def _environment(capsule: Capsule) -> Iterator[str]:
    """Interpreter, platform, what was installed, and the variables that were kept."""
    found = _dict(_document(capsule, "env/environment.json"))
    interpreter, platform = _dict(found.get("interpreter")), _dict(found.get("platform"))
    yield ", ".join(
        words
        for words in (
            _words(interpreter, "implementation", "version"),
            _words(platform, "system", "release", "machine"),
            _words(platform, "libc"),
        )
        if words
    )
    installed = [str(name) for name in _list(found.get("distributions"))]
    pytest = [name for name in installed if name.startswith("pytest==")]
    others = len(installed) - len(pytest)
    if installed:
        yield f"{', '.join([*pytest, f'{others} other distributions'])} (env/environment.json)"
    yield " ".join(f"{name}={value}" for name, value in sorted(_dict(found.get("variables")).items()))


def _made(manifest: Manifest) -> Iterator[str]:
    run = (
        f" (seed {manifest.provenance.seed}, run {manifest.provenance.run})"
        if not (manifest.proof or manifest.mutant)
        else ""
    )
    yield f"{manifest.created_at} by {manifest.producer.name} {manifest.producer.version}{run}"
    total = sum(manifest.redaction.counts.values())
    kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(manifest.redaction.counts.items()) if number)
    if total:
        yield f"redacted: {total} {'value' if total == 1 else 'values'} ({kinds})"


def _commands(capsule: Capsule) -> Iterator[str]:
    """Commands to paste; what is unpacked goes beside the checkout, not into it."""
    path = shlex.quote(str(capsule.path))
    place = f"../capsule-{capsule.manifest.id}"
    both = capsule.manifest.proof is not None
    yield f"Replay it, in a checkout {'that has both commits' if both else 'of that commit'}:"
    yield f"  repro-gate replay {path}"
    yield f"The same with nothing but {'git, ' if both else ''}Python and pytest:"
    yield f"  unzip -q {path} -d {place} && {place}/{ENTRYPOINT}"
    yield "Look inside; this runs nothing of it:"
    yield f"  unzip -l {path}"
    yield f"  unzip -p {path} evidence/conditions-diff.json"


# What is in the other members is nobody's promise: whatever has not the expected shape is not shown.


def _document(capsule: Capsule, member: str) -> object:
    try:
        return json.loads(capsule.members.get(member, b"null"))
    except (ValueError, RecursionError):
        return None


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _words(of: dict[str, Any], *keys: str) -> str:
    return " ".join(str(of[key]) for key in keys if of.get(key))
