"""The two steps of the action: the job itself, and the report of it. Each is a process of its own.

Belongs here: what is run, read and written in which order. Does not belong here: which command that is
(jobs), how GitHub spells things (github), and the verdict, which is the command's exit code.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from repro_gate.action import context as contexts
from repro_gate.action import inputs as given
from repro_gate.action.answers import answers
from repro_gate.action.context import Context, without_runner
from repro_gate.action.hosts import Hosts
from repro_gate.action.inputs import Inputs, Mode
from repro_gate.action.jobs import Job, artifact_name, job_for, mode_of
from repro_gate.action.replaying import fetched, replay_job
from repro_gate.errors import EvidenceRefused, ExitCode, ReproGateError, UsageError
from repro_gate.github import budget
from repro_gate.github.annotations import Annotation, of_check, of_scan, printable
from repro_gate.github.commands import command, output, stopped
from repro_gate.model import CheckReport, FlakeReport, TestVerdict
from repro_gate.process import Ended
from repro_gate.report import as_markdown, reading, scan_markdown

_CODES = {130: ExitCode.INCONCLUSIVE}


@dataclass(frozen=True, kw_only=True)
class Effects:
    """What a step needs of the world. ``attend`` runs a command with our outputs; ``fetch`` gets an address.

    ``program`` is how our own command is called; ``which`` finds the tests' interpreter on the path; ``added`` tells
    which lines a change adds to some files of a checkout.
    """

    environ: Mapping[str, str]
    out: TextIO
    attend: Callable[..., Ended]
    token: Callable[[], str]
    fetch: Callable[[str, int, Hosts], bytes]
    program: tuple[str, ...]
    which: Callable[[str], str | None]
    added: Callable[[Path, str, str, frozenset[str]], Mapping[str, frozenset[int]]]


def run(effects: Effects) -> int:
    """The job: one command, its report for the runner, its verdict as the exit code."""
    try:
        context = contexts.read(effects.environ)
        inputs = given.read(effects.environ)
        mode = mode_of(inputs, context)
        into = Path(tempfile.mkdtemp(prefix="repro-gate-", dir=context.temp))
        if mode is Mode.REPORT:
            answer(context, {"verdict": "neutral", "publish": "true", "evidence": str(into)}, effects.token)
            return int(ExitCode.PASS)
        return _Run(effects=effects, context=context, inputs=inputs, mode=mode, into=into).all()
    except ReproGateError as error:
        say(effects.out, error)
        _refused(effects, error)
        return int(error.exit_code)


@dataclass(frozen=True, kw_only=True)
class _Run:
    effects: Effects
    context: Context
    inputs: Inputs
    mode: Mode
    into: Path

    def all(self) -> int:
        """The job from its command to what the runner is told."""
        job = self._job()
        ended = self._attend(job)
        self._as_others_type_it(job)
        report, document, refused = _report(job)
        code = int(_CODES.get(ended.status, ended.status)) if ended.status >= 0 else int(ExitCode.INTERNAL)
        if code == ExitCode.PASS and refused is not None:
            code = int(refused.exit_code)  # a pass of which nothing can be shown is none
        reason = "time-budget" if ended.timed_out else "interrupted" if ended.interrupted else ""
        told = answers(
            mode=self.mode, code=code, reason=reason, document=document, into=self.into, context=self.context
        )
        told["evidence"] = str(self.into)
        told["artifact-name"] = artifact_name(self.mode, self.inputs, self.context)
        replayed = self.mode is Mode.REPLAY and code == ExitCode.PASS
        told["publish"] = "true" if report is not None or replayed else "false"
        answer(self.context, told, self.effects.token)
        self._show(report, code, reason, refused)
        return code

    def _job(self) -> Job:
        earlier = Path(self.inputs.evidence) if self.inputs.evidence else self.context.temp / "repro-gate-in"
        python = self.effects.which("python3") or self.effects.which("python") or ""
        if self.mode is Mode.REPLAY:
            capsule = fetched(self.inputs, self.context, self.effects.fetch, self.into)
            return replay_job(self.inputs, capsule, program=self.effects.program, python=self.inputs.python or python)
        return job_for(
            self.mode,
            self.inputs,
            self.context,
            program=self.effects.program,
            into=self.into,
            given=earlier,
            python=python,
        )

    def _attend(self, job: Job) -> Ended:
        """Run it where the project is. Until it ends the runner takes nothing in its output for a command."""
        place = self.context.workspace / self.inputs.working_directory
        if not place.is_dir():
            raise UsageError(
                f"The input 'working-directory' names {self.inputs.working_directory!r}, which is not in the checkout.",
                next_step="Name a directory of the repository, and check it out in an earlier step.",
            )
        stop, resume = stopped(self.effects.token())
        out = self.effects.out
        print(command("group", f"repro-gate {' '.join(job.argv[len(self.effects.program) :][:1])}"), file=out)
        print(stop, file=out, flush=True)
        try:
            env = {**without_runner(self.effects.environ), **job.variables}
            seconds = self.inputs.time_budget * 60 if self.inputs.time_budget else None
            return self.effects.attend(job.argv, env=env, cwd=place, seconds=seconds)
        finally:
            print(f"\n{resume}", file=out)
            print(command("endgroup"), file=out, flush=True)

    def _as_others_type_it(self, job: Job) -> None:
        """Paths of this runner mean nothing to who reads the report: capsules are where the artifact is unpacked."""
        gone = [f" --event={self.context.event_path}", f" --capsules={self.into / 'capsules'}", f"{self.into}/"]
        written = [self.into / name for name in ("report.sarif", "mutation.json")]
        for file in (*([job.report] if job.report is not None else []), *written):
            if file.is_file():
                text = file.read_text(encoding="utf-8")
                for each in gone:
                    text = text.replace(json.dumps(each)[1:-1], "")
                file.write_text(text, encoding="utf-8")

    def _show(
        self,
        report: CheckReport | FlakeReport | None,
        code: int,
        reason: str,
        refused: EvidenceRefused | None,
    ) -> None:
        """The summary, the annotations, and a last line that says what it came to."""
        if report is not None:
            page = page_of(report, self.context, self.context.run_id, self.context.pull)
            (self.into / "summary.md").write_text(page, encoding="utf-8")
            append_summary(self.context, page)
        found: tuple[Annotation, ...] = ()
        prefix = self.inputs.working_directory
        if isinstance(report, CheckReport):
            found = of_check(report, {}, prefix)
            paths = frozenset(each.path for each in found if each.path)
            with contextlib.suppress(ReproGateError):  # a job that merges has no checkout
                added = self.effects.added(self.context.workspace, report.base, report.head, paths)
                found = of_check(report, added, prefix)
        elif isinstance(report, FlakeReport):
            found = of_scan(report, prefix)
        for each in printable(found):
            print(each.printed, file=self.effects.out)
        if refused is not None:
            say(self.effects.out, refused)
        if reason == "time-budget":
            text = f"The time budget of {self.inputs.time_budget:g} minutes was over before there was a verdict."
            step = "Next: raise `time-budget`, or give the job to several shards."
            print(command("error", f"{text} {step}", title="repro-gate"), file=self.effects.out)
        words = {0: "passed", 1: "failed", 2: "wrongly used", 3: "inconclusive"}.get(code, "broken")
        print(f"repro-gate {self.mode}: {words} (exit code {code})", file=self.effects.out, flush=True)


def append_summary(context: Context, text: str) -> None:
    """Add to the step's summary what still fits: GitHub refuses one that is too long as a whole."""
    if context.summary is None:
        return
    there = context.summary.stat().st_size if context.summary.exists() else 0
    with context.summary.open("a", encoding="utf-8") as file:
        file.write(budget.within(text, max(0, budget.SUMMARY - there)))


def _report(job: Job) -> tuple[CheckReport | FlakeReport | None, dict[str, Any], EvidenceRefused | None]:
    """The command's report, as it is and as JSON; None where it wrote none."""
    if job.report is None or not job.report.is_file():
        missing = EvidenceRefused(
            "The command left no report.", next_step="Its output above says why; run it again with the same inputs."
        )
        return None, {}, missing if job.report is not None else None
    data = job.report.read_bytes()
    try:
        return reading.read(data), json.loads(data), None
    except EvidenceRefused as refused:
        return None, {}, refused


def answer(context: Context, told: Mapping[str, str], token: Callable[[], str]) -> None:
    """Set outputs of this step."""
    if context.output is not None:
        with context.output.open("a", encoding="utf-8") as file:
            file.writelines(output(name, value, token) for name, value in told.items())


def _refused(effects: Effects, error: ReproGateError) -> None:
    """Say also in the outputs that there is no verdict, where there is a runner to read them."""
    try:
        context = contexts.read(effects.environ)
    except ReproGateError:
        return
    code = error.exit_code
    verdict = "inconclusive" if code is ExitCode.INCONCLUSIVE else "error"
    answer(context, {"verdict": verdict, "reason": error.slug}, effects.token)
    append_summary(context, f"## ❔ repro-gate: {error.slug}\n\n")


def say(out: TextIO, error: ReproGateError) -> None:
    """An error as the runner shows it."""
    print(command("error", f"{error} Next: {error.next_step}", title="repro-gate"), file=out, flush=True)


def page_of(report: CheckReport | FlakeReport, context: Context, run_id: int, pull: int | None) -> str:
    """The report for people on GitHub, with what to do before its commands can be typed."""
    if isinstance(report, CheckReport):
        page = as_markdown.page(report)
    else:
        page = scan_markdown.page(report, f"repro-gate scan --seed={report.seed}")
    return page + _before_typing(report, context, run_id, pull)


def _before_typing(report: CheckReport | FlakeReport, context: Context, run_id: int, pull: int | None) -> str:
    lines = []
    if pull is not None and isinstance(report, CheckReport):
        lines.append(f"The two commits come with `git fetch origin pull/{pull}/merge`.")
    gates = report.gates if isinstance(report, CheckReport) else ()
    packed = [proof.capsule for gate in gates for proof in gate.proved if proof.capsule]
    mutants = [each for gate in gates if gate.mutation is not None for each in gate.mutation.packed]
    if packed or mutants or any(test.capsule for test in _campaign(report)):
        where = context.run_address(run_id)
        lines.append(f"The folder `capsules` is in the artifact of [this run]({where}): unpack it into the checkout.")
    return "\n" + " ".join(lines) + "\n" if lines else ""


def _campaign(report: CheckReport | FlakeReport) -> tuple[TestVerdict, ...]:
    flakes = report.campaign if isinstance(report, CheckReport) else report
    return flakes.tests if flakes is not None else ()
