"""Pull requests that try to forge a green, to speak to the runner, or to see what only the runner may see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.action.conftest import FIXED, parents
from tests.action.stage import Played, Stage
from tests.action.test_gate import gate
from tests.github_api import events

Merged = Callable[[dict[str, str]], Path]

LOOKS_AROUND = """
import os, pathlib, sys
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
    assert not [path for path in opened if "set-output" in path or "summary" in path or "runner" in path.lower()]
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


def play(stage: Stage, project: Path, **inputs: str) -> Played:
    base, head = parents(project)
    event = events.pull_request(head, base, title="Fix half a cent", fork=True)
    return stage.play(gate(comment='"off"', **inputs), "pull_request", event, project, token="s3cret-t0ken")


@pytest.mark.slow
def test_a_test_sees_nothing_of_the_runner_and_is_not_heard_by_it(run_action: Stage, merged: Merged) -> None:
    project = merged({**FIXED, "tests/test_till.py": LOOKS_AROUND})
    played = play(run_action, project, gates="fail-to-pass")
    assert played.status == 0, played.log  # each of its looks is an assertion that held on head
    assert played.outputs["repro-base-failed"] == "4/4"
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
        ({"tests/test_till.py": "import os\n\n\ndef test_new():\n    os._exit(0)\n"}, ""),
    ],
    ids=["a conftest that forges outcomes", "a test that ends the process with 0"],
)
def test_a_forged_outcome_is_never_green(run_action: Stage, merged: Merged, files: dict[str, str], reason: str) -> None:
    played = play(run_action, merged({"till.py": FIXED["till.py"], **files}), gates="fail-to-pass")
    assert played.status == 1, played.log
    assert played.outputs["verdict"] in ("fail", "inconclusive")
    assert reason in played.outputs["reason"]


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
