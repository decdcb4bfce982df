"""The corpus of synthetic pull requests: the gate answers each as its specification says."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro_gate.model import GateVerdict
from repro_gate.sandbox import docker
from tests.corpus.driver import ask, differences
from tests.corpus.every import SHAPES
from tests.corpus.shape import Shape

# One for each way in which the sandboxes could differ: processes, network, time, order of files.
IN_DOCKER = (
    "fix-with-test",
    "new-module-beside-old-tests",
    "product-crashes-on-base-with-a-trace",
    "swallows-a-network-error-in-a-child",
    "forging-conftest",
    "order-of-the-file",
)


@pytest.fixture(autouse=True)
def directories_end_with_the_test(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Git of this machine is not asked who is who."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape_in_bubblewrap(shape: Shape, tmp_path: Path, bubblewrap_why_not: str) -> None:
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    assert differences(shape, ask(shape, tmp_path, "bubblewrap")) == []


@pytest.mark.parametrize("name", IN_DOCKER)
def test_a_shape_in_docker(name: str, tmp_path: Path, engine: docker.Engine) -> None:
    (shape,) = [each for each in SHAPES if each.name == name]
    assert differences(shape, ask(shape, tmp_path, "docker")) == []


def test_a_wrong_answer_is_told(tmp_path: Path, bubblewrap_why_not: str) -> None:
    """The comparison itself can fail: another shape's answer is not this one's."""
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    told, other = (next(each for each in SHAPES if each.name == name) for name in ("fails-on-head", "fix-with-test"))
    said = differences(other, ask(told, tmp_path, "bubblewrap"))
    assert {each.partition(":")[0] for each in said} == {"verdict", "reason", "proved", "refused"}


def test_every_verdict_is_among_the_shapes_and_no_name_twice() -> None:
    assert {shape.verdict for shape in SHAPES} == set(GateVerdict)
    assert len({shape.name for shape in SHAPES}) == len(SHAPES)
