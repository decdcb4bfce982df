"""The ``repro-gate`` command."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from repro_gate import __version__
from repro_gate.cli.capsules import capsule_app
from repro_gate.cli.examining import run_doctor
from repro_gate.cli.mutants import mutant_app
from repro_gate.cli.options import FILE, NoColor, Quiet
from repro_gate.cli.options import consoles_for as _terminal
from repro_gate.cli.options import leave as _leave
from repro_gate.cli.replay_order import ReplayOrder
from repro_gate.cli.replaying import run_replay
from repro_gate.cli.scanning import Order, run_scan
from repro_gate.cli.session import say, terminal
from repro_gate.cli.usage import PARSER_ERROR, all_named, one_of, refused
from repro_gate.errors import ExitCode

app = typer.Typer(
    name="repro-gate",
    help="Find flaky tests, name what each depends on, and replay them on demand.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(capsule_app, name="capsule")
app.add_typer(mutant_app, name="mutant")

ReportJson = Annotated[Path | None, typer.Option(help="Write the report as JSON.", **FILE)]
JunitXml = Annotated[Path | None, typer.Option(help="Write the report as JUnit XML.", **FILE)]
MutationJson = Annotated[Path | None, typer.Option(help="Write mutants as mutation testing elements (JSON).", **FILE)]
Summary = Annotated[Path | None, typer.Option(help="Write a page for people as Markdown.", **FILE)]
Capsules = Annotated[
    str | None,
    typer.Option(help="Write capsules there (default .repro-gate/capsules).", metavar="DIR", show_default=False),
]
Sarif = Annotated[Path | None, typer.Option(help="Write the findings as SARIF 2.1.0, for code scanning.", **FILE)]
CoverageXml = Annotated[Path | None, typer.Option(help="Write head's coverage as Cobertura XML.", **FILE)]
CoverageLcov = Annotated[Path | None, typer.Option(help="Write head's coverage as LCOV.", **FILE)]
CoverageJson = Annotated[Path | None, typer.Option(help="Write head's coverage as JSON, with the tests.", **FILE)]
_AT_LEAST = {"metavar": "PERCENT", "show_default": False}
MinMutationScore = Annotated[
    str | None, typer.Option(help="At least this `min-mutation-score`; base's wins where it is higher.", **_AT_LEAST)
]
MinDiffCoverage = Annotated[
    str | None, typer.Option(help="At least this `min-diff-coverage`; base's wins where it is higher.", **_AT_LEAST)
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"repro-gate {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find flaky tests, name what each depends on, and replay them on demand."""


def _given(
    runs: str | None,
    budget: str | None,
    sandbox: str | None,
    image: str | None,
    jobs: str | None,
    python: str | None,
    no_fork: bool,
    no_causes: bool,
) -> tuple[str, ...]:
    """The options that make this campaign what it is, to repeat it with."""
    valued = {
        "--runs": runs,
        "--budget": budget,
        "--sandbox": sandbox,
        "--image": image,
        "--jobs": jobs,
        "--python": python,
    }
    flags = {"--no-fork": no_fork, "--no-causes": no_causes}
    return (
        *(f"{name}={value}" for name, value in valued.items() if value is not None),
        *(name for name, given in flags.items() if given),
    )


@app.command()
def scan(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATHS] [-- PYTEST ARGS]", help="What to scan, as one would tell pytest.", show_default=False
        ),
    ] = None,
    # Numbers are texts here: `config` reads and refuses them, in the same words as those of a file.
    runs: Annotated[
        str | None,
        typer.Option(help="Runs under varied conditions (default 20).", metavar="N", show_default=False),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Stop after so many seconds, cheapest and newest tests first.", metavar="SECONDS", show_default=False
        ),
    ] = None,
    seed: Annotated[
        str | None, typer.Option(help="Repeat the campaign with this seed.", metavar="S", show_default=False)
    ] = None,
    sandbox: Annotated[str | None, typer.Option(help="auto, docker, bubblewrap or host.", show_default=False)] = None,
    image: Annotated[
        str | None,
        typer.Option(
            help="Run in this image, with its Python (or a Dockerfile's).", metavar="NAME", show_default=False
        ),
    ] = None,
    jobs: Annotated[
        str | None,
        typer.Option(help="Processes at a time (default: one per core).", metavar="N", show_default=False),
    ] = None,
    report_json: ReportJson = None,
    junit_xml: JunitXml = None,
    sarif: Sarif = None,
    summary: Summary = None,
    capsules: Capsules = None,
    python: Annotated[
        str | None,
        typer.Option(help="The interpreter that has the project's dependencies.", metavar="PATH", show_default=False),
    ] = None,
    no_fork: Annotated[
        bool,
        typer.Option(
            "--no-fork",
            help="One process per experiment: slower, and what modules read at import moves in each of them.",
        ),
    ] = False,
    no_causes: Annotated[bool, typer.Option("--no-causes", help="Detect only: confirm nothing, pack nothing.")] = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Find the flaky tests of a suite, name the cause of each, and write a capsule that replays it."""
    consoles = _terminal(quiet, no_color)
    order = Order(
        directory=Path.cwd(),
        arguments=tuple(arguments or ()),
        overrides={
            "runs": runs,
            "budget": budget,
            "seed": seed,
            "sandbox": sandbox,
            "image": image,
            "jobs": jobs,
            "capsules": capsules,
        },
        door=("repro-gate", "scan", *_given(runs, budget, sandbox, image, jobs, python, no_fork, no_causes)),
        python=python,
        fork=not no_fork,
        report_json=report_json,
        junit_xml=junit_xml,
        sarif=sarif,
        summary=summary,
        investigate=not no_causes,
    )
    _leave(lambda: run_scan(order, consoles, dict(os.environ)), consoles)


@app.command()
def check(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATHS] [-- PYTEST ARGS]", help="Which tests, as one would tell pytest.", show_default=False
        ),
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="The commit to compare with.", metavar="REF", show_default=False)
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(help="The commit to judge (default: the one checked out).", metavar="REF", show_default=False),
    ] = None,
    gates: Annotated[
        list[str] | None,
        typer.Option(
            help="fail-to-pass, network, flaky, coverage, mutation (default: all).", metavar="NAMES", show_default=False
        ),
    ] = None,
    event: Annotated[
        Path | None,
        typer.Option(help="What is said of the change: GitHub's event, or {title, body, labels, author}.", **FILE),
    ] = None,
    sandbox: Annotated[str | None, typer.Option(help="auto, docker or bubblewrap.", show_default=False)] = None,
    image: Annotated[
        str | None, typer.Option(help="Run in this image (or a Dockerfile's).", metavar="NAME", show_default=False)
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Seconds for each gate.", metavar="SECONDS", show_default=False)
    ] = None,
    jobs: Annotated[
        str | None, typer.Option(help="Processes at a time (default: one per core).", metavar="N", show_default=False)
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(
            help="An interpreter that has the project's dependencies (default: an environment is made).",
            metavar="PATH",
            show_default=False,
        ),
    ] = None,
    capsules: Annotated[
        str | None,
        typer.Option(
            help="Write capsules of proofs and survivors there (default .repro-gate/capsules).",
            metavar="DIR",
            show_default=False,
        ),
    ] = None,
    report_json: ReportJson = None,
    junit_xml: JunitXml = None,
    sarif: Sarif = None,
    summary: Annotated[Path | None, typer.Option(help="Write a page for reviewers as Markdown.", **FILE)] = None,
    coverage_xml: CoverageXml = None,
    coverage_lcov: CoverageLcov = None,
    coverage_json: CoverageJson = None,
    mutation_json: MutationJson = None,
    min_mutation_score: MinMutationScore = None,
    min_diff_coverage: MinDiffCoverage = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Prove that a change's new tests fail on base and pass on head, every time, and reach for no network."""
    # Only here: a check needs many rooms that a scan does not wait for.
    from repro_gate.cli.checking import CheckOrder, run_check

    consoles = _terminal(quiet, no_color)
    written = {"xml": coverage_xml, "lcov": coverage_lcov, "json": coverage_json}
    order = CheckOrder(
        directory=Path.cwd(),
        arguments=tuple(arguments or ()),
        base=base,
        head=head,
        gates=all_named(gates),
        event=event,
        overrides={"sandbox": sandbox, "image": image, "budget": budget, "jobs": jobs, "capsules": capsules},
        python=python,
        report_json=report_json,
        junit_xml=junit_xml,
        sarif=sarif,
        mutation_json=mutation_json,
        summary=summary,
        coverage={name: path for name, path in written.items() if path is not None},
        floors={"min-mutation-score": min_mutation_score, "min-diff-coverage": min_diff_coverage},
    )
    _leave(lambda: run_check(order, consoles, dict(os.environ)), consoles)


@app.command()
def replay(
    capsule: Annotated[Path, typer.Argument(help="A capsule-….zip.", show_default=False)],
    repo: Annotated[
        Path | None,
        typer.Option(
            help="A checkout of the capsule's commit, or of both of a proof (default: the one around this directory).",
            metavar="DIR",
            show_default=False,
        ),
    ] = None,
    times: Annotated[
        int | None, typer.Option(help="How often (default: as often as it was verified).", min=1, show_default=False)
    ] = None,
    sandbox: Annotated[str | None, typer.Option(help="auto, docker, bubblewrap or host.", show_default=False)] = None,
    python: Annotated[
        str | None,
        typer.Option(help="The interpreter that has the project's dependencies.", metavar="PATH", show_default=False),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(help="Of a proof: try this commit in place of its head.", metavar="REF", show_default=False),
    ] = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Replay a capsule in fresh processes: a failure, a proof (red on base, green on head),
    or a mutant that survives.
    """
    consoles = _terminal(quiet, no_color)
    order = ReplayOrder(path=capsule, repo=repo, times=times, sandbox=sandbox, python=python, head=head)
    _leave(lambda: run_replay(order, consoles, dict(os.environ)), consoles)


@app.command()
def plan(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATHS] [-- PYTEST ARGS]", help="As for the command itself.", show_default=False),
    ] = None,
    kind: Annotated[str, typer.Option(help="scan or check.", metavar="KIND")] = "scan",
    shards: Annotated[str, typer.Option(help="How many, or auto.", metavar="N")] = "auto",
    out: Annotated[Path, typer.Option(help="Write the plan there.", metavar="FILE")] = Path("plan.json"),
    matrix: Annotated[
        Path | None,
        typer.Option(help="Write a matrix for GitHub Actions there (- prints it).", metavar="FILE", show_default=False),
    ] = None,
    durations: Annotated[
        list[Path] | None,
        typer.Option(help="A report.json of an earlier run, to balance by.", metavar="FILE", show_default=False),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the campaign.", min=0, show_default=False)] = None,
    base: Annotated[str | None, typer.Option(help="As for check.", metavar="REF", show_default=False)] = None,
    head: Annotated[str | None, typer.Option(help="As for check.", metavar="REF", show_default=False)] = None,
    gates: Annotated[list[str] | None, typer.Option(help="As for check.", metavar="NAMES", show_default=False)] = None,
    event: Annotated[Path | None, typer.Option(help="As for check.", metavar="FILE", show_default=False)] = None,
    runs: Annotated[str | None, typer.Option(help="As for scan.", metavar="N", show_default=False)] = None,
    budget: Annotated[
        str | None, typer.Option(help="Seconds for each unit.", metavar="SECONDS", show_default=False)
    ] = None,
    sandbox: Annotated[str | None, typer.Option(help="auto, docker, bubblewrap or host.", show_default=False)] = None,
    image: Annotated[str | None, typer.Option(help="As for scan.", metavar="NAME", show_default=False)] = None,
    jobs: Annotated[str | None, typer.Option(help="As for scan.", metavar="N", show_default=False)] = None,
    python: Annotated[str | None, typer.Option(help="As for scan.", metavar="PATH", show_default=False)] = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Divide a scan or a check into parts that any number of machines can run."""
    from repro_gate.cli.sharding import PlanOrder, run_plan

    consoles = _terminal(quiet, no_color)
    order = PlanOrder(
        directory=Path.cwd(),
        kind=one_of("--kind", kind, ("scan", "check")),
        shards=shards,
        arguments=tuple(arguments or ()),
        settings={"runs": runs, "budget": budget, "sandbox": sandbox, "image": image, "jobs": jobs, "python": python},
        seed=seed,
        base=base,
        head=head,
        gates=all_named(gates),
        event=event,
        durations=tuple(durations or ()),
        out=out,
        matrix=matrix,
    )
    _leave(lambda: run_plan(order, consoles), consoles)


@app.command()
def shard(
    plan: Annotated[Path, typer.Option(help="The plan.", metavar="FILE", show_default=False)],
    index: Annotated[int, typer.Option(help="Which shard, from 0.", min=0, show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="Write it there (default shard-INDEX.json).", metavar="FILE", show_default=False)
    ] = None,
    attempt: Annotated[int, typer.Option(help="Which attempt: the highest counts.", min=1, max=10_000)] = 1,
    capsules: Capsules = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Run one shard of a plan."""
    from repro_gate.cli.sharding import ShardOrder, run_shard

    consoles = _terminal(quiet, no_color)
    order = ShardOrder(
        directory=Path.cwd(),
        plan=plan,
        index=index,
        attempt=attempt,
        out=out or Path(f"shard-{index}.json"),
        capsules=capsules,
    )
    _leave(lambda: run_shard(order, consoles), consoles)


@app.command()
def merge(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILES", help="The files of all shards.", show_default=False)
    ] = None,
    plan: Annotated[Path, typer.Option(help="The plan.", metavar="FILE")] = Path("plan.json"),
    report_json: ReportJson = None,
    junit_xml: JunitXml = None,
    sarif: Sarif = None,
    mutation_json: MutationJson = None,
    summary: Summary = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Put the shards of a plan together: the same report and exit code as from one machine."""
    from repro_gate.cli.sharding import MergeOrder, run_merge

    consoles = _terminal(quiet, no_color)
    asked = {"json": report_json, "junit": junit_xml, "sarif": sarif, "mutation": mutation_json, "summary": summary}
    reports = {kind: path for kind, path in asked.items() if path is not None}
    order = MergeOrder(directory=Path.cwd(), plan=plan, files=tuple(files or ()), reports=reports)
    _leave(lambda: run_merge(order, consoles), consoles)


@app.command()
def doctor(
    python: Annotated[
        str | None,
        typer.Option(help="The interpreter that has the project's dependencies.", metavar="PATH", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    no_color: NoColor = False,
) -> None:
    """Say which sandboxes work here and what the others lack."""
    consoles = _terminal(False, no_color)
    _leave(lambda: run_doctor(python, json, consoles, dict(os.environ)), consoles)


def main() -> None:
    """The console script, and ``python -m repro_gate``."""
    try:
        code = app(prog_name="repro-gate", standalone_mode=False)
    except PARSER_ERROR as error:
        usage = refused(error)
        if usage is None:
            error.show()  # type: ignore[attr-defined]  # the help, as the parser prints it
        else:
            say(usage, terminal(quiet=False, color=None).err)
        code = int(ExitCode.USAGE)
    except typer.Abort:
        code = int(ExitCode.INTERRUPTED)
    sys.exit(code)


if __name__ == "__main__":
    main()
