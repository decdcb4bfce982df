"""What of a result deserves a sentence beside a line of code: one list for annotations and for SARIF.

Belongs here: which findings, how grave, where in the repository, in which words. Does not belong here: how many a
reader is shown, in which order and in which form (github, as_sarif).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace

from repro_gate.model import (
    CheckReport,
    Failure,
    FlakeReport,
    GateResult,
    GateVerdict,
    Level,
    TestVerdict,
    Verdict,
    Zone,
)
from repro_gate.report import words
from repro_gate.report.outcome import findings

# A rule of SARIF must have one, and so must whatever is shown where no test is at fault.
TROUBLE, POLICY = "trouble", "policy"


class Severity(enum.StrEnum):
    """How grave it is; the names are those of GitHub's workflow commands."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, kw_only=True, slots=True)
class Remark:
    """A sentence, the rule behind it, the test that it is about, and its place, if there is one.

    ``path`` is relative to the repository; ``failure`` is the fingerprint of what was seen (of a survivor: its id).
    Text is as visible as ``words.visible`` makes it, on one line.
    """

    severity: Severity
    rule: str
    title: str
    text: str
    test: str = ""
    path: str = ""
    line: int = 0
    failure: str = ""

    @property
    def message(self) -> str:
        """The sentence with the test in front."""
        return f"{self.test}: {self.text}" if self.test else self.text


def of_check(report: CheckReport, prefix: str = "") -> tuple[Remark, ...]:
    """What a reviewer of a change must see; ``prefix`` is the project's directory in the repository."""
    found = [each for gate in report.gates for each in _of_gate(gate, report, prefix)]
    if report.trouble is not None:
        text = f"{report.trouble.text} Next: {report.trouble.next_step}"
        title = "repro-gate could not judge this"
        found.append(Remark(severity=Severity.ERROR, rule=TROUBLE, title=title, text=words.visible(text)))
    for line in report.policy:
        text = words.visible(line)
        found.append(Remark(severity=Severity.WARNING, rule=POLICY, title="repro-gate: policy", text=text))
    return tuple(dict.fromkeys(found))


def of_scan(report: FlakeReport, prefix: str = "") -> tuple[Remark, ...]:
    """What a reader of a scan must see: findings, and what was seen and could not be confirmed."""
    found = [_of_test(test, Severity.ERROR, str(test.verdict), words.cause(test), prefix) for test in findings(report)]
    for test in report.with_verdict(Verdict.NOT_JUDGED):
        if test.unconfirmed:
            told = f"{test.detail} (failed {words.rate(test)})"
            found.append(_of_test(test, Severity.WARNING, "unconfirmed", told, prefix))
    return tuple(found)


def _of_test(test: TestVerdict, severity: Severity, rule: str, text: str, prefix: str) -> Remark:
    path, line = place(test.failure, test.id, prefix)
    return Remark(
        severity=severity,
        rule=f"scan/{rule}",
        title=f"{rule} test",
        text=words.visible(text),
        test=words.visible(test.id),
        path=path,
        line=line,
        failure=test.failure.fingerprint if test.failure else "",
    )


def _of_gate(gate: GateResult, report: CheckReport, prefix: str) -> Iterator[Remark]:
    bad = gate.verdict in (GateVerdict.FAIL, GateVerdict.INCONCLUSIVE)
    blocks = report.levels.get(gate.gate) is not Level.WARN
    severity = Severity.NOTICE if not bad else Severity.ERROR if blocks else Severity.WARNING
    seen = _failures(gate, report)

    def remark(
        reason: str, text: str, test: str = "", failure: Failure | None = None, at: tuple[str, int] = ("", 0)
    ) -> Remark:
        path, line = at if _inside(at[0]) else place(failure, test, prefix)
        return Remark(
            severity=severity,
            rule=f"{gate.gate}/{reason}",
            title=f"{gate.gate}: {gate.verdict}",
            text=words.visible(text),
            test=words.visible(test),
            path=path,
            line=line,
            failure=failure.fingerprint if failure else "",
        )

    refused = gate.refused if bad else ()
    steps = {(each.id, each.reason, each.text): f" Next: {each.next_step}" for each in gate.findings if each.next_step}
    said = {(each.id, each.reason, each.why) for each in refused}  # a finding that says the same is said with it
    for finding in gate.findings:
        key = (finding.id, finding.reason, finding.text)
        if key in said:
            continue
        text = finding.text + steps.get(key, "")
        told = remark(str(finding.reason), text, finding.id, seen.get(finding.id), (finding.path, finding.line))
        yield _of_survivor(told, gate) if finding.reason == "survived" else told
    for refusal in refused:
        step = steps.get((refusal.id, refusal.reason, refusal.why), "")
        text = f"{refusal.reason}: {refusal.why}{step}"
        yield remark(str(refusal.reason), text, refusal.id, refusal.on_head or refusal.on_base)
    if bad and not gate.findings and not gate.refused:
        yield remark(str(gate.reason), f"{gate.reason}: {gate.summary}")


def _of_survivor(told: Remark, gate: GateResult) -> Remark:
    """A survivor is worth a warning even where nothing follows from it, and stays the same when its line moves."""
    found = gate.mutation
    shown = [each.mutant for each in found.survivors if each.mutant.id in found.shown] if found is not None else []
    here = (mutant.id for mutant in shown if (mutant.file, mutant.line) == (told.path, told.line))
    severity = Severity.WARNING if told.severity is Severity.NOTICE else told.severity
    return replace(told, severity=severity, title=f"{gate.gate}: surviving mutant", failure=next(here, ""))


def _failures(gate: GateResult, report: CheckReport) -> dict[str, Failure]:
    """What is known of how tests failed, for findings, which name the test alone."""
    known: dict[str, Failure | None] = {proof.id: proof.failure for proof in gate.proved}
    known |= {refusal.id: refusal.on_head or refusal.on_base for refusal in gate.refused}
    if report.campaign is not None and gate.gate == "flaky":
        known |= {test.id: test.failure for test in report.campaign.tests}
    return {test: failure for test, failure in known.items() if failure is not None}


def place(failure: Failure | None, test: str, prefix: str = "") -> tuple[str, int]:
    """Where it failed, or else the test's file; nothing for a path that leads out of the repository.

    Frames are told from the top of the repository, ids of tests from the project's directory in it.
    """
    frames = [frame for frame in failure.frames if frame.zone in (Zone.TEST, Zone.PRODUCT)] if failure else []
    if frames and _inside(frames[-1].path):
        return frames[-1].path, max(1, frames[-1].line)
    file = test.partition("::")[0]
    return (_joined(prefix, file), 1) if file.endswith(".py") and _inside(file) else ("", 0)


def _inside(path: str) -> bool:
    return bool(path) and not path.startswith("/") and ".." not in path.split("/") and path.isprintable()


def _joined(prefix: str, path: str) -> str:
    inside = prefix.strip("/").removeprefix("./")
    return f"{inside}/{path}" if inside.strip("./") else path
