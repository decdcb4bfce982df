"""The step that reports: the one with the token, which runs nothing of the repository.

Belongs here: where its report is from, and which surface it goes to. Does not belong here: the surfaces (github).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TextIO

from repro_gate import capsule
from repro_gate.action import context as contexts
from repro_gate.action import inputs as given
from repro_gate.action.context import Context
from repro_gate.action.inputs import Inputs, Mode, When
from repro_gate.action.jobs import mode_of
from repro_gate.action.proposing import proposal
from repro_gate.action.steps import answer, page_of, say
from repro_gate.change.event import PullRequest, commits_of, default_branch_of
from repro_gate.errors import EvidenceRefused, ExitCode, ReproGateError, UsageError
from repro_gate.github.annotations import of_check
from repro_gate.github.commands import command
from repro_gate.github.remote import Remote
from repro_gate.github.surfaces import Published, Shown, publish, report_flakes
from repro_gate.model import CheckReport, FlakeReport
from repro_gate.report import reading
from repro_gate.report.check_outcome import headline

REPORT = "report.json"


@dataclass(frozen=True, kw_only=True)
class Effects:
    """What the step needs of the world. ``connect`` opens a repository of an API: token, address, name."""

    environ: Mapping[str, str]
    out: TextIO
    token: Callable[[], str]
    connect: Callable[[str, str, str], Remote]


def report(effects: Effects) -> int:
    """Show the result. It is decoration: only a wrong use is an error, all else a warning in the log."""
    try:
        context = contexts.read(effects.environ)
        inputs = given.read(effects.environ)
        step = _Step(effects=effects, context=context, inputs=inputs, mode=mode_of(inputs, context))
        return step.all()
    except UsageError as wrong:
        say(effects.out, wrong)
        return int(wrong.exit_code)
    except ReproGateError as error:
        text = f"{error} Next: {error.next_step}"
    except Exception as bug:  # noqa: BLE001 - the outermost frame: no bug of the decoration may turn a green job red
        text = f"This is a bug of repro-gate: {bug!r:.500} Next: {ReproGateError.default_next_step}"
    print(command("warning", text, title="repro-gate report"), file=effects.out, flush=True)
    return int(ExitCode.PASS)


@dataclass(frozen=True, kw_only=True)
class _Step:
    effects: Effects
    context: Context
    inputs: Inputs
    mode: Mode

    def all(self) -> int:
        """Find the report, show it, say where."""

        @cache
        def remote() -> Remote:
            return self.effects.connect(
                self.effects.environ.get("GATE_TOKEN", ""), self.context.api_url, self.context.repository
            )

        if self.mode is Mode.REPORT:
            done = self._second_stage(remote)
        elif self.mode is Mode.REPLAY:
            done = self._replayed(remote)
        else:
            found = reading.read((Path(self.effects.environ.get("GATE_EVIDENCE", "")) / REPORT).read_bytes())
            done = self._of_this_job(found, remote)
        self._answer(done)
        return int(ExitCode.PASS)

    def _of_this_job(self, found: CheckReport | FlakeReport, remote: Callable[[], Remote]) -> Published:
        if isinstance(found, FlakeReport):
            if self.context.event_name not in ("schedule", "workflow_dispatch") or self.inputs.comment is When.OFF:
                return Published()
            command_line = f"repro-gate scan --seed={found.seed}"
            return report_flakes(
                remote, found, command=command_line, where=self.context.run_address(self.context.run_id)
            )
        commits = commits_of(self.context.event)
        sha = commits.head if isinstance(commits, PullRequest) else self.context.sha
        return self._publish(found, remote, self.context.run_id, self.context.pull, sha)

    def _replayed(self, remote: Callable[[], Remote]) -> Published:
        """A capsule that showed its failure each time: a pull request with a test that fails until it is mended."""
        if self.inputs.comment is When.OFF:
            return Published()
        [path] = Path(self.effects.environ.get("GATE_EVIDENCE", "")).glob("capsules/*.zip")
        manifest = capsule.read(path).manifest
        if manifest.proof is not None or not manifest.determinism.pinned:
            return Published(notes=("No pull request: the capsule is a proof, or does not fail every time.",))
        base = default_branch_of(self.context.event) or "main"
        run = self.context.run_address(self.context.run_id)
        url = remote().propose(proposal(manifest, path.read_bytes(), base=base, run=run))
        return Published(reporter="pull-request", comment_url=url)

    def _second_stage(self, remote: Callable[[], Remote]) -> Published:
        """On workflow_run: whose pull request it is says GitHub; what the artifact holds is only shown."""
        run = self.context.event.get("workflow_run")
        run_id = self.inputs.run_id or (run.get("id") if isinstance(run, Mapping) else None)
        if not isinstance(run_id, int):
            raise UsageError(
                "Nothing tells which run is to be reported.",
                next_step="Set it off by `workflow_run`, or give `run-id`.",
            )
        pull = remote().pull_of(run_id)
        if pull is None:
            return Published(notes=("This run belongs to no open pull request whose head is still the same.",))
        found = reading.read(remote().report_of(run_id, REPORT))
        if not isinstance(found, CheckReport):
            raise EvidenceRefused("The run's report is that of a scan, not of a pull request.")
        return self._publish(found, remote, run_id, *pull)

    def _publish(
        self, found: CheckReport, remote: Callable[[], Remote], run_id: int, pull: int | None, sha: str
    ) -> Published:
        page = page_of(found, self.context, run_id, pull)
        shown = Shown(
            page=page,
            found=of_check(found, {}, self.inputs.working_directory),
            verdict=str(found.verdict),
            title=headline(found),
            place=self.inputs.working_directory.strip("./"),
            identity=f"repro-gate-{run_id}-{self.context.attempt}-{self.effects.token()}",
        )
        comment, wanted = str(self.inputs.comment), self.inputs.check_run
        return publish(remote, shown, pull=pull, sha=sha, comment=comment, check_run=wanted)

    def _answer(self, done: Published) -> None:
        told = {"reporter": done.reporter, "comment-url": done.comment_url, "check-run-url": done.check_run_url}
        answer(self.context, told, self.effects.token)
        for note in done.notes:
            print(command("notice", note, title="repro-gate report"), file=self.effects.out)
        where = done.comment_url or done.check_run_url or ", ".join(done.issues) or "the job's summary alone"
        print(f"repro-gate report: shown in {where}", file=self.effects.out, flush=True)
