"""A capsule on its way: replayed, shown, verified, unpacked, and refused where it is not what it says."""

from __future__ import annotations

import io
import json
import shutil
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import MakeProject
from tests.e2e.conftest import Scanned, Shell, of


@pytest.fixture
def capsule(scanned: Scanned, tmp_path: Path) -> Path:
    """The capsule of the test that follows the zone, far from where it was made."""
    place = tmp_path / "down loads"
    place.mkdir()
    return Path(shutil.copy(scanned.capsule("test_zone"), place))


@pytest.mark.parametrize("name", ["test_draw", "test_zone"])
def test_the_same_failure_comes_back_in_a_colleagues_checkout(
    name: str, shell: Shell, scanned: Scanned, checkout: Path
) -> None:
    done = shell.gate("replay", str(scanned.capsule(name)), "--sandbox", "host", cwd=checkout)
    assert done.code == 0, done
    assert "2 of 2 replays showed the same failure" in done.out
    assert done.out.count("same failure  failed: ") == 2


def test_it_is_replayed_as_often_as_asked_for_and_from_anywhere(shell: Shell, capsule: Path, checkout: Path) -> None:
    arguments = ("--repo", str(checkout), "--times", "1", "--sandbox", "host")
    done = shell.gate("replay", str(capsule), *arguments, cwd=capsule.parent)
    assert done.code == 0, done
    assert "1 of 1 replays" in done.out


def test_a_directory_in_the_checkout_names_the_checkout(
    shell: Shell, capsule: Path, checkout: Path, tmp_path: Path
) -> None:
    (checkout / ".git").mkdir()
    (checkout / "deep" / "down").mkdir(parents=True)
    arguments = ("--repo", "checkout/deep/down", "--times", "1", "--sandbox", "host")
    done = shell.gate("replay", str(capsule), *arguments, cwd=tmp_path)
    assert done.code == 0, done
    assert "1 of 1 replays" in done.out


def test_after_the_fix_it_does_not_come_back_and_the_exit_code_says_so(
    shell: Shell, capsule: Path, checkout: Path
) -> None:
    path = checkout / "test_flaky.py"
    fixed = path.read_text(encoding="utf-8").replace("fromtimestamp(0)", "fromtimestamp(0, datetime.timezone.utc)")
    path.write_text(fixed, encoding="utf-8")
    done = shell.gate("replay", str(capsule), "--sandbox", "host", cwd=checkout)
    assert done.code == 1, done
    assert "DIFFERENT (passed where failed was expected)" in done.out
    assert "0 of 2 replays of test_flaky.py::test_zone showed the expected failure." in done.words
    assert "next: It passed each time. If it was mended, nothing is left to do: the failure is gone." in done.words


def test_another_failure_of_the_same_test_is_not_taken_for_the_expected_one(
    shell: Shell, capsule: Path, checkout: Path
) -> None:
    path = checkout / "test_flaky.py"
    path.write_text(
        path.read_text(encoding="utf-8").replace('hour == 0, "not midnight"', "no_such_name"), encoding="utf-8"
    )
    done = shell.gate("replay", str(capsule), "--sandbox", "host", "--times", "1", cwd=checkout)
    assert done.code == 1, done
    assert "DIFFERENT (another failure)" in done.out
    assert "mended" not in done.words


def test_another_head_is_for_proofs_alone(shell: Shell, capsule: Path, checkout: Path) -> None:
    done = shell.gate("replay", str(capsule), "--head", "main", cwd=checkout)
    assert done.code == 2, done
    assert "`--head` is for the capsule of a proof" in done.words
    assert "next:" in done.err


def test_a_directory_that_is_not_there_is_a_usage_error(shell: Shell, capsule: Path, tmp_path: Path) -> None:
    done = shell.gate("replay", str(capsule), "--repo", str(tmp_path / "nowhere"), cwd=tmp_path)
    assert done.code == 2, done
    assert "is not a checkout of the capsule's project" in done.words


def test_a_directory_that_is_another_project_is_a_usage_error(shell: Shell, capsule: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    done = shell.gate("replay", str(capsule), "--repo", str(other), "--sandbox", "host", cwd=tmp_path)
    assert done.code == 2, done
    assert "is not a checkout of the capsule's project" in done.words
    assert "test_flaky.py" in done.words


def test_a_checkout_without_the_test_is_no_answer(shell: Shell, capsule: Path, checkout: Path) -> None:
    (checkout / "test_flaky.py").write_text("def test_other():\n    pass\n", encoding="utf-8")
    done = shell.gate("replay", str(capsule), "--sandbox", "host", "--times", "1", cwd=checkout)
    assert done.code == 3, done
    assert "test_flaky.py::test_zone could not be run in" in done.words
    assert "has no such test" in done.words


def test_a_script_without_a_python_that_has_pytest_says_so(
    shell: Shell, capsule: Path, checkout: Path, tmp_path: Path
) -> None:
    assert shell.gate("capsule", "unpack", str(capsule), str(tmp_path / "to"), cwd=checkout).code == 0
    venv.create(tmp_path / "bare", with_pip=False)
    said = {str(tmp_path / "none"): "there is no", str(tmp_path / "bare/bin/python"): "has no pytest"}
    for python, words in said.items():
        script = str(tmp_path / "to/repro.sh")
        done = shell.run(script, "--repo", str(checkout), cwd=tmp_path, env={"PYTHON": python})
        assert done.code == 3, done
        assert words in done.words
        assert "PYTHON=..." in done.words


# The failure tells whether the working directory was importable, so a replay that differs in it is another failure.
ON_PATH = """\
    import os, sys, time

    def test_zone():
        assert time.timezone == 0, "importable" if os.getcwd() in sys.path else "hidden"
    """


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize(
    ("door", "said"),
    [(("pytest",), "hidden"), pytest.param(("python", "-m", "pytest"), "importable", marks=pytest.mark.deep)],
)
def test_both_replays_start_pytest_as_the_scan_did(
    door: tuple[str, ...], said: str, shell: Shell, project: MakeProject, tmp_path: Path
) -> None:
    place = project({"pyproject.toml": of("timezone"), "tests/test_path.py": ON_PATH})
    env = {"REPRO_GATE_SANDBOX": "host"}
    options = ("--repro-flake-check=4", "--repro-seed=3", "--repro-capsules=caps", "tests")
    done = shell.run(*door, *options, cwd=place, env=env, plugins=True)
    assert done.code == 1, done
    (made,) = (place / "caps").glob("capsule-*.zip")

    done = shell.gate("replay", str(made), "--times", "1", "--sandbox", "host", cwd=place)
    assert done.code == 0, done
    assert f"same failure  failed: {said}" in done.out

    assert shell.gate("capsule", "unpack", str(made), str(tmp_path / "to"), cwd=place).code == 0
    done = shell.run(str(tmp_path / "to/repro.sh"), "--repo", str(place), "--times", "1", cwd=tmp_path)
    assert done.code == 0, done
    assert f"same failure  failed: {said}" in done.out


# --- looked into -----------------------------------------------------------------------------


def test_it_says_what_fails_and_why_and_how_to_replay_it(shell: Shell, capsule: Path, tmp_path: Path) -> None:
    done = shell.gate("capsule", "show", str(capsule), cwd=tmp_path)
    assert done.code == 0, done
    for words in ("test_flaky.py::test_zone", "timezone", "not midnight", "2 of 2"):
        assert words in done.out


def test_every_check_of_a_fresh_capsule_holds(shell: Shell, capsule: Path, tmp_path: Path) -> None:
    done = shell.gate("capsule", "verify", str(capsule), cwd=tmp_path)
    assert done.code == 0, done
    assert "BAD" not in done.out
    assert done.out.count("ok  ") >= 3


def test_unpacked_it_is_replayed_by_its_own_script_with_nothing_but_pytest(
    shell: Shell, capsule: Path, checkout: Path, tmp_path: Path, bare_python: Path
) -> None:
    place = tmp_path / "un packed"
    done = shell.gate("capsule", "unpack", str(capsule), str(place), cwd=tmp_path)
    assert done.code == 0, done
    env = {"PYTHON": str(bare_python)}
    script = str(place / "repro.sh")
    printed = done.out.strip().removeprefix("unpacked; to replay in a checkout: ")
    done = shell.run("sh", "-c", printed, cwd=checkout, env=env)
    assert done.code == 0, done
    assert "2 of 2 replays showed the same failure" in done.out
    assert not (checkout / "__pycache__").exists()

    path = checkout / "test_flaky.py"
    path.write_text("def test_zone():\n    pass\n", encoding="utf-8")
    done = shell.run(script, "--repo", str(checkout), "--times", "1", cwd=tmp_path, env=env)
    assert done.code == 1, done
    assert "0 of 1 replays showed the same failure" in done.out

    path.write_text("def test_other():\n    pass\n", encoding="utf-8")
    done = shell.run(script, "--repo", str(checkout), "--times", "1", cwd=tmp_path, env=env)
    assert done.code == 3, done
    assert "this checkout has no test test_flaky.py::test_zone" in done.err


DAEMON = """
def daemon():
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
"""


@pytest.mark.parametrize("by", ["the script", "repro-gate"])
def test_a_daemon_that_the_replayed_test_leaves_is_ended(
    by: str, shell: Shell, capsule: Path, checkout: Path, tmp_path: Path
) -> None:
    path = checkout / "test_flaky.py"
    text = path.read_text(encoding="utf-8").replace("def test_zone():\n", "def test_zone():\n    daemon()\n")
    path.write_text(text + DAEMON, encoding="utf-8")
    if by == "the script":
        with zipfile.ZipFile(capsule) as file:
            file.extractall(tmp_path / "unpacked")
        command = ["sh", str(tmp_path / "unpacked" / "repro.sh"), "--repo", str(checkout)]
    else:
        command = ["repro-gate", "replay", str(capsule), "--repo", str(checkout), "--sandbox", "host"]
    done = shell.run(*command, cwd=tmp_path, env={"PYTHON": sys.executable})  # it also looks for what is left
    assert done.code == 0, done


def test_it_is_not_unpacked_over_what_is_there(shell: Shell, capsule: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").write_text("mine", encoding="utf-8")
    done = shell.gate("capsule", "unpack", str(capsule), str(tmp_path / "there"), cwd=tmp_path)
    assert done.code == 2, done
    assert "is not empty" in done.words
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["mine"]


# --- refused ---------------------------------------------------------------------------------


def members(capsule: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(capsule) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(files: list[tuple[str, bytes]]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def with_manifest(capsule: Path, **changes: object) -> list[tuple[str, bytes]]:
    files = members(capsule)
    manifest = {**json.loads(files["manifest.json"]), **changes}
    return list({**files, "manifest.json": json.dumps(manifest).encode()}.items())


HOSTILE = {
    "a way out": "..",
    "an absolute path": "absolute",
    "a changed manifest": "it was changed",
    "an unknown key": "extra_key",
    "junk": "zip",
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("command", ["replay", "unpack"])
def test_a_hostile_capsule_is_refused_by_name_before_anything_of_it_is_used(
    kind: str, command: str, shell: Shell, capsule: Path, checkout: Path, tmp_path: Path
) -> None:
    files = list(members(capsule).items())
    made: dict[str, Callable[[], bytes]] = {
        "a way out": lambda: zipped([*files, ("../../evil.py", b"x")]),
        "an absolute path": lambda: zipped([*files, ("/tmp/evil.py", b"x")]),
        "a changed manifest": lambda: zipped(with_manifest(capsule, pytest_args=["-p", "evil"])),
        "an unknown key": lambda: zipped(with_manifest(capsule, extra_key=1)),
        "junk": lambda: b"no zip at all",
    }
    bad = tmp_path / "capsule-0123456789abcdef.zip"
    bad.write_bytes(made[kind]())
    before = sorted(tmp_path.rglob("*"))
    arguments = {"replay": ("replay", str(bad)), "unpack": ("capsule", "unpack", str(bad), str(tmp_path / "to"))}
    done = shell.gate(*arguments[command], cwd=checkout)
    assert done.code == 2, done
    assert "error:" in done.err
    assert HOSTILE[kind] in done.words
    assert sorted(tmp_path.rglob("*")) == before
