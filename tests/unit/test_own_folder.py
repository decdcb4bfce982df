"""What this tool leaves in a project is no change of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro_gate.change import head
from repro_gate.gates.mutation.wording import FOUND_BY_ITSELF
from repro_gate.pipeline import own_folder
from tests.gitrepo import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo.new(tmp_path / "repo")
    made.commit({"a.py": "x = 1\n", "sub/b.py": "y = 1\n", "kept.md": "old\n"})
    return made


def test_reports_that_it_wrote_leave_the_work_tree_clean_and_other_files_do_not(repo: Repo) -> None:
    written = [repo.path / "report.json", repo.path / "out" / "s.md"]
    written[1].parent.mkdir()
    for path in written:
        path.write_text("{}", encoding="utf-8")
    assert head(repo.path).dirty
    own_folder.remember(repo.path, written)
    assert not head(repo.path).dirty
    assert repo.git("status", "--porcelain") == "?? out/\n?? report.json", "of what is beside them git sees nothing"
    (repo.path / "out" / "mine.py").write_text("z = 1\n", encoding="utf-8")
    assert head(repo.path).dirty


def test_a_report_that_is_written_over_a_committed_file_is_a_change(repo: Repo) -> None:
    (repo.path / "kept.md").write_text("new\n", encoding="utf-8")
    own_folder.remember(repo.path, [repo.path / "kept.md"])
    assert head(repo.path).dirty


def test_below_the_top_of_the_repository_names_count_from_where_the_tool_stood(repo: Repo) -> None:
    below = repo.path / "sub"
    (below / "r ü.json").write_text("{}", encoding="utf-8")
    own_folder.remember(below, [below / "r ü.json"])
    assert not head(below).dirty


def test_each_name_is_noted_once_and_those_elsewhere_not_at_all(repo: Repo, tmp_path: Path) -> None:
    for _ in range(3):
        own_folder.remember(repo.path, [repo.path / "b.json", tmp_path / "outside.json"])
    own_folder.remember(repo.path, [repo.path / "a.json"])
    assert (repo.path / ".repro-gate" / "written").read_text(encoding="utf-8") == "b.json\na.json\n"
    own_folder.remember(repo.path / "sub", [tmp_path / "outside.json"])
    assert not (repo.path / "sub" / ".repro-gate").exists()


def test_the_report_that_is_kept_is_the_one_that_is_found_by_itself() -> None:
    assert FOUND_BY_ITSELF[0] == own_folder.REPORT
