"""The action and every workflow, read as GitHub and its users' linters read them: not one finding."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
OFFERED = sorted((ROOT / "workflows").glob("*.yml"))
OWN = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ALL = [ROOT / "action.yml", *OFFERED, *OWN]


def ran(*words: object) -> subprocess.CompletedProcess[str]:
    argv = [str(BIN / str(words[0])), *map(str, words[1:])]
    return subprocess.run(argv, check=False, capture_output=True, text=True, cwd=ROOT, timeout=120)


def findings(*files: Path) -> list[str]:
    done = ran("zizmor", "--offline", "--no-config", "--persona=pedantic", "--format=json", *files)
    return [f"{each['ident']}: {each['desc']}" for each in json.loads(done.stdout)]


def test_nothing_is_found_by_the_strictest_reader() -> None:
    assert findings(*ALL) == []


def test_the_strictest_reader_finds_what_it_should(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yml"
    bad.write_text('on: push\njobs:\n  x:\n    runs-on: a\n    steps:\n      - run: echo "${{ github.head_ref }}"\n')
    assert any(each.startswith("template-injection") for each in findings(bad))


@pytest.mark.parametrize("path", [*OFFERED, *OWN], ids=lambda path: path.name)
def test_a_workflow_is_one_to_github(path: Path) -> None:
    done = ran("check-jsonschema", "--builtin-schema", "vendor.github-workflows", path)
    assert done.returncode == 0, done.stdout
    done = ran("actionlint", "-no-color", path)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_action_is_one_to_github() -> None:
    done = ran("check-jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml")
    assert done.returncode == 0, done.stdout
    done = ran("shellcheck", "ci_gate/entry.sh")
    assert (done.returncode, done.stdout) == (0, "")


def test_each_third_party_action_is_pinned_to_the_same_commit_everywhere() -> None:
    pins: dict[str, set[str]] = {}
    for path in ALL:
        for name, commit, version in re.findall(r"uses: (actions/[\w-]+)@([0-9a-f]{40}) # (v[\d.]+)", path.read_text()):
            pins.setdefault(name, set()).add(f"{commit} {version}")
    assert len(pins) == 4
    assert all(len(found) == 1 for found in pins.values()), pins


@pytest.mark.parametrize("path", OFFERED, ids=lambda path: path.name)
def test_a_workflow_explains_itself_and_begins_without_permissions(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("# ")
    assert "\npermissions: {}\n" in text
    assert "persist-credentials: false" in text or "actions/checkout" not in text
