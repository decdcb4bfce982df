"""``repro-gate scan --sandbox docker``: the verdicts of any other sandbox, and nothing left behind."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from repro_gate.sandbox import docker
from tests.conftest import MakeProject, eventually_none
from tests.e2e.conftest import Shell, of

OWNER = "repro-gate.owner"
TESTS = """\
    import time
    def test_hash(): assert list({"a", "b", "c"})[0] == "a"
    def test_zone(): assert time.localtime(0).tm_hour == 0
    def test_broken(): assert not "always"
    def test_fine(): pass
    """


def report_of(project: Path) -> dict[str, Any]:
    return dict(json.loads((project / "r.json").read_text(encoding="utf-8")))


def containers_of(engine: docker.Engine, pid: int) -> list[str]:
    with contextlib.closing(engine.client()) as client:
        found = client.containers(all=True, filters={"label": OWNER})
    return [str(each["Id"]) for each in found if each["Labels"][OWNER].startswith(f"{pid}:")]


@pytest.mark.deep
@pytest.mark.slow
def test_docker_and_bubblewrap_come_to_the_same_verdicts(
    shell: Shell, project: MakeProject, engine: docker.Engine, bubblewrap_why_not: str
) -> None:
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    said = {}
    for sandbox in ("docker", "bubblewrap"):
        place = project({"pyproject.toml": of("hash-seed", "timezone"), "test_it.py": TESTS}, name=sandbox)
        options = ("--sandbox", sandbox, "--runs", "4", "--seed", "3", "--report-json", "r.json")
        done = shell.gate("scan", *options, cwd=place)
        assert done.code == 1, done
        used = report_of(place)["environment"]["sandbox"]
        assert (used["name"], used["hermetic"]) == (sandbox, True)
        said[sandbox] = {test["id"]: (test["verdict"], test["cause"]) for test in report_of(place)["tests"]}
    assert said["docker"] == said["bubblewrap"]
    assert said["docker"]["test_it.py::test_zone"] == ("condition-dependent", "timezone")


@pytest.mark.deep
@pytest.mark.parametrize("number", [2, 15], ids=["SIGINT", "SIGTERM"])
def test_a_scan_that_is_stopped_leaves_no_container(
    shell: Shell, project: MakeProject, engine: docker.Engine, number: int
) -> None:
    place = project({"test_it.py": "import time\ndef test_slow(): time.sleep(60)\n"})
    process = shell.start("repro-gate", "scan", "--sandbox", "docker", "--runs", "2", cwd=place)
    assert eventually_none(lambda: [] if containers_of(engine, process.pid) else ["none yet"], seconds=120) == []
    process.send_signal(number)
    shell.end(process)
    assert containers_of(engine, process.pid) == []


@pytest.mark.deep
def test_what_a_killed_scan_leaves_counts_as_abandoned(
    shell: Shell, project: MakeProject, engine: docker.Engine, tmp_path: Path
) -> None:
    place = project({"test_it.py": "import time\ndef test_slow(): time.sleep(60)\n"})
    ours = {"TMPDIR": str(tmp_path)}  # a killed scan leaves its directories, too
    process = shell.start("repro-gate", "scan", "--sandbox", "docker", "--runs", "2", cwd=place, env=ours)
    assert eventually_none(lambda: [] if containers_of(engine, process.pid) else ["none yet"], seconds=120) == []
    process.kill()
    process.communicate()
    assert containers_of(engine, process.pid) != []
    docker.sweep_abandoned(engine)
    assert eventually_none(lambda: containers_of(engine, process.pid)) == []


def test_an_image_that_is_not_there_ends_a_scan_with_code_3(
    shell: Shell, project: MakeProject, engine: docker.Engine
) -> None:
    place = project({"test_it.py": "def test_fine(): pass\n"})
    done = shell.gate("scan", "--image", "localhost:1/no-such-image", cwd=place)
    assert done.code == 3, done
    assert "localhost:1/no-such-image" in done.err
    assert "next:" in done.err
