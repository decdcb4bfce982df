"""Every command of the documentation is run as it is printed, in the small project of the README.

A ``$`` line of a console block must exit with 0, or with the code that its comment names
(``# exit code 1``). What is shown below it must be in its output: numbers and ids may differ,
``…`` stands for anything. The project's configuration makes campaigns short, so the commands
themselves need no options for that.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

# Blocks that cannot be run here, by the beginning of their command, and why.
NOT_RUN = {
    "make demo": "takes minutes; CI has a job for it",
    "make test": "would run this test again",
    "pip install": "needs a package index; the product is installed already",
    "pipx install": "needs a package index, and a program that a machine may not have",
}
NEEDS = ("unzip",)  # programs that a machine may not have

# A bug that the branch `fix` mends, with a test for it.
TILL = {
    "till.py": "def total(prices, discount=0):\n    return sum(prices) - 2 * discount\n",
    "tests/test_till.py": "from till import total\n\n\ndef test_plain():\n    assert total([1, 2]) == 3\n",
}

SHORT = """\
[tool.repro-gate]
runs = 4
replays = 2
seed = 1
axes = ["order", "hash-seed"]
"""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A ``$`` line, the exit code that it announces, and what is shown below it."""

    line: str
    expected: int = 0
    shown: tuple[str, ...] = ()


def commands_of(block: str) -> list[Command]:
    """The commands of a console block. Raises AssertionError where it begins with no command."""
    found: list[Command] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            code = re.search(r"# exit code (\d+)", line)
            found.append(Command(line=line[2:], expected=int(code[1]) if code else 0))
        else:
            assert found, f"output before any command: {line}"
            last = found[-1]
            found[-1] = Command(line=last.line, expected=last.expected, shown=(*last.shown, line))
    return found


def missing(shown: tuple[str, ...], output: str) -> list[str]:
    """Pieces of shown output that the real one does not have."""
    real = _without_numbers(output)
    pieces = [piece.strip() for line in shown for piece in line.split("…")]
    return [piece for piece in pieces if piece and _without_numbers(piece) not in real]


def _without_numbers(text: str) -> str:
    text = re.sub(r"\b[0-9a-f]{16}\b", "ID", text)
    text = re.sub(r"\d+(\.\d+)?", "N", text)
    return re.sub(r"\s+", " ", text)


def console_blocks() -> Iterator[tuple[str, list[Command]]]:
    for path in PAGES:
        blocks = re.findall(r"^```console\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        for number, block in enumerate(blocks):
            yield f"{path.relative_to(ROOT).as_posix()}-{number}", commands_of(block)


def why_not(block: list[Command]) -> str:
    """Why a block is not run, or an empty string."""
    for command in block:
        for beginning, reason in NOT_RUN.items():
            if command.line.startswith(beginning):
                return reason
    return ""


BLOCKS = dict(console_blocks())
RUN = [name for name, block in BLOCKS.items() if not why_not(block)]


# --- the project -----------------------------------------------------------------------------


def environment(line: str) -> dict[str, str]:
    """A user's shell with repro-gate installed, and no other plugin where the command does not start pytest itself."""
    ours = ("REPRO_GATE_", "PYTEST_", "COV_", "COVERAGE_", "GIT_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    env.pop("VIRTUAL_ENV", None)
    path = os.pathsep.join((str(Path(sys.executable).parent), env.get("PATH", os.defpath)))
    if not line.startswith(("pytest", "python -m pytest")):
        env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # most of the time of a start
    return {**env, "PATH": path, "COLUMNS": "110", "NO_COLOR": "1"}


def shell(line: str, directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line],
        cwd=directory,
        env=environment(line),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The README's project under git, on a branch that mends something, and a pinned capsule of it."""
    project = tmp_path_factory.mktemp("documented") / "project"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    files = re.findall(r"^```python\n# (\S+)\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert len(files) > 1
    for name, content in files:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(content, encoding="utf-8")
    (project / "pyproject.toml").write_text(SHORT, encoding="utf-8")
    (project / ".gitignore").write_text(".repro-gate/\n*.zip\n", encoding="utf-8")
    git = "git -c user.name=tester -c user.email=tester@example.invalid -c commit.gpgsign=false"
    for name, content in TILL.items():
        (project / name).write_text(content, encoding="utf-8")
    made = shell(f"git init -q -b main && git add -A && {git} commit -q -m first && git checkout -q -b fix", project)
    assert made.returncode == 0, made.stdout
    (project / "till.py").write_text(TILL["till.py"].replace("2 * ", ""), encoding="utf-8")
    with (project / "tests/test_till.py").open("a", encoding="utf-8") as tests:
        tests.write("\n\ndef test_discount():\n    assert total([1, 2], discount=1) == 2\n")
    made = shell(f"{git} commit -q -a -m 'Fix the discount'", project)
    assert made.returncode == 0, made.stdout
    done = shell("repro-gate scan --capsules ../capsules tests/test_basket.py", project)
    assert done.returncode == 1, done.stdout
    (capsule,) = (project.parent / "capsules").glob("capsule-*.zip")
    return project, capsule


@pytest.fixture
def project(scanned: tuple[Path, Path], tmp_path: Path) -> Path:
    """A copy of the project, with the capsule wherever the documentation names one."""
    original, capsule = scanned
    copy = tmp_path / "project"
    shutil.copytree(original, copy, symlinks=True)
    lines = "\n".join(command.line for block in BLOCKS.values() for command in block)
    for name in sorted(set(re.findall(r"[\w./-]*capsule-[0-9a-f]{16}\.zip", lines))):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(capsule, copy / name)
    return copy


# --- the tests -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name.startswith("README") else pytest.mark.deep) for name in RUN]
)
def test_a_documented_block_does_what_it_says(name: str, project: Path) -> None:
    for program in NEEDS:
        if any(program in command.line for command in BLOCKS[name]) and shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    for command in BLOCKS[name]:
        done = shell(command.line, project)
        assert done.returncode == command.expected, f"$ {command.line}\n{done.stdout}"
        assert missing(command.shown, done.stdout) == [], f"$ {command.line}\n{done.stdout}"


def test_there_are_blocks_and_each_reason_not_to_run_one_is_needed() -> None:
    assert len(RUN) > 10
    lines = [command.line for block in BLOCKS.values() for command in block]
    assert [beginning for beginning in NOT_RUN if not any(line.startswith(beginning) for line in lines)] == []


def test_a_block_is_read_with_exit_codes_and_output() -> None:
    block = "$ one  # exit code 3: so it is\nfirst …\n\n$ two\n"
    assert commands_of(block) == [
        Command(line="one  # exit code 3: so it is", expected=3, shown=("first …", "")),
        Command(line="two"),
    ]


def test_output_that_is_not_there_is_noticed() -> None:
    real = "flaky\n  tests/a.py::b\n  failures: 25 % (7.1 to 59 %)\n"
    assert missing(("flaky", "  failures: 50 % (1 to 99 %)", "…", "failures: …"), real) == []
    assert missing(("stable", "failures: … of", "  tests/a.py::c"), real) == ["stable", "of", "tests/a.py::c"]
