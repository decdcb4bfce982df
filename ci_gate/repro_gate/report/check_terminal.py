"""A check for a person at a terminal: each gate, what was proved, what was refused, and what to do.

Belongs here: plain lines. Does not belong here: printing.
"""

from __future__ import annotations

from collections.abc import Iterator

from repro_gate.model import CapsuleRef, CheckReport, GateResult
from repro_gate.report.check_outcome import failure_line, footnotes, gate_line, headline
from repro_gate.report.words import counted, place_of, replay_command, text_behind, visible

_MOST = 20


def lines(report: CheckReport) -> list[str]:
    """Everything a check says in the end."""
    return [visible(line) for line in _lines(report)]


def _lines(report: CheckReport) -> Iterator[str]:
    for gate in report.gates:
        yield gate_line(gate, report)
        yield from (f"  {line}" for line in _of_gate(gate))
    if report.trouble is not None:
        yield f"could not be done: {report.trouble.text}"
        yield f"  next: {report.trouble.next_step}"
    yield from (f"policy: {line}" for line in report.policy)
    yield headline(report)
    yield from footnotes(report)


def _of_gate(gate: GateResult) -> Iterator[str]:
    for proof in gate.proved[:_MOST]:
        yield f"proved   {proof.id}"
        told = failure_line(proof.failure)
        if told:
            yield f"         on base: {told}"
        if proof.capsule is not None:
            held = f"red on base, green on head, {counted(proof.capsule.of, 'replay')} a side"
            yield f"         {_capsule(proof.capsule, held)}"
            yield f"         {replay_command(proof.capsule.path)}"
    for refusal in gate.refused[:_MOST]:
        yield f"refused  {refusal.id}"
        yield f"         {refusal.reason}: {refusal.why}"
    for finding in gate.findings[:_MOST]:
        place = place_of(finding)
        where = f"{place}: " if place else ""
        yield f"{finding.reason}: {where}{text_behind(place, finding)}"
        yield from (f"  | {line}" for line in finding.output.splitlines())
        if finding.next_step:
            yield f"  next: {finding.next_step}"
    yield from _survivors(gate)
    cut = sum(max(0, len(items) - _MOST) for items in (gate.proved, gate.refused, gate.findings))
    if cut:
        yield f"… and {cut} more; `--report-json FILE` lists all"
    yield from (f"note: {note}" for note in gate.notes)


def _capsule(written: CapsuleRef, held: str) -> str:
    return f"capsule: {written.id} ({held}{'; it was there already' if written.known else ''})"


def _survivors(gate: GateResult) -> Iterator[str]:
    """The capsules of the mutants that are shown."""
    for each in gate.mutation.packed if gate.mutation is not None else ():
        if each.capsule is not None:
            yield f"mutant   {each.mutant.id}  {each.mutant.file}:{each.mutant.line}"
            held = f"survives, {counted(each.capsule.of, 'replay')}"
            yield f"         {_capsule(each.capsule, held)}"
            yield f"         {replay_command(each.capsule.path)}"
