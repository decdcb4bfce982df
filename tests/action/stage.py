"""The action on a stage: `act` runs a workflow on this machine, with a repository, an event and a stand-in for the API.

Belongs here: setting up and reading what came of it. Does not belong here: expectations (the tests), the API's
stand-in (tests.github_api). ``run_action`` in conftest gives one to a test.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
UPLOAD = "actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a"
DOWNLOAD = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c"
SETUP_PYTHON = "actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97"
CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1"
# What act's own artifact server and GitHub's client do not agree on: a folder stands in for the store.
_STAND_INS = {
    UPLOAD: """
name: upload
inputs: {name: {required: true}, path: {required: true}, if-no-files-found: {default: ""}, retention-days: {default: ""}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {NAME: "${{ inputs.name }}", FROM: "${{ inputs.path }}"}
      run: mkdir -p "$TEST_ARTIFACTS" && cp -r "$FROM" "$TEST_ARTIFACTS/$NAME"
""",
    DOWNLOAD: """
name: download
inputs: {pattern: {default: ""}, path: {required: true}, merge-multiple: {default: ""}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {PATTERN: "${{ inputs.pattern }}", INTO: "${{ inputs.path }}"}
      run: mkdir -p "$INTO" && for each in "$TEST_ARTIFACTS"/$PATTERN; do if [ -e "$each" ]; then cp -r "$each" "$INTO/"; fi; done
""",
    SETUP_PYTHON: """
name: setup
inputs: {python-version: {default: ""}}
runs: {using: composite, steps: [{shell: bash, run: "true"}]}
""",
}


@dataclass(frozen=True, kw_only=True)
class Played:
    """What came of a workflow. ``outputs`` are those of the step with the id `gate`, of all jobs together."""

    status: int
    outputs: dict[str, str]
    summary: str
    log: str
    commands: tuple[tuple[str, dict[str, str], str], ...]
    artifacts: Path
    results: Mapping[str, str] = field(default_factory=dict)

    def artifact(self, name: str) -> Any:
        """A JSON file of the one artifact that has it."""
        [path] = self.artifacts.rglob(name)
        return json.loads(path.read_text())


@dataclass(kw_only=True)
class Stage:
    """``action`` is a copy of the action as it would be checked out; ``venvs`` keeps its environment between runs."""

    place: Path
    action: Path
    venvs: Path
    python: str

    def play(
        self,
        workflow: str | Path,
        event_name: str,
        event: Mapping[str, Any],
        repository: Path,
        *,
        api: str = "",
        token: str = "",
        env: Mapping[str, str] | None = None,
        inputs: Sequence[str] = (),
    ) -> Played:
        """Run a workflow (its text, or its file) on an event."""
        self.place.mkdir(parents=True, exist_ok=True)
        file = workflow if isinstance(workflow, Path) else self.place / "workflow.yml"
        if not isinstance(workflow, Path):
            file.write_text(workflow)
        (self.place / "event.json").write_text(json.dumps(event))
        stand_ins = self._stand_ins()
        artifacts = self.place / "artifacts"
        told = {
            "TEST_ARTIFACTS": str(artifacts),
            "GITHUB_API_URL": api or "http://127.0.0.1:9",
            "GITHUB_REPOSITORY": "owner/project",
            "GITHUB_RUN_ID": "5",
            "GATE_VENVS": str(self.venvs),
            **(env or {}),
        }
        argv = [
            *(str(Path(sys.executable).parent / "act"), event_name, "--json", "-W", str(file)),
            *(
                "-e",
                str(self.place / "event.json"),
                "-P",
                "ubuntu-24.04=-self-hosted",
                "-P",
                "ubuntu-latest=-self-hosted",
            ),
            *("--artifact-server-addr", "127.0.0.1", "--cache-server-addr", "127.0.0.1", "--no-cache-server"),
            *(word for name, value in told.items() for word in ("--env", f"{name}={value}")),
            *(word for name, at in stand_ins.items() for word in ("--local-repository", f"{name}={at}")),
            *(("-s", f"GITHUB_TOKEN={token}") if token else ()),
            *inputs,
        ]
        home = {**os.environ, "XDG_CACHE_HOME": str(self.place / "cache")}
        home.pop("PYTHONDONTWRITEBYTECODE", None)
        done = subprocess.run(argv, check=False, cwd=repository, env=home, capture_output=True, text=True, timeout=280)
        return _read(done, artifacts)

    def _stand_ins(self) -> dict[str, Path]:
        found = {"org/repro-gate@v1": self.action}
        for name, text in _STAND_INS.items():
            at = self.place / "actions" / name.partition("@")[0]
            at.mkdir(parents=True, exist_ok=True)
            (at / "action.yml").write_text(text)
            found[name] = at
        return found


def exported(into: Path) -> Path:
    """The action as it is checked out for a workflow: what is in the repository, and nothing that was made there."""
    for name in ("ci_gate", "pytest_plugin", "requirements"):
        shutil.copytree(ROOT / name, into / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "action.yml", into)
    return into


def _read(done: subprocess.CompletedProcess[str], artifacts: Path) -> Played:
    outputs: dict[str, str] = {}
    summaries: list[str] = []
    commands: list[tuple[str, dict[str, str], str]] = []
    lines: list[str] = []
    results: dict[str, str] = {}
    for line in done.stdout.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            lines.append(line)
            continue
        lines.append(f"{said.get('job', '')}: {said.get('msg', '').rstrip()}")
        name = said.get("command")
        if name == "set-output" and said.get("stepID") == ["gate"]:
            outputs[said["name"]] = said["arg"]
        elif name == "summary":
            summaries.append(said.get("content") or said.get("arg") or "")
        elif name in ("error", "warning", "notice"):
            commands.append((name, said.get("kvPairs") or {}, said.get("arg", "")))
        if "jobResult" in said:
            results[said.get("jobID", "")] = said["jobResult"]
    return Played(
        status=done.returncode,
        outputs=outputs,
        summary="\n".join(summaries),
        log="\n".join(lines) + done.stderr,
        commands=tuple(commands),
        artifacts=artifacts,
        results=results,
    )
