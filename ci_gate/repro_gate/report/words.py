"""Words and quoting that all renderings share.

Belongs here: text that comes from a test made safe to show, numbers and causes in words. Does
not belong here: the layout of any one format.
"""

from __future__ import annotations

import re
import shlex
import unicodedata

from repro_gate.model import Finding, FlakeReport, SkippedFile, TestVerdict, Verdict

# Joiners shape emoji and Persian or Indic words, and cannot reorder or hide what is around them.
_HARMLESS_FORMAT = "\u200c\u200d"
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(text: str) -> str:
    """Text on one line with nothing a terminal would act on: control, bidi and lone surrogate escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if unicodedata.category(character) in _UNSAFE and character not in _HARMLESS_FORMAT:
        return character.encode("unicode_escape").decode()
    return character


def clip(text: str, limit: int) -> str:
    """Head and tail of a long text, with a line between them that says how much is missing."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit - limit * 2 // 3
    return f"{text[:head]}\n[… {len(text) - limit} characters left out …]\n{text[len(text) - tail :]}"


def first_line(text: str, limit: int = 200) -> str:
    """The first line that is not blank, cut to ``limit`` characters."""
    line = next((line.strip() for line in re.split(r"[\r\n]", text) if line.strip()), "")
    return line if len(line) <= limit else line[: limit - 1] + "…"


def replay_command(path: str) -> str:
    """The command that replays a capsule, quoted for a POSIX shell, always on one line."""
    if path.startswith("-"):
        path = f"./{path}"
    if visible(path) == path:
        return f"repro-gate replay {shlex.quote(path)}"
    # $'…' is the one quoting that can write a control character without holding one.
    escaped = "".join("\\" + c if c in "\\'" else _shell_character(c) for c in path)
    return f"repro-gate replay $'{escaped}'"


def _shell_character(character: str) -> str:
    """A character inside $'…': as the octal bytes of its UTF-8, where it may not stand as it is."""
    if visible(character) == character:
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode(errors="surrogateescape"))


def counted(number: int, thing: str) -> str:
    """``1 test``, ``2 tests``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def place_of(finding: Finding) -> str:
    """What a finding is about, before its text: a test, or a line; nothing where the text begins with it."""
    line = f":{finding.line}" if finding.line else ""  # a whole file has none
    place = finding.id or (f"{finding.path}{line}" if finding.path else "")
    # "a.py:3 is …", "a.py:3: …" and "a.py:3-5 …" begin with it, "a.py:33 is …" and "t.py::test::other" do not.
    return "" if place and re.match(rf"{re.escape(place)}( |-\d|:(?!:))", finding.text) else place


def text_behind(place: str, finding: Finding) -> str:
    """The text as it stands behind its place, which says the line already."""
    line = f"line {finding.line}: "
    return finding.text.removeprefix(line) if place.endswith(f":{finding.line}") else finding.text


def runs(report: FlakeReport) -> str:
    """How many runs there were, and of which kind where there are two."""
    if not report.directed_runs:
        return counted(report.runs, "run")
    return f"{report.runs} varied + {report.directed_runs} directed runs"


def percent(share: float) -> str:
    """A share from 0 to 1 with three significant digits: ``13.9 %``, ``4.95 %``, ``100 %``."""
    digits = f"{share * 100:#.3g}"
    return f"{'100' if digits == '100.' else digits} %"


def rate(test: TestVerdict) -> str:
    """How often a test failed, with its interval where a rate is known."""
    counted = f"{test.failures} of {test.runs}"
    if test.rate is None:
        return counted
    if test.interval is None:
        return f"{_coarse(test.rate)} % ({counted})"
    low, high = test.interval
    return f"{_coarse(test.rate)} % ({_coarse(low)} to {_coarse(high)} %)"


def _coarse(share: float) -> str:
    """Percent as people say it: whole from ten upwards, two digits below."""
    value = share * 100
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"


def cause(test: TestVerdict) -> str:
    """The axis a test follows and what matters on it, or plainly that it is not known."""
    if test.cause is None:
        return test.detail or "cause not looked for"
    axis = test.cause.axis or "no axis alone decides"
    role = f" ({test.cause.role})" if test.cause.role else ""
    detail = f": {test.cause.detail}" if test.cause.detail else ""
    return f"{axis}{role}{detail}"


def failure(test: TestVerdict) -> str:
    """Exception type and the first line of its message, or what was said instead."""
    if test.failure is None:
        return first_line(test.detail)
    message = first_line(test.failure.message)
    return f"{test.failure.type}: {message}" if message else test.failure.type


def skipped_lines(report: FlakeReport, most: int = 5) -> list[str]:
    """Files that skipped themselves, so that what they hold is in no count; those that did so in some starts apart."""
    always = [f"{file.file}: {_skip(file)}" for file in report.skipped_files if not file.sometimes]
    lines = [f"{counted(len(always), 'file')} skipped at collection: {_first(always, most)}"] if always else []
    some = [
        f"{file.file} (in {file.skipped} of {file.starts} starts): {_skip(file)}"
        for file in report.skipped_files
        if file.sometimes
    ]
    if some:
        told = f"{counted(len(some), 'file')} skipped at collection in some starts only, so that ids come and go by run"
        lines.append(f"{told}: {_first(some, most)}")
    return lines


def _skip(file: SkippedFile) -> str:
    """Why, without what pytest.importorskip says twice."""
    return re.sub(r"^(could not import '([^']*)'): No module named '\2'$", r"\1", first_line(file.reason))


def _first(items: list[str], most: int) -> str:
    more = f"; … and {len(items) - most} more" if len(items) > most else ""
    return "; ".join(items[:most]) + more


def stable_line(report: FlakeReport) -> str:
    """All stable tests in one line with the failure rate that is excluded for each; empty without any."""
    tests = report.with_verdict(Verdict.STABLE)
    if not tests:
        return ""
    runs = sorted({test.runs for test in tests})
    span = str(runs[0]) if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    seeds = f" ({counted(report.hash_seeds, 'hash seed')})" if report.hash_seeds else ""
    line = f"{len(tests)} stable in {span} runs{seeds}"
    bounds = [test.upper_bound for test in tests if test.upper_bound is not None]
    if len(bounds) < len(tests):
        return line
    return f"{line}: p < {percent(max(bounds))} at 95 % each"
