"""What GitHub tells a job: the event, the commits, and the files through which a step answers.

Belongs here: GITHUB_* and RUNNER_* variables, read once. Does not belong here: the payload's meaning for git
(change), and any call of the API.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro_gate.errors import UsageError

_LARGEST_EVENT = 32 * 2**20  # bytes; GitHub caps a payload at 25 MB
# What a runner gives its steps. Nothing of it is for a process in which a stranger's code may run.
RUNNERS_OWN = ("GITHUB_", "ACTIONS_", "RUNNER_", "INPUT_", "STATE_", "ImageOS", "ImageVersion", "AGENT_")
# ... and what our own steps pass to each other.
_TOKENS = (
    "GATE_TOKEN",
    "GATE_EVIDENCE",
    "GATE_VENVS",
    "ACTION_PATH",
    "GH_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "NODE_AUTH_TOKEN",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """One step of one job. Paths are None where the runner gave none."""

    event_name: str
    event_path: Path | None
    repository: str
    sha: str
    workspace: Path
    temp: Path
    run_id: int
    attempt: int
    api_url: str
    server_url: str
    output: Path | None = None
    summary: Path | None = None
    event: Mapping[str, Any] = field(default_factory=dict)

    @property
    def pull(self) -> int | None:
        """The number of the pull request that the event is of."""
        found = self.event.get("pull_request")
        number = found.get("number") if isinstance(found, Mapping) else None
        return number if isinstance(number, int) else None

    def run_address(self, run_id: int) -> str:
        """Where a person finds a run with its artifacts."""
        return f"{self.server_url}/{self.repository}/actions/runs/{run_id}"


def read(environ: Mapping[str, str]) -> Context:
    """The context. Raises UsageError where this is no job, or its event cannot be read."""
    if not environ.get("GITHUB_EVENT_NAME") or not environ.get("GITHUB_WORKSPACE"):
        raise UsageError(
            "This is no job of GitHub Actions: GITHUB_EVENT_NAME or GITHUB_WORKSPACE is not set.",
            next_step="Elsewhere use `repro-gate check`, `scan` and `replay` themselves.",
        )
    path = _path(environ, "GITHUB_EVENT_PATH")
    workspace = Path(environ["GITHUB_WORKSPACE"])
    return Context(
        event_name=environ["GITHUB_EVENT_NAME"],
        event_path=path,
        event=_event(path) if path else {},
        repository=environ.get("GITHUB_REPOSITORY", ""),
        sha=environ.get("GITHUB_SHA", ""),
        workspace=workspace,
        temp=_path(environ, "RUNNER_TEMP") or workspace.parent,
        run_id=_whole(environ.get("GITHUB_RUN_ID", "")),
        attempt=_whole(environ.get("GITHUB_RUN_ATTEMPT", "")) or 1,
        api_url=environ.get("GITHUB_API_URL") or "https://api.github.com",
        server_url=environ.get("GITHUB_SERVER_URL") or "https://github.com",
        output=_path(environ, "GITHUB_OUTPUT"),
        summary=_path(environ, "GITHUB_STEP_SUMMARY"),
    )


def without_runner(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a command of ours may see: none of the runner's, and no token."""
    return {name: value for name, value in environ.items() if not name.startswith(RUNNERS_OWN) and name not in _TOKENS}


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    return Path(environ[name]) if environ.get(name) else None


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _event(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > _LARGEST_EVENT:
            raise UsageError(f"The event in {path} is larger than any that GitHub sends.")
        event = json.loads(path.read_bytes())
    except OSError:
        return {}  # a runner of one's own need not give one
    except (ValueError, RecursionError):
        raise UsageError(f"The event in {path} is no JSON.", next_step="Run the job again.") from None
    return event if isinstance(event, dict) else {}
