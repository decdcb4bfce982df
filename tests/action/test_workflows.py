"""Each workflow that we offer for copying, and shards: run by `act` as they stand."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from repro_gate.pipeline.check_request import GATES
from tests.action.conftest import FIXED, commit, git, parents, write
from tests.action.stage import CHECKOUT, DOWNLOAD, ROOT, Played, Stage
from tests.action.test_reporting import zipped
from tests.github_api import events
from tests.github_api.memory import WRITE
from tests.github_api.server import GitHub
from tests.unit.test_report_reading import CHECK, written

Merged = Callable[[dict[str, str]], Path]
WORKFLOWS = ROOT / "workflows"
# What `pip install` would do in a workflow is there already: the tests' own environment.
READY = "python -m pip install --editable . pytest"


def copied(stage: Stage, name: str, **inputs: str) -> Path:
    """A workflow as a user copies it, on this machine's terms: its own sandbox and interpreter."""
    lines: list[str] = []
    for line in (WORKFLOWS / name).read_text().splitlines():
        lines.append(line.replace(READY, "true"))
        if line.strip().startswith("- uses: org/repro-gate@v1") or line.strip().startswith("uses: org/repro-gate@v1"):
            lines.append("        with:")
    text = "\n".join(lines) + "\n"
    given = {"isolation": "bubblewrap", "python": sys.executable, **inputs}
    added = "".join(f"          {key}: {value}\n" for key, value in given.items())
    # A step that has inputs already keeps them, behind ours.
    text = text.replace("        with:\n        with:\n", "        with:\n")
    parts = text.split("uses: org/repro-gate@v1")
    text = parts[0] + "".join(
        "uses: org/repro-gate@v1" + part.replace("        with:\n", "        with:\n" + added, 1) for part in parts[1:]
    )
    stage.place.mkdir(parents=True, exist_ok=True)
    path = stage.place / name
    path.write_text(text)
    return path


FLAKY = {"tests/test_label.py": 'def test_label():\n    assert " ".join({"new", "sale"}) == "new sale"\n'}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "event"),
    [("simple.yml", "pull_request"), pytest.param("merge-queue.yml", "merge_group", marks=pytest.mark.deep)],
)
def test_a_fix_passes(run_action: Stage, merged: Merged, name: str, event: str) -> None:
    project = merged(FIXED)
    base, head = parents(project)
    payload = (
        events.pull_request(head, base)
        if event == "pull_request"
        else events.merge_group(git(project, "rev-parse", "HEAD"), base)
    )
    played = run_action.play(copied(run_action, name), event, payload, project)
    assert played.status == 0, played.log
    assert "✅ repro\\-gate" in played.summary or "✅ repro-gate" in played.summary
    assert played.artifact("report.json")["verdict"] == "pass"


@pytest.mark.slow
def test_a_night_finds_a_flake_and_opens_an_issue(run_action: Stage, merged: Merged) -> None:
    project = merged(FLAKY)
    with GitHub() as github:
        path = copied(run_action, "nightly-scan.yml", seeds="20", **{"github-token": "${{ secrets.GITHUB_TOKEN }}"})
        played = run_action.play(path, "schedule", events.schedule(), project, api=github.url, token=WRITE)
        assert played.status == 1, played.log
        [issue] = github.state.issues.values()
    assert github.faults == []
    assert issue["title"] == "Flaky test: tests/test_label.py::test_label"
    assert "hash\\-seed" in issue["body"]
    assert "depends on" in played.summary


@pytest.mark.slow
def test_three_shards_and_a_verdict(run_action: Stage, merged: Merged) -> None:
    project = merged(FIXED)
    base, head = parents(project)
    path = copied(run_action, "pull-request.yml")
    played = run_action.play(path, "pull_request", events.pull_request(head, base), project)
    assert played.status == 0, played.log
    [report] = [
        json.loads(path.read_text()) for path in played.artifacts.rglob("report.json") if "-merge" in str(path.parent)
    ]
    assert [gate["gate"] for gate in report["gates"]] == list(GATES)
    assert report["verdict"] == "pass"
    assert len([each for each in played.artifacts.iterdir() if "-s" in each.name]) == 3


def test_the_second_stage_comments_on_what_a_fork_left(run_action: Stage, merged: Merged) -> None:
    project = merged({})
    _, head = parents(project)
    with GitHub() as github:
        github.add_pull(7, head, owner="stranger")
        github.add_run(99, head, branch="fix", owner="stranger")
        github.add_artifact(99, "repro-gate-99-1-gate", zipped(written(CHECK)))
        path = copied(run_action, "report.yml", **{"github-token": "${{ secrets.GITHUB_TOKEN }}"})
        event = events.workflow_run(99, head)
        played = run_action.play(path, "workflow_run", event, project, api=github.url, token=WRITE)
        assert played.status == 0, played.log
        [comment] = github.state.comments.values()
    assert github.faults == []
    assert comment["issue_url"].endswith("/7")


# --- a capsule by its address ---------------------------------------------------------------------


@contextmanager
def served(data: bytes, place: Path) -> Iterator[tuple[str, Path]]:
    """An https server of one file, and the certificate to trust it by."""
    key, certificate = place / "key.pem", place / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/to/"):
                self.send_response(302)
                self.send_header("Location", self.path.removeprefix("/to/"))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"https://localhost:{server.server_address[1]}/capsule.zip", certificate
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_a_capsule_is_fetched_compared_and_replayed(run_action: Stage, merged: Merged, tmp_path: Path) -> None:
    project = merged(FLAKY)
    argv = [
        sys.executable,
        "-m",
        "repro_gate",
        "scan",
        "--runs=8",
        "--sandbox=bubblewrap",
        "--quiet",
        "tests/test_label.py",
    ]
    subprocess.run(argv, cwd=project, check=False, capture_output=True)
    [capsule] = (project / ".repro-gate" / "capsules").glob("*.zip")
    data = capsule.read_bytes()
    shutil.rmtree(project / ".repro-gate")
    with served(data, tmp_path) as (url, certificate), GitHub() as github:
        right, host = hashlib.sha256(data).hexdigest(), url.split("/")[2]
        token = {"github-token": "${{ secrets.GITHUB_TOKEN }}"}
        for digest, hosts, status in ((right, host, 0), ("0" * 64, host, 1), (right, "", 1)):
            path = copied(run_action, "replay-capsule.yml", **token, **{"capsule-hosts": f'"{hosts}"'})
            words = ("--input", f"capsule_url={url}", "--input", f"capsule_sha256={digest}")
            event = events.workflow_dispatch(capsule_url=url, capsule_sha256=digest)
            env = {"SSL_CERT_FILE": str(certificate)}
            played = run_action.play(
                path, "workflow_dispatch", event, project, env=env, inputs=words, api=github.url, token=WRITE
            )
            assert played.status == status, played.log
            assert ("5 of 5 replays showed the same failure" in played.log) is (status == 0)
            assert ("has the digest" in played.log) is (digest != right)
            assert (f"give the action `capsule-hosts: {host}`" in played.log) is (hosts == "")
            assert len(github.state.pulls) == 1
    assert github.faults == []
    _the_proposed_test_fails_until_it_is_mended(github, project)


def _the_proposed_test_fails_until_it_is_mended(github: GitHub, project: Path) -> None:
    for (branch, name), content in github.state.files.items():
        assert branch.startswith("repro-gate/capsule-")
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_bytes(base64.b64decode(content))
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/capsules"]
    red = subprocess.run(argv, cwd=project, check=False, capture_output=True, text=True)
    assert (red.returncode, "1 failed" in red.stdout) == (1, True), red.stdout
    mended = FLAKY["tests/test_label.py"].replace('" ".join({"new", "sale"})', '" ".join(sorted({"new", "sale"}))')
    write(project, {"tests/test_label.py": mended})
    green = subprocess.run(argv, cwd=project, check=False, capture_output=True, text=True)
    assert (green.returncode, "1 passed" in green.stdout) == (0, True), green.stdout


# --- eight shards ---------------------------------------------------------------------------------

EIGHT = f"""
on: schedule
jobs:
  plan:
    runs-on: ubuntu-24.04
    outputs:
      matrix: ${{{{ steps.plan.outputs.matrix }}}}
    steps:
      - uses: {CHECKOUT}
      - id: plan
        uses: org/repro-gate@v1
        with: {{mode: plan, shards: SHARDS, isolation: bubblewrap, python: {sys.executable}, seeds: 3}}
  shard:
    needs: plan
    runs-on: ubuntu-24.04
    strategy:
      fail-fast: false
      matrix: ${{{{ fromJSON(needs.plan.outputs.matrix) }}}}
    steps:
      - uses: {CHECKOUT}
      - uses: {DOWNLOAD}
        with: {{pattern: repro-gate-5-*-plan, path: "${{{{ runner.temp }}}}/repro-gate-in"}}
      - if: ${{{{ matrix.shard == env.DIES }}}}
        run: exit 1
      - uses: org/repro-gate@v1
        with: {{mode: shard, shard: "${{{{ matrix.shard }}}}", isolation: bubblewrap, python: {sys.executable}, seeds: 3}}
  verdict:
    needs: [plan, shard]
    if: ${{{{ !cancelled() }}}}
    runs-on: ubuntu-24.04
    steps:
      - uses: {DOWNLOAD}
        with: {{pattern: "repro-gate-5-*", path: "${{{{ runner.temp }}}}/repro-gate-in"}}
      - id: gate
        uses: org/repro-gate@v1
        with: {{mode: merge}}
"""


# Found in every campaign, whatever its seed draws: it fails when it is run alone.
BRITTLE = {
    "tests/test_basket.py": "BASKET = []\n\n\ndef test_add():\n    BASKET.append(1)\n\n\ndef test_total():\n    assert BASKET\n"
}


@pytest.mark.deep
@pytest.mark.slow
def test_eight_shards_with_a_gap_are_red_and_all_of_them_are_as_one(
    run_action: Stage, merged: Merged, tmp_path: Path
) -> None:
    project = merged({})
    write(
        project, {f"tests/test_{number}.py": f"def test_{number}():\n    assert {number} >= 0\n" for number in range(7)}
    )
    write(project, BRITTLE)
    commit(project, "eight files and one more")

    def play(shards: int, dies: str, place: str, attempt: str = "1") -> Played:
        stage = Stage(place=tmp_path / place, action=run_action.action, venvs=run_action.venvs, python=sys.executable)
        workflow = EIGHT.replace("SHARDS", str(shards))
        env = {"DIES": dies, "GITHUB_RUN_ATTEMPT": attempt}
        return stage.play(workflow, "schedule", events.schedule(), project, env=env)

    gap = play(8, "5", "gap")
    assert gap.status == 1
    assert "shard 5 is missing" in gap.log
    assert gap.outputs["verdict"] == "inconclusive"

    whole = play(8, "none", "whole")
    alone = play(1, "none", "alone")
    reports = []
    for played in (whole, alone):
        [path] = [path for path in played.artifacts.rglob("report.json") if "-merge" in str(path.parent)]
        reports.append(path.read_bytes())
    assert reports[0] == reports[1]
    assert json.loads(reports[0])["exit_code"] == 1
    assert whole.outputs["verdict"] == alone.outputs["verdict"] == "fail"
    _merges_say_what_is_wrong(whole.artifacts, tmp_path)


def _merges_say_what_is_wrong(left: Path, tmp_path: Path) -> None:
    """A second attempt, a duplicate that differs: on the files that the eight jobs left."""
    [plan] = left.rglob("plan.json")
    files = sorted(left.rglob("shard-*.json"))
    assert len(files) == 8

    def merged(*paths: Path) -> tuple[int, str]:
        argv = [sys.executable, "-m", "repro_gate", "merge", f"--plan={plan}", *map(str, paths)]
        done = subprocess.run(argv, check=False, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    again = json.loads(files[2].read_text())
    again["attempt"] = 2
    second = tmp_path / "second.json"
    second.write_text(json.dumps(again))
    code, said = merged(*files, second)
    assert (code, "attempt 1 of shard 2 is stale; 2 counts" in said) == (1, True)
    other = json.loads(files[2].read_text())
    other["units"][0]["report"]["notes"] = ["forged"]
    (tmp_path / "other.json").write_text(json.dumps(other))
    code, said = merged(*files, tmp_path / "other.json")
    assert (code, "of the same attempt of shard 2, and differ" in said) == (3, True)
    code, said = merged(*files, files[3])
    assert (code, "shard 3 is there twice, and both are the same" in said) == (1, True)
