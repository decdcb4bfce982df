"""A check as Markdown for a reviewer with one minute: the verdict, the proofs, the refusals, how to repeat it.

Belongs here: one page, with everything that comes from a test escaped. Does not belong here: writing it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from repro_gate.model import CheckReport, GateResult, GateVerdict
from repro_gate.report import mutation_markdown
from repro_gate.report.check_outcome import failure_line, footnotes, headline
from repro_gate.report.words import first_line, place_of, replay_command, text_behind, visible

_MOST = 25
SIGNS = {
    GateVerdict.PASS: "✅",
    GateVerdict.FAIL: "❌",
    GateVerdict.NEUTRAL: "⚪",
    GateVerdict.INCONCLUSIVE: "❔",
}


_URGENT = (GateVerdict.FAIL, GateVerdict.INCONCLUSIVE, GateVerdict.PASS, GateVerdict.NEUTRAL)


def page(report: CheckReport) -> str:
    """The whole page."""
    return "\n".join(_lines(report)) + "\n"


def escaped(text: str) -> str:
    """Text that no renderer takes for markup, a mention or a link, on one line."""
    return escaped_part(first_line(text, 400))


def escaped_part(text: str) -> str:
    """As ``escaped``, of a part of a line: blanks at its ends stay."""
    quoted = re.sub(r"([\\`*_{}\[\]<>()#+\-.!|~@:&$])", r"\\\1", visible(text))
    # Mentions and numbers of issues are looked for in what was rendered, where a backslash is gone.
    return re.sub(r"([@#])", r"\1<!-- -->", quoted)


def code(text: str) -> str:
    """Text as code, whatever backticks are in it, and safe in a table."""
    shown = visible(text).replace("|", "\\|")
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def with_code(text: str) -> str:
    """A sentence of ours in which backticks mark what is typed."""
    parts = first_line(text, 400).split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    return "".join(code(part) if place % 2 else escaped_part(part) for place, part in enumerate(parts))


def console(commands: Iterable[str]) -> Iterator[str]:
    """Commands to type; what could end the block is not in a command, which is one line."""
    yield from ("```console", *(f"$ {visible(command)}" for command in commands), "```")


def _fenced(text: str) -> Iterator[str]:
    """Lines of output as a block inside of a list, whatever backticks are in them."""
    if text:
        longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        yield ""
        yield from (f"  {line}" for line in (f"{fence}text", *map(visible, text.splitlines()), fence))
        yield ""


def _lines(report: CheckReport) -> Iterator[str]:
    yield f"## {SIGNS[report.verdict]} repro-gate: {escaped(headline(report))}"
    yield ""
    if report.trouble is not None:
        yield f"**Could not be done:** {escaped(report.trouble.text)}  "
        yield f"**Next:** {escaped(report.trouble.next_step)}"
        yield ""
    if report.gates:
        yield "| gate | verdict | reason |"
        yield "|---|---|---|"
        for gate in report.gates:
            level = report.levels.get(gate.gate, "block")
            yield f"| {gate.gate} ({level}) | {SIGNS[gate.verdict]} {gate.verdict} | {code(str(gate.reason))} |"
        yield ""
    # What is to be done comes before what is done.
    for gate in sorted(report.gates, key=lambda gate: _URGENT.index(gate.verdict)):
        yield from _of_gate(gate)
    if report.policy:
        yield "### Policy"
        yield ""
        yield from (f"- {escaped(line)}" for line in report.policy)
        yield ""
    yield from (f"<sub>{escaped(line)}</sub>  " for line in list(footnotes(report))[:-1])
    yield ""
    yield "To repeat it in a checkout:"
    yield ""
    yield from console([report.command])


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", ":")) else f"{sentence}."


def _replays(gate: GateResult) -> Iterator[str]:
    """How to see proofs and survivors again, from their capsules."""
    packed = [proof.capsule for proof in gate.proved[:_MOST] if proof.capsule is not None]
    survivors = gate.mutation.packed if gate.mutation is not None else ()
    surviving = [each.capsule for each in survivors if each.capsule is not None]
    for words, capsules in (
        ("Red on base and green on head again, in a checkout that has both commits:", packed),
        ("The same survivors again, in a checkout of the commit:", surviving),
    ):
        if capsules:
            yield words
            yield ""
            yield from console([replay_command(capsule.path) for capsule in capsules])
            yield ""


def _of_gate(gate: GateResult) -> Iterator[str]:
    if not (gate.summary or gate.proved or gate.refused or gate.findings or gate.mutation):
        return
    yield f"### {SIGNS[gate.verdict]} {gate.gate}"
    yield ""
    findings = list(gate.findings)
    if gate.mutation is not None:
        steps = [finding.next_step for finding in findings if finding.reason == "survived"]
        yield from mutation_markdown.lines(gate.mutation, code, with_code, "".join(steps[:1]))
        findings = [finding for finding in findings if finding.reason != "survived"]
    for finding in findings[:_MOST]:
        place = place_of(finding)
        where = f"{code(place)}: " if place else ""
        step = f" **Next:** {with_code(finding.next_step)}" if finding.next_step else ""
        yield f"- {code(str(finding.reason))} {where}{with_code(_ended(text_behind(place, finding)))}{step}"
        yield from _fenced(finding.output)
    if findings:
        yield ""
    if gate.summary:
        yield escaped(gate.summary)
        yield ""
    if gate.proved:
        yield "| proved test | why it counts | failure on base |"
        yield "|---|---|---|"
        for proof in gate.proved[:_MOST]:
            told = code(failure_line(proof.failure)) if proof.failure else ""
            yield f"| {code(proof.id)} | {code(str(proof.reason))} | {told} |"
        yield ""
    yield from _replays(gate)
    if gate.refused:
        yield "| refused test | reason | why |"
        yield "|---|---|---|"
        for refusal in gate.refused[:_MOST]:
            yield f"| {code(refusal.id)} | {code(str(refusal.reason))} | {escaped(refusal.why)} |"
        yield ""
    cut = sum(max(0, len(items) - _MOST) for items in (gate.proved, gate.refused, findings))
    if cut:
        yield f"- … and {cut} more in the report"
        yield ""
