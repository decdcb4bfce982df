"""JUnit XML of a check: a suite for each gate, in it the gate itself and each test that it speaks of.

Belongs here: which of these is a failure, an error or skipped. Does not belong here: how XML is written and tests are
named (as_junit). A gate that only warns turns no dashboard red.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO
from xml.etree import ElementTree

from repro_gate.model import CheckReport, Failure, Finding, GateResult, GateVerdict, Level
from repro_gate.report import words
from repro_gate.report.as_junit import LONGEST_TEXT, element_text, legal, names
from repro_gate.report.check_outcome import failure_line, gate_line

_STATES = {GateVerdict.FAIL: "failure", GateVerdict.INCONCLUSIVE: "error", GateVerdict.NEUTRAL: "skipped"}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Case:
    """A testcase; ``state`` is the name of the element that says so, or empty for one that passed."""

    test: str
    state: str = ""
    kind: str = ""
    message: str = ""
    body: str = ""


def write(report: CheckReport, stream: TextIO) -> None:
    """Write the check as JUnit XML."""
    stream.write('<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n')
    suites = [_suite(gate.gate, report, [_of_gate(gate, report), *_of_tests(gate, report)]) for gate in report.gates]
    if report.trouble is not None:
        said = f"{report.trouble.text} Next: {report.trouble.next_step}"
        case = _Case(
            test="repro-gate", state="error", kind=report.trouble.slug, message=said, body=report.trouble.details
        )
        suites.append(_suite("repro-gate", report, [case]))
    stream.writelines(map(element_text, suites))
    stream.write("</testsuites>\n")


def _suite(name: str, report: CheckReport, cases: list[_Case]) -> ElementTree.Element:
    counts = {state: sum(case.state == state for case in cases) for state in ("failure", "error", "skipped")}
    attributes = {
        "name": name,
        "tests": str(len(cases)),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
        **({"timestamp": report.started_at} if report.started_at else {}),
    }
    suite = ElementTree.Element("testsuite", {key: legal(value) for key, value in attributes.items()})
    properties = ElementTree.SubElement(suite, "properties")
    facts = {"verdict": str(report.verdict), "base": report.base, "head": report.head, "command": report.command}
    for key, value in facts.items():
        ElementTree.SubElement(properties, "property", {"name": key, "value": legal(value)})
    suite.extend([_element(name, case) for case in cases])
    return suite


def _element(suite: str, case: _Case) -> ElementTree.Element:
    """A gate's own case is in the class of our name, so that no test has the same."""
    classname, name = names(case.test) if "::" in case.test else (f"repro-gate.{suite}", case.test)
    made = ElementTree.Element("testcase", {"classname": legal(classname), "name": legal(name), "time": "0.000"})
    body = legal(words.clip(case.body, LONGEST_TEXT))
    if case.state:
        told = {"type": legal(case.kind), "message": legal(case.message)}
        ElementTree.SubElement(made, case.state, told).text = body
    elif body:
        ElementTree.SubElement(made, "system-out").text = body
    return made


def _of_gate(gate: GateResult, report: CheckReport) -> _Case:
    """The verdict itself: a fix without any test is a failure, too."""
    return _Case(
        test=gate.gate,
        state=_state(gate, report),
        kind=str(gate.reason),
        message=gate_line(gate, report),
        body="\n".join([*map(_placed, (each for each in gate.findings if not each.id)), *gate.notes]),
    )


def _placed(finding: Finding) -> str:
    place = words.place_of(finding)
    where = f"{place}: " if place else ""
    return f"{finding.reason}: {where}{words.text_behind(place, finding)}"


def _of_tests(gate: GateResult, report: CheckReport) -> Iterator[_Case]:
    """Each test once: what speaks against it counts more than what it proves."""
    against: dict[str, list[tuple[str, str, str]]] = {}
    for refusal in gate.refused:
        told = _seen(refusal.on_base, refusal.on_head)
        against.setdefault(refusal.id, []).append((str(refusal.reason), refusal.why, told))
    for finding in gate.findings:
        if finding.id:
            told = "\n".join(filter(None, (finding.next_step, finding.output)))
            against.setdefault(finding.id, []).append((str(finding.reason), finding.text, told))
    proved = {proof.id: failure_line(proof.failure) for proof in gate.proved}
    state = _state(gate, report) or "skipped"
    for test in dict.fromkeys([*proved, *against]):
        if test not in against or (test in proved and state == "skipped"):
            said = [f"failed on base: {proved[test]}"] if proved[test] else []
            said += [f"{reason}: {text}" for reason, text, _ in against.get(test, ())]
            yield _Case(test=test, body="\n".join(said))
            continue
        (kind, message, _), *_ = against[test]
        body = "\n\n".join("\n".join(filter(None, (f"{reason}: {why}", told))) for reason, why, told in against[test])
        yield _Case(test=test, state=state, kind=kind, message=message, body=body)


def _state(gate: GateResult, report: CheckReport) -> str:
    state = _STATES.get(gate.verdict, "")
    return "skipped" if state and report.levels.get(gate.gate) is Level.WARN else state


def _seen(on_base: Failure | None, on_head: Failure | None) -> str:
    told = [f"{side}: {failure_line(failure)}" for side, failure in (("base", on_base), ("head", on_head)) if failure]
    return "\n".join(told)
