"""The corpus of synthetic pull requests: the gate answers each as its specification says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from repro_gate.model import GateVerdict
from repro_gate.sandbox import docker
from tests.corpus.driver import ask, differences
from tests.corpus.every import SHAPES, named
from tests.corpus.shape import Shape
from tests.e2e.conftest import Shell

# One for each way in which the sandboxes could differ: processes, network, time, order of files.
IN_DOCKER = (
    "fix-with-test",
    "swallows-a-network-error-in-a-child",
    "new-module-beside-old-tests",
    "product-crashes-on-base-with-a-trace",
    "forging-conftest",
    "order-of-the-file",
)


# One for each part of the gate; the unit tests go through all shapes without processes.
IN_SHORT = frozenset(
    {
        "fix-with-test",
        "new-module-beside-old-tests",
        "forging-conftest",
        "swallows-a-network-error-in-a-child",
    }
)


def some_in_short() -> list[object]:
    """Every shape; those that are not chosen are for the deep run."""
    marks = {shape.name: [] if shape.name in IN_SHORT else [pytest.mark.deep] for shape in SHAPES}
    return [pytest.param(shape, id=shape.name, marks=marks[shape.name]) for shape in SHAPES]


@pytest.mark.parametrize("shape", some_in_short())
def test_a_shape_in_bubblewrap(shape: Shape, tmp_path: Path, bubblewrap_why_not: str) -> None:
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    assert differences(shape, ask(shape, tmp_path, "bubblewrap")) == []


@pytest.mark.parametrize(
    "name", [IN_DOCKER[1], *(pytest.param(name, marks=pytest.mark.deep) for name in IN_DOCKER if name != IN_DOCKER[1])]
)
def test_a_shape_in_docker(name: str, tmp_path: Path, engine: docker.Engine) -> None:
    shape = named(name)
    assert differences(shape, ask(shape, tmp_path, "docker")) == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        pytest.param("new-data-for-a-parametrized-test", 0, marks=pytest.mark.deep),
        pytest.param("fails-on-head", 1, marks=pytest.mark.deep),
        ("base-does-not-import-here", 3),
    ],
)
def test_the_command_ends_by_the_verdict(
    name: str, code: int, shell: Shell, tmp_path: Path, bubblewrap_why_not: str
) -> None:
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    shape = named(name)
    repo, base, head = shape.write(tmp_path / "repo")
    (tmp_path / "event.json").write_text(json.dumps({"title": shape.title}))
    said = ("--event", str(tmp_path / "event.json"), "--report-json", str(tmp_path / "report.json"))
    where = ("--base", base, "--head", head, "--sandbox", "bubblewrap", "--python", sys.executable)
    done = shell.gate("check", "--gates", "fail-to-pass", *where, *said, cwd=repo.path)
    assert done.code == code, done
    (gate,) = json.loads((tmp_path / "report.json").read_text())["gates"]
    assert (gate["verdict"], gate["reason"]) == (str(shape.verdict), shape.reason)
    assert {proof["id"] for proof in gate["proved"]} == set(shape.proved)


@pytest.mark.deep
def test_a_wrong_answer_is_told(tmp_path: Path, bubblewrap_why_not: str) -> None:
    """The comparison itself can fail: another shape's answer is not this one's."""
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    said = differences(named("fix-with-test"), ask(named("fails-on-head"), tmp_path, "bubblewrap"))
    assert {each.partition(":")[0] for each in said} == {"verdict", "reason", "proved", "refused"}


def test_every_verdict_is_among_the_shapes_and_no_name_twice() -> None:
    assert {shape.verdict for shape in SHAPES} == set(GateVerdict)
    assert len({shape.name for shape in SHAPES}) == len(SHAPES)
    assert {shape.name for shape in SHAPES} >= IN_SHORT
