"""Events as GitHub sends them, with the commits of a test in them.

Belongs here: published examples and what a test replaces in them. Does not belong here: repositories.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_PLACE = Path(__file__).parent / "payloads"


def _example(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((_PLACE / f"{name}.json").read_text(encoding="utf-8"))
    event["repository"].update(full_name="owner/project", default_branch="main")
    return event


def pull_request(
    head: str, base: str, *, title: str = "Fix it", author: str = "dev", fork: bool = False
) -> dict[str, Any]:
    """Of a branch of the repository, or of a stranger's fork."""
    event = _example("pull_request")
    pull = event["pull_request"]
    event["number"] = 7
    pull.update(number=7, title=title, body="", labels=[], merge_commit_sha=None)
    pull["user"].update(login=author, type="Bot" if author.endswith("[bot]") else "User")
    pull["head"].update(sha=head, ref="fix", label=f"{'stranger' if fork else 'owner'}:fix")
    pull["head"]["repo"].update(full_name="stranger/project" if fork else "owner/project", fork=fork)
    pull["base"].update(sha=base, ref="main")
    return event


def merge_group(head: str, base: str) -> dict[str, Any]:
    """A merge queue asks for its checks."""
    event = _example("merge_group")
    event["merge_group"].update(head_sha=head, base_sha=base, base_ref="refs/heads/main")
    return event


def push(before: str, after: str) -> dict[str, Any]:
    """A push to the default branch."""
    event = _example("push")
    event.update(ref="refs/heads/main", before=before, after=after, forced=False, created=False, deleted=False)
    return event


def schedule() -> dict[str, Any]:
    """GitHub publishes no example; a run by time has no more than this."""
    return {"schedule": "0 3 * * *", "repository": _example("push")["repository"]}


def workflow_dispatch(**inputs: str) -> dict[str, Any]:
    """Somebody pressed the button."""
    event = _example("workflow_dispatch")
    event.update(inputs=inputs, ref="refs/heads/main")
    return event


def workflow_run(run_id: int, head: str) -> dict[str, Any]:
    """The run of a fork's pull request ended; GitHub names no pull request then."""
    event = _example("workflow_run")
    event["workflow_run"].update(id=run_id, head_sha=head, head_branch="fix", pull_requests=[], event="pull_request")
    return event
