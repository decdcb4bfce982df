"""Which sandbox a run gets, with sandboxes that work or not as the test says."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from repro_gate.config import load
from repro_gate.errors import ExitCode, ImageMissing, SandboxUnavailable
from repro_gate.pipeline import bench
from repro_gate.pipeline.doctor import Check, automatic
from repro_gate.pipeline.request import system_effects
from repro_gate.sandbox import Bubblewrap, Host, Interpreter, Sandbox, choose
from repro_gate.sandbox.choose import GATE_ORDER


class Containers(Host):
    """Stands for the docker sandbox."""

    name = "docker"


def works() -> Sandbox:
    return Containers()


def no_daemon() -> Sandbox:
    raise SandboxUnavailable("No daemon answers.")


def no_image() -> Sandbox:
    raise ImageMissing("The image 'x' is not there.")


@pytest.fixture
def bubblewrap(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(Bubblewrap, "why_not", lambda self: request.param)


@pytest.mark.parametrize("bubblewrap", [""], indirect=True)
def test_auto_takes_the_first_that_works(bubblewrap: None) -> None:
    sandbox, note = choose("auto", works)
    assert (sandbox.name, note) == ("docker", "")
    assert choose("auto", works, order=("bubblewrap", "docker"))[0].name == "bubblewrap"
    sandbox, note = choose("auto", no_image)
    assert sandbox.name == "bubblewrap"
    assert note == "docker was not used: The image 'x' is not there"


@pytest.mark.parametrize("bubblewrap", ["no namespaces here"], indirect=True)
def test_only_who_may_settles_for_the_host_and_it_is_said(bubblewrap: None) -> None:
    sandbox, note = choose("auto", no_daemon)
    assert isinstance(sandbox, Host)
    assert "No daemon answers" in note
    assert "no namespaces here" in note
    with pytest.raises(SandboxUnavailable, match="no namespaces here") as refused:
        choose("auto", no_daemon, order=GATE_ORDER, settle_for_host=False)
    assert refused.value.exit_code is ExitCode.INCONCLUSIVE
    assert "doctor" in refused.value.next_step


@pytest.mark.parametrize("bubblewrap", ["no namespaces here"], indirect=True)
def test_what_is_asked_for_by_name_is_taken_or_refused(bubblewrap: None) -> None:
    assert choose("docker", works)[0].name == "docker"
    assert choose("host", no_daemon)[0].name == "host"
    with pytest.raises(SandboxUnavailable, match="No daemon"):
        choose("docker", no_daemon)
    with pytest.raises(ImageMissing):
        choose("docker", no_image)
    with pytest.raises(SandboxUnavailable, match="no namespaces here"):
        choose("bubblewrap", works)


@pytest.mark.parametrize(
    ("works", "image", "gates", "scans"),
    [
        ((), False, "none", "host"),
        ((), True, "none", "none"),
        (("podman", "bubblewrap"), False, "docker", "bubblewrap"),
        (("podman", "bubblewrap"), True, "docker", "docker"),
        (("bubblewrap",), False, "bubblewrap", "bubblewrap"),
        (("docker",), False, "docker", "host"),
    ],
)
@pytest.mark.parametrize("bubblewrap", ["no namespaces here"], indirect=True)
def test_doctor_tells_what_auto_takes(
    works: tuple[str, ...], image: bool, gates: str, scans: str, bubblewrap: None
) -> None:
    names = ("docker", "podman", "bubblewrap")
    checks = [
        Check(name=name, kind="sandbox", works=name in works, detail="", hermetic=name in works) for name in names
    ]
    checks.append(Check(name="host", kind="sandbox", works=True, detail=""))
    assert automatic(checks, image) == {"gates": gates, "scans": scans}


@pytest.mark.parametrize("bubblewrap", [""], indirect=True)
@pytest.mark.parametrize(("image", "told"), [(None, ""), ("x", "docker was not used: The image 'x' is not there")])
def test_another_sandbox_that_isolates_is_no_news_unless_an_image_was_named(
    bubblewrap: None, image: str | None, told: str, monkeypatch: pytest.MonkeyPatch, interpreter: Interpreter
) -> None:
    monkeypatch.setattr(bench, "_containers", lambda *_: no_image())
    settings = dataclasses.replace(load(Path("/nowhere"), {}, {}), image=image)
    sandbox, note = bench.sandbox_for(settings, Path("/nowhere"), system_effects(), interpreter)
    assert (sandbox.name, note) == ("bubblewrap", told)
