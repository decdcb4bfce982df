"""Pull requests that try to forge a green, to speak to the runner, or to see what only the runner may see."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.action.conftest import FIXED, parents
from tests.action.stage import Played, Stage
from tests.action.test_gate import gate
from tests.action.test_workflows import copied, served
from tests.github_api import events

Merged = Callable[[dict[str, str]], Path]

LOOKS_AROUND = """
import contextlib, os, pathlib, sys
import pytest
from till import total

SHOUTS = (
    "::set-output name=verdict::pass\\n::error title=forged::forged\\n::add-mask::passed\\n"
    "::stop-commands::x\\n::x::\\n::warning file=a::forged\\n##[set-output name=verdict;]pass\\n"
)


@pytest.mark.parametrize("how", ["$(touch /tmp/rg-pwned)", "%0A::error::forged", "a\\n::error::forged", "`x`|<b>@all"])
def test_half_a_cent(how):
    for stream in (sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__):
        print(SHOUTS, file=stream, flush=True)
    for number in (1, 2):
        try:
            os.write(number, SHOUTS.encode())
        except OSError:
            pass
    seen = [name for name in os.environ if name.startswith(("GITHUB", "ACTIONS", "RUNNER", "INPUT", "GATE"))]
    assert seen == []
    assert "s3cret-t0ken" not in repr(os.environ)
    for entry in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            assert b"s3cret-t0ken" not in entry.read_bytes()
        except OSError:
            pass
    opened = []
    for entry in pathlib.Path("/proc/self/fd").iterdir():
        try:
            opened.append(os.readlink(entry))
        except OSError:
            pass
    assert not [path for path in opened if path.startswith("PLACE")]
    for top, _, names in os.walk("PLACE"):  # where the runner keeps its files, had one guessed it
        for name in names if not top.startswith(os.getcwd()) else ():  # in the copy of the project it may write
            with contextlib.suppress(OSError), open(os.path.join(top, name), "a") as file:
                file.write("\\nverdict=forged\\nEVIL=1\\n")
                raise AssertionError(file.name)
    assert not pathlib.Path("/var/run/docker.sock").exists()
    assert total([1], discount=50) == 0.5
"""

FORGES = """
import pytest


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome = "failed" if "//" in open("till.py").read() else "passed"
"""


PATCHES = """
from _pytest import reports

made = reports.TestReport.from_item_and_call.__func__


def forged(cls, item, call):
    report = made(cls, item, call)
    if call.when == "call":
        on_base = "//" in open("till.py").read()
        report.outcome, report.longrepr = ("failed", "assert 1 == 2") if on_base else ("passed", None)
    return report


reports.TestReport.from_item_and_call = classmethod(forged)


def test_new():
    assert False
"""

# A step before and one after ours: where the runner's files are, and what of a variable has come through.
AROUND = (
    """      - run: test -w "$GITHUB_ENV" && echo "the runner's files are in $GITHUB_ENV"\n""",
    """      - if: always()\n        run: echo "EVIL is '$EVIL'"\n""",
)


def play(stage: Stage, project: Path, **inputs: str) -> Played:
    base, head = parents(project)
    event = events.pull_request(head, base, title="Fix half a cent", fork=True)
    workflow = gate(comment='"off"', **inputs).replace("    steps:\n", f"    steps:\n{AROUND[0]}") + AROUND[1]
    return stage.play(workflow, "pull_request", event, project, token="s3cret-t0ken")


@pytest.mark.slow
def test_a_test_sees_nothing_of_the_runner_and_is_not_heard_by_it(run_action: Stage, merged: Merged) -> None:
    place = str(run_action.place)
    project = merged({**FIXED, "tests/test_till.py": LOOKS_AROUND.replace("PLACE", place)})
    played = play(run_action, project, gates="fail-to-pass", repeats="1")
    assert played.status == 0, played.log  # each of its looks is an assertion that held on head
    assert f"the runner's files are in {place}" in played.log  # what it looked for was there
    assert "EVIL is ''" in played.log
    assert (played.outputs["verdict"], played.outputs["repro-base-failed"]) == ("pass", "4/4")
    assert not [each for each in played.commands if "forged" in repr(each)]
    assert not Path("/tmp/rg-pwned").exists()
    rendered = MarkdownIt("commonmark").enable("table").render(played.summary)
    assert "&lt;b&gt;@all" in rendered
    assert "<b>" not in rendered


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"conftest.py": FORGES, "tests/test_till.py": "def test_new():\n    assert False\n"}, "tampered"),
        ({"tests/test_till.py": PATCHES}, "tampered"),
        ({"tests/test_till.py": "import os\n\n\ndef test_new():\n    os._exit(0)\n"}, "fails_on_head"),
    ],
    ids=["a conftest that forges outcomes", "a test that patches pytest", "a test that ends the process with 0"],
)
def test_a_forged_outcome_is_never_green(run_action: Stage, merged: Merged, files: dict[str, str], reason: str) -> None:
    played = play(run_action, merged({"till.py": FIXED["till.py"], **files}), gates="fail-to-pass")
    assert played.status == 1, played.log
    assert (played.outputs["verdict"], played.outputs["reason"]) == ("fail", reason)


@pytest.mark.slow
def test_a_change_that_switches_its_own_gate_off_is_judged_by_base_and_shown(run_action: Stage, merged: Merged) -> None:
    weaker = '[project]\nname = "till"\nversion = "1"\n[tool.repro-gate]\ngate-fail-to-pass = "off"\n'
    files = {
        "pyproject.toml": weaker,
        "till.py": FIXED["till.py"],
        "tests/test_till.py": "def test_new():\n    assert True\n",
        ".github/workflows/gate.yml": "on: push\n",
    }
    played = play(run_action, merged(files), gates="fail-to-pass")
    assert played.status == 1, played.log
    assert "### Policy" in played.summary
    assert "gate\\-fail\\-to\\-pass" in played.summary
    assert "\\.github/workflows/gate\\.yml" in played.summary


def bomb() -> bytes:
    """A gigabyte in a megabyte, under a name that a capsule has."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("manifest.json", "w") as file:
        for _ in range(1024):
            file.write(bytes(1 << 20))
    return data.getvalue()


def climbing() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("../../pwned", "x")
    return data.getvalue()


@pytest.mark.parametrize(
    ("made", "said"),
    [(bomb, "has 1073741824 bytes (at most"), (climbing, "pwned")],
    ids=["a bomb", "a path that climbs"],
)
def test_a_hostile_capsule_is_refused_and_nothing_of_it_is_unpacked(
    run_action: Stage, merged: Merged, tmp_path: Path, made: Callable[[], bytes], said: str
) -> None:
    """Its digest is right: whoever sent it has told that, too."""
    data = made()
    with served(data, tmp_path) as (url, certificate):
        digest = hashlib.sha256(data).hexdigest()
        words = ("--input", f"capsule_url={url}", "--input", f"capsule_sha256={digest}")
        event = events.workflow_dispatch(capsule_url=url, capsule_sha256=digest)
        path = copied(run_action, "replay-capsule.yml", **{"capsule-hosts": url.split("/")[2]})
        env = {"SSL_CERT_FILE": str(certificate)}
        played = run_action.play(path, "workflow_dispatch", event, merged({}), env=env, inputs=words)
    assert played.status == 1, played.log
    assert "capsule" in played.log
    assert said in played.log
    assert not list(tmp_path.rglob("pwned"))
    assert sum(each.stat().st_size for each in played.artifacts.rglob("*") if each.is_file()) < 64 * 2**20
