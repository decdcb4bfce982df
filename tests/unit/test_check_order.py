"""What a check is told on the command line: gates and the event, and what is refused of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repro_gate.cli.checking import gates_of, read_event
from repro_gate.errors import UsageError

PAYLOADS = Path(__file__).parents[1] / "github_api" / "payloads"


def said(path: Path, event: object) -> Path:
    path.write_text(json.dumps(event), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("named", "level"),
    [("network:warn", "warn"), ("network:block", "block"), ("fail-to-pass,network:off", "off"), ("network:", "warn")],
)
def test_a_level_is_refused_with_how_it_is_set_here(named: str, level: str) -> None:
    with pytest.raises(UsageError, match="`--gates` takes names without a level") as refused:
        gates_of(named)
    assert refused.value.next_step == (
        f"Write `--gates network`, and set the level by the variable `REPRO_GATE_GATE_NETWORK={level}` "
        f'or by the key `gate-network = "{level}"`.'
    )


def test_a_gate_that_is_none_is_not_taken_for_one_with_a_level() -> None:
    with pytest.raises(UsageError, match=r"'netwrk:warn' is no gate"):
        gates_of("netwrk:warn")
    assert gates_of("network fail-to-pass") == ("fail-to-pass", "network")


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ({"title": "Fix", "labells": []}, "unknown field 'labells'; did you mean 'labels'?"),
        ({"titel": "Fix"}, "unknown field 'titel'; did you mean 'title'?"),
        ({"title": "Fix", "x": 1}, "unknown field 'x'."),
    ],
)
def test_a_field_that_the_small_form_does_not_have_is_refused(
    tmp_path: Path, event: dict[str, Any], sentence: str
) -> None:
    path = said(tmp_path / "event.json", event)
    with pytest.raises(UsageError) as refused:
        read_event(path)
    assert str(refused.value) == f"{path}: {sentence}"
    assert refused.value.next_step == "Without GitHub's payload, the fields are title, body, labels, author."


@pytest.mark.parametrize("event", [{}, {"title": "Fix", "body": "", "labels": ["bug"], "author": "a"}])
def test_the_small_form_is_taken(tmp_path: Path, event: dict[str, Any]) -> None:
    assert read_event(said(tmp_path / "event.json", event)) == event


@pytest.mark.parametrize("payload", sorted(PAYLOADS.glob("*.json")), ids=lambda path: path.stem)
def test_what_github_sends_is_taken_as_it_is(payload: Path) -> None:
    assert read_event(payload) == json.loads(payload.read_bytes())


@pytest.mark.parametrize(
    "event",
    [
        {"pull_request": {"title": "Fix"}, "installation": {}},
        {"schedule": "0 3 * * *", "workflow": "nightly.yml", "enterprise": {}},
        {"before": "0" * 40, "after": "1" * 40, "forced": False},
        {"number": 7, "title": "Fix", "user": {"login": "a"}, "milestone": None},  # a pull request of the API
    ],
)
def test_a_cut_payload_of_github_is_taken_as_it_is(tmp_path: Path, event: dict[str, Any]) -> None:
    assert read_event(said(tmp_path / "event.json", event)) == event
