"""JUnit XML: one testcase per test, for dashboards that know nothing else.

Belongs here: the mapping of verdicts to failure, error and skipped, named as pytest names its own
testcases. A test that passed and failed without being confirmed is an error: it must be seen. Does not belong here: any
further fact; report.json holds all. Non-ASCII is written as character references, so that any file encoding will do.
"""

from __future__ import annotations

import re
from typing import TextIO
from xml.etree import ElementTree

from repro_gate.model import FlakeReport, SkippedFile, TestVerdict, Verdict
from repro_gate.report import words
from repro_gate.report.outcome import decide

LONGEST_TEXT = 16_000

# Everything but the characters of XML 1.0, and the carriage return, which a parser turns into a line feed.
_ILLEGAL = re.compile("[^\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_FAILING = (Verdict.FLAKY, Verdict.CONDITION_DEPENDENT, Verdict.ALWAYS_FAILING)


def write(report: FlakeReport, stream: TextIO) -> None:
    """Write the report as JUnit XML, a test at a time."""
    counts = {
        "tests": len(report.tests) + len(report.skipped_files),
        "failures": len(report.with_verdict(*_FAILING)),
        "errors": sum(test.unconfirmed for test in report.tests),
        "skipped": sum(not test.unconfirmed for test in report.with_verdict(Verdict.NOT_JUDGED))
        + len(report.skipped_files),
    }
    suite = {"name": "repro-gate", **counts, "time": f"{report.seconds:.3f}"}
    if report.started_at:
        suite["timestamp"] = report.started_at
    stream.write('<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n')
    stream.write(_opening(ElementTree.Element("testsuite", {key: legal(str(value)) for key, value in suite.items()})))
    stream.write(element_text(_properties(report)))
    stream.writelines(element_text(_testcase(test)) for test in report.tests)
    stream.writelines(element_text(_skipped(file)) for file in report.skipped_files)
    stream.write("</testsuite>\n</testsuites>\n")


def legal(text: str) -> str:
    """Text with every character that XML cannot hold shown as an escape."""
    return _ILLEGAL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def names(test_id: str) -> tuple[str, str]:
    """Class name and name of a testcase, as pytest's own --junitxml gives them."""
    path, bracket, parameters = test_id.partition("[")
    parts = path.split("::")
    parts[0] = re.sub(r"\.py$", "", parts[0].replace("/", "."))
    parts[-1] += bracket + parameters
    return ".".join(parts[:-1]), parts[-1]


def _opening(element: ElementTree.Element) -> str:
    """Only the start tag, so that the children can follow one at a time."""
    return element_text(element).removesuffix(" />\n") + ">\n"


def element_text(element: ElementTree.Element) -> str:
    """An element in ASCII, on a line of its own."""
    encoded: bytes = ElementTree.tostring(element, encoding="us-ascii", xml_declaration=False)
    return encoded.decode("ascii") + "\n"


def _properties(report: FlakeReport) -> ElementTree.Element:
    decision = decide(report)
    properties = ElementTree.Element("properties")
    facts = {
        "verdict": decision.verdict.value,
        "reason": decision.reason.value,
        "seed": str(report.seed),
        "runs": str(report.runs),
        "directed_runs": str(report.directed_runs),
        "incomplete": report.incomplete,
    }
    for name, value in facts.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": legal(value)})
    return properties


def _testcase(test: TestVerdict) -> ElementTree.Element:
    classname, name = names(test.id)
    attributes = {"classname": legal(classname), "name": legal(name), "time": f"{test.seconds:.3f}"}
    case = ElementTree.Element("testcase", attributes)
    if test.unconfirmed:
        message = f"{test.detail} (failed {words.rate(test)})"
        attributes = {"type": "unconfirmed", "message": legal(message)}
        ElementTree.SubElement(case, "error", attributes).text = legal(_body(test))
    elif test.verdict is Verdict.NOT_JUDGED:
        ElementTree.SubElement(case, "skipped", {"type": test.verdict.value, "message": legal(test.detail)})
    elif test.verdict in _FAILING:
        attributes = {"type": test.verdict.value, "message": legal(_message(test))}
        ElementTree.SubElement(case, "failure", attributes).text = legal(_body(test))
    if test.output:
        ElementTree.SubElement(case, "system-out").text = legal(words.clip(test.output, LONGEST_TEXT))
    return case


def _skipped(file: SkippedFile) -> ElementTree.Element:
    """A file that skips itself: one testcase without a class, as pytest's own file has it."""
    case = ElementTree.Element("testcase", {"classname": "", "name": legal(names(file.file)[1]), "time": "0.000"})
    message = legal(f"skipped at collection in {file.skipped} of {file.starts} starts: {file.reason}")
    ElementTree.SubElement(case, "skipped", {"type": "skipped-at-collection", "message": message})
    return case


def _message(test: TestVerdict) -> str:
    """Verdict, rate and cause, and the command that shows it again."""
    if test.verdict is Verdict.ALWAYS_FAILING:
        return f"always-failing: {words.failure(test)}".rstrip(": ")
    replay = f"; replay: {words.replay_command(test.capsule.path)}" if test.capsule else ""
    return f"{test.verdict.value}, failed {words.rate(test)}: {words.cause(test)}{replay}"


def _body(test: TestVerdict) -> str:
    """The failure itself, innermost frame last."""
    if test.failure is None:
        return test.detail
    frames = [f"{frame.path}:{frame.line}: in {frame.function} ({frame.zone.value})" for frame in test.failure.frames]
    message = words.clip(test.failure.message, LONGEST_TEXT)
    return "\n".join([*frames, f"{test.failure.type} in {test.failure.phase}: {message}"])
