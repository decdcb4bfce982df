"""Base and head are found in every shape of clone, and the clone stays as it was."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from repro_gate.change.repository import open_repository
from repro_gate.change.resolver import How, Pair, resolve
from repro_gate.errors import HistoryMissing, UsageError
from tests.gitrepo import GIT_ENV, Repo

ZERO = "0" * 40


@dataclass(frozen=True)
class Remote:
    """main: root - fork - moved; feature from fork: one - two; merge = moved + two, as GitHub makes it."""

    repo: Repo
    root: str
    fork: str
    moved: str
    two: str
    merge: str


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    repo = Repo.new(tmp_path / "remote")
    root = repo.commit({"a.py": "1\n"})
    fork = repo.commit({"a.py": "2\n"})
    repo.switch("feature", fork)
    repo.commit({"b.py": "1\n"})
    two = repo.commit({"b.py": "2\n"})
    repo.switch("main")
    moved = repo.commit({"c.py": "1\n"})
    repo.git("checkout", "--quiet", "--detach", "main")
    merge = repo.merge("feature")
    repo.git("update-ref", "refs/pull/7/merge", merge)
    repo.git("update-ref", "refs/pull/7/head", two)
    repo.switch("main")
    return Remote(repo, root, fork, moved, two, merge)


def pull_request(remote: Remote, **changes: Any) -> Mapping[str, Any]:
    return {
        "pull_request": {
            "head": {"sha": changes.get("head", remote.two)},
            "base": {"sha": changes.get("base", remote.fork), "ref": "main"},
            "merge_commit_sha": changes.get("merge"),
        },
        "repository": {"default_branch": "main"},
    }


def found(
    clone: Repo, event: Mapping[str, Any] | None = None, *, base: str | None = None, head: str | None = None
) -> Pair:
    """Resolve, and see that nothing of the clone changed but its objects and where its history is cut."""
    before, was_shallow = clone.state(), clone.is_shallow()
    pair = resolve(clone.opened, base=base, head=head, event=event)
    assert clone.state() == before
    assert was_shallow or not clone.is_shallow()
    for commit in (pair.base_sha, pair.head_sha):
        clone.git("ls-tree", "-r", commit)
    return pair


def shas(pair: Pair) -> tuple[str, str]:
    return pair.base_sha, pair.head_sha


def test_the_merge_commit_at_depth_1_is_compared_with_its_first_parent(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.fetched(tmp_path / "c", "+refs/pull/7/merge:refs/remotes/pull/7/merge", "--depth=1")
    pair = found(clone, pull_request(remote))
    assert shas(pair) == (remote.moved, remote.merge)
    assert pair.how is How.MERGE_COMMIT
    assert "had moved" in pair.notes[0]


def test_the_merge_ref_is_known_without_an_event(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.fetched(tmp_path / "c", "+refs/pull/7/merge:refs/remotes/pull/7/merge", "--depth=1")
    assert shas(found(clone)) == (remote.moved, remote.merge)


@pytest.mark.parametrize("depth", ["--depth=1", "--depth=2", "--no-auto-maintenance"])
def test_a_rerun_after_main_moved_again_has_the_same_pair(remote: Remote, tmp_path: Path, depth: str) -> None:
    remote.repo.commit({"d.py": "later\n"})
    clone = remote.repo.fetched(tmp_path / "c", remote.merge, depth)
    assert shas(found(clone, pull_request(remote))) == (remote.moved, remote.merge)


def test_a_merge_of_an_older_head_is_known_by_the_events_merge_commit(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.fetched(tmp_path / "c", remote.merge, "--depth=1")
    pair = found(clone, pull_request(remote, head="1" * 40, merge=remote.merge))
    assert shas(pair) == (remote.moved, remote.merge)
    assert any("not the event's head" in note for note in pair.notes)


@pytest.mark.parametrize("depth", ["--depth=1", "--no-auto-maintenance"])
def test_the_pull_requests_own_commit_is_compared_with_where_it_left(
    remote: Remote, tmp_path: Path, depth: str
) -> None:
    clone = remote.repo.fetched(tmp_path / "c", remote.two, depth)
    pair = found(clone, pull_request(remote, base=remote.moved))
    assert shas(pair) == (remote.fork, remote.two)
    assert pair.how is How.PULL_REQUEST


@pytest.mark.parametrize("depth", ["--depth=1", "--no-auto-maintenance"])
def test_a_branch_that_merged_main_is_not_compared_with_its_own_first_parent(
    remote: Remote, tmp_path: Path, depth: str
) -> None:
    remote.repo.switch("feature")
    updated = remote.repo.merge("main", "Merge main into feature")
    clone = remote.repo.fetched(tmp_path / "c", updated, depth)
    # For a change that was merged, GitHub's merge commit is what landed.
    for merge in (None, updated):
        pair = found(clone, pull_request(remote, head=updated, base=remote.moved, merge=merge))
        assert shas(pair) == (remote.moved, updated)


def test_a_stale_base_of_the_event_gives_way_to_the_branch(remote: Remote, tmp_path: Path) -> None:
    remote.repo.switch("feature")
    updated = remote.repo.merge("main")
    clone = remote.repo.clone(tmp_path / "c")
    clone.git("checkout", "--quiet", "--detach", updated)
    assert shas(found(clone, pull_request(remote, head=updated, base=remote.root))) == (remote.moved, updated)


def test_a_change_that_was_merged_since_is_not_compared_with_itself(remote: Remote, tmp_path: Path) -> None:
    remote.repo.merge("feature")
    clone = remote.repo.clone(tmp_path / "c")
    clone.git("checkout", "--quiet", "--detach", remote.two)
    pair = found(clone, pull_request(remote))
    assert shas(pair) == (remote.fork, remote.two)
    assert not pair.nothing_changed


def test_a_merge_queue_names_both_commits(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.fetched(tmp_path / "c", remote.merge, "--depth=1")
    pair = found(clone, {"merge_group": {"head_sha": remote.merge, "base_sha": remote.moved}})
    assert (*shas(pair), pair.how, pair.notes) == (remote.moved, remote.merge, How.MERGE_QUEUE, ())


def test_the_queues_head_is_fetched_where_another_commit_is_checked_out(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.fetched(tmp_path / "c", "main", "--depth=1")
    pair = found(clone, {"merge_group": {"head_sha": remote.merge, "base_sha": remote.moved}})
    assert shas(pair) == (remote.moved, remote.merge)
    assert "is checked out" in pair.notes[0]


def push(before: str, after: str, ref: str = "refs/heads/feature", **more: Any) -> Mapping[str, Any]:
    return {"before": before, "after": after, "ref": ref, "repository": {"default_branch": "main"}, **more}


@pytest.mark.parametrize("depth", ["--depth=1", "--no-auto-maintenance"])
def test_a_push_is_compared_with_what_was_there_before(remote: Remote, tmp_path: Path, depth: str) -> None:
    clone = remote.repo.fetched(tmp_path / "c", "main", depth)
    pair = found(clone, push(remote.root, remote.moved, "refs/heads/main"))
    assert (*shas(pair), pair.how) == (remote.root, remote.moved, How.PUSH)


@pytest.mark.parametrize("depth", ["--depth=1", "--no-auto-maintenance"])
@pytest.mark.parametrize("more", [{"before": ZERO}, {"before": "1" * 40}, {"forced": True}])
def test_a_new_or_rewritten_branch_is_compared_with_where_it_left_main(
    remote: Remote, tmp_path: Path, depth: str, more: dict[str, Any]
) -> None:
    clone = remote.repo.fetched(tmp_path / "c", remote.two, depth)
    pair = found(clone, {**push(remote.root, remote.two), **more})
    assert (*shas(pair), pair.how) == (remote.fork, remote.two, How.DEFAULT_BRANCH)
    assert pair.notes


def test_a_rewritten_default_branch_is_compared_with_where_the_histories_part(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c")
    clone.git("checkout", "--quiet", "--detach", remote.two)
    assert found(clone, push(remote.moved, remote.two, "refs/heads/main", forced=True)).base_sha == remote.fork


@pytest.mark.parametrize(("before", "after"), [(ZERO, None), (None, ZERO)])
def test_a_first_push_and_a_deleted_branch_change_nothing(
    remote: Remote, tmp_path: Path, before: str | None, after: str | None
) -> None:
    clone = remote.repo.clone(tmp_path / "c")
    event = push(before or remote.root, after or remote.moved, "refs/heads/main")
    pair = found(clone, event)
    assert pair.nothing_changed
    assert "nothing changed" in pair.notes[-1]


def test_without_an_event_the_remotes_default_branch_is_the_base(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c", "--branch=feature")
    pair = found(clone, {"title": "x", "body": "", "labels": [], "author": "me"})
    assert (*shas(pair), pair.how) == (remote.fork, remote.two, How.DEFAULT_BRANCH)


@pytest.mark.parametrize("name", ["main", "origin/main"])
def test_a_given_base_is_the_place_where_head_left_it(remote: Remote, tmp_path: Path, name: str) -> None:
    clone = remote.repo.clone(tmp_path / "c", "--branch=feature")
    pair = found(clone, base=name)
    assert (*shas(pair), pair.how) == (remote.fork, remote.two, How.GIVEN)
    assert remote.moved[:12] in pair.notes[0]


def test_given_names_win_over_the_event(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c")
    assert shas(found(clone, pull_request(remote), base=remote.root, head=remote.fork)) == (remote.root, remote.fork)


def test_given_hashes_are_fetched_into_a_shallow_clone(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c", "--depth=1")
    assert shas(found(clone, base=remote.root, head=remote.two)) == (remote.root, remote.two)


def test_a_full_clone_that_lacks_a_commit_stays_full(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c", "--single-branch", "--branch=main")
    pair = found(clone, head=remote.two)
    assert shas(pair) == (remote.fork, remote.two)
    assert not (clone.path / ".git/shallow").exists()
    assert clone.git("rev-list", "--count", "main") == "3"


def test_a_full_clone_stays_full_also_where_no_history_is_needed(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c", "--single-branch", "--branch=main")
    found(clone, {"merge_group": {"head_sha": remote.merge, "base_sha": remote.moved}})
    assert not (clone.path / ".git/shallow").exists()
    assert clone.git("rev-list", "--count", remote.merge) == "6"


@pytest.mark.parametrize("name", ["nowhere", "nowhere~1", "--help", "", "deadbeef"])
def test_an_unknown_name_is_named(remote: Remote, name: str) -> None:
    with pytest.raises(UsageError, match="There is no commit") as refused:
        resolve(remote.repo.opened, base=name, head=None, event=None)
    assert repr(name) in str(refused.value)


def test_before_the_first_commit_and_behind_a_cut_there_is_nothing_to_compare_with(
    remote: Remote, tmp_path: Path
) -> None:
    with pytest.raises(HistoryMissing, match="does not go back so far") as missing:
        resolve(remote.repo.opened, base="main~99", head=None, event=None)
    assert "first commit" in missing.value.next_step
    clone = remote.repo.clone(tmp_path / "c", "--depth=1")
    with pytest.raises(HistoryMissing, match="behind the cut of this shallow clone") as missing:
        resolve(clone.opened, base="HEAD^", head=None, event=None)
    assert "fetch-depth: 0" in missing.value.next_step


def test_a_change_that_was_merged_since_says_so_where_no_older_place_is_known(remote: Remote, tmp_path: Path) -> None:
    merge = remote.repo.merge("feature")
    remote.repo.commit({"d.py": "1\n"})
    clone = remote.repo.clone(tmp_path / "c")
    clone.git("checkout", "--quiet", "--detach", remote.two)
    for pair in (found(clone), found(clone, base="main"), found(clone, pull_request(remote, base=remote.two))):
        assert pair.moved is not None
        assert merge[:12] in pair.moved.text
        assert pair.moved.next_step == f"Name the commit before the merge: `--base {remote.moved}`."
    again = found(clone, base=remote.moved)
    assert (*shas(again), again.moved) == (remote.fork, remote.two, None)


def test_a_pull_request_that_was_merged_without_a_merge_commit_says_so(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c", "--branch=main")
    clone.git("checkout", "--quiet", "--detach", remote.fork)
    pair = found(clone, pull_request(remote, head=remote.fork, base=remote.fork))
    assert pair.moved is not None
    assert "holds head" in pair.moved.text


def test_a_base_that_is_ahead_of_head_is_said(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c", "--branch=main")
    pair = found(clone, base="main", head=remote.fork)
    assert (pair.nothing_changed, pair.moved) == (True, None)
    assert pair.notes[-1].startswith(f"Base ({remote.moved[:12]}) is ahead of head ({remote.fork[:12]})")


def test_a_target_branch_that_was_rewritten_since_the_event_says_so(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c", "--branch=feature")
    remote.repo.git("reset", "--quiet", "--hard", remote.root)
    rewritten = remote.repo.commit({"e.py": "1\n"}, message="another history")
    clone.git("fetch", "--quiet", "origin")
    pair = found(clone, pull_request(remote, base=remote.moved))
    assert pair.moved is not None
    assert pair.moved.text.startswith("The target branch was rewritten")
    assert rewritten[:12] in pair.moved.text
    assert found(clone, pull_request(remote, base=remote.root)).moved is None


def test_an_unknown_hash_cannot_be_fetched(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c")
    with pytest.raises(HistoryMissing, match=r"1{40} is not in this clone"):
        resolve(clone.opened, base="1" * 40, head=None, event=None)


def test_a_shallow_clone_whose_remote_is_gone_says_so(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c", "--depth=1", "--no-single-branch", "--branch=feature")
    shutil.rmtree(remote.repo.path)
    with pytest.raises(HistoryMissing, match="shallow clone, and fetching more of it failed") as missing:
        resolve(clone.opened, base="main", head=None, event=None)
    assert "fetch-depth: 0" in missing.value.next_step


def test_histories_without_a_common_commit_are_told_apart_from_shallow_ones(remote: Remote) -> None:
    repo = remote.repo
    repo.git("switch", "--quiet", "--orphan", "other")
    repo.commit({"z": "z"})
    with pytest.raises(HistoryMissing, match="no common ancestor") as missing:
        resolve(repo.opened, base="main", head=None, event=None)
    assert "--base" in missing.value.next_step


def test_unrelated_histories_in_a_shallow_clone_end_too(remote: Remote, tmp_path: Path) -> None:
    remote.repo.git("switch", "--quiet", "--orphan", "other")
    remote.repo.commit({"z": "z"})
    clone = remote.repo.clone(tmp_path / "c", "--depth=1", "--no-single-branch", "--branch=other")
    with pytest.raises(HistoryMissing, match="no common ancestor"):
        resolve(clone.opened, base="main", head=None, event=None)


def test_a_long_history_is_deepened_step_by_step_and_not_fetched_whole(tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "remote")
    stream = "".join(
        f"commit refs/heads/main\ncommitter C <c@x> {number} +0000\ndata 1\nm\n"
        f"M 644 inline f\ndata {len(str(number))}\n{number}\n\n"
        for number in range(1, 401)
    )
    repo.git("fast-import", "--quiet", question=stream.encode())
    repo.git("reset", "--quiet", "--hard", "main")
    left = repo.git("rev-parse", "main~100")
    repo.switch("feature", left)
    repo.commit({"g": "g"})
    clone = repo.clone(tmp_path / "c", "--depth=1", "--no-single-branch", "--branch=feature")
    assert found(clone, base="origin/main").base_sha == left
    assert clone.is_shallow()


def test_a_newer_common_commit_behind_the_cut_is_found(tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "remote")
    root = repo.commit()
    left = repo.commit()
    sides = []
    for branch in ("one", "two"):
        repo.switch(branch, left)
        for _ in range(6):
            repo.commit(message=branch)
        repo.switch(f"{branch}-short", root)
        repo.commit(message=f"{branch} short")
        repo.switch(branch)
        sides.append(repo.merge(f"{branch}-short"))
    clone = repo.clone(tmp_path / "c", "--depth=3", "--no-single-branch")
    assert clone.git("merge-base", *sides) == root
    assert found(clone, base=sides[0], head=sides[1]).base_sha == left


def test_the_same_commit_on_both_sides_is_nothing_changed(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c")
    pair = found(clone)
    assert pair.nothing_changed
    assert pair.base_sha == pair.head_sha == remote.moved


def test_another_commit_with_the_same_files_is_nothing_changed_too(remote: Remote) -> None:
    empty = remote.repo.commit()
    pair = found(remote.repo, base=remote.moved)
    assert shas(pair) == (remote.moved, empty)
    assert pair.nothing_changed
    assert not found(remote.repo, base=remote.root).nothing_changed


def test_a_linked_work_tree_is_a_repository_like_any_other(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c")
    clone.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "w"), remote.two)
    assert shas(found(Repo(tmp_path / "w"))) == (remote.fork, remote.two)


def test_a_linked_work_tree_of_a_shallow_clone_is_deepened(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c", "--depth=1", "--no-single-branch")
    clone.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "w"), remote.two)
    assert shas(found(Repo(tmp_path / "w"))) == (remote.fork, remote.two)


def test_uncommitted_changes_are_left_out_and_said(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c", "--branch=feature")
    assert found(clone).notes == ()
    (clone.path / "new.py").touch()
    pair = found(clone)
    assert pair.head_sha == remote.two
    assert "Uncommitted" in pair.notes[0]
    assert found(clone, head="HEAD").notes == ()


def test_a_subdirectory_and_a_redirecting_environment_make_no_difference(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c", "--branch=feature")
    (clone.path / "deep").mkdir()
    other = Repo.new(tmp_path / "other")
    other.commit()
    env = GIT_ENV | {"GIT_DIR": str(other.path / ".git"), "GIT_INDEX_FILE": str(tmp_path / "no-index")}
    pair = resolve(open_repository(clone.path / "deep", env), base=None, head=None, event=None)
    assert shas(pair) == (remote.fork, remote.two)
    assert not (tmp_path / "no-index").exists()


def test_without_a_remote_the_local_main_is_the_base(remote: Remote) -> None:
    remote.repo.switch("feature")
    assert shas(found(remote.repo)) == (remote.fork, remote.two)
    remote.repo.git("branch", "--quiet", "-m", "main", "trunk")
    with pytest.raises(UsageError, match="Nothing tells") as refused:
        resolve(remote.repo.opened, base=None, head=None, event=None)
    assert "--base" in refused.value.next_step


def test_no_repository_and_no_commit_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no git work tree"):
        open_repository(tmp_path, GIT_ENV | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})
    with pytest.raises(UsageError, match="no commit yet"):
        resolve(Repo.new(tmp_path / "new").opened, base=None, head=None, event=None)


def test_credentials_in_the_remotes_address_are_not_printed(remote: Remote, tmp_path: Path) -> None:
    clone = remote.repo.clone(tmp_path / "c")
    clone.git("remote", "set-url", "origin", "http://user:secret@127.0.0.1:1/x.git")
    with pytest.raises(HistoryMissing) as missing:
        resolve(clone.opened, base="1" * 40, head=None, event=None)
    assert "secret" not in str(missing.value) + missing.value.details


def test_a_commit_has_the_time_that_it_was_made_and_what_is_none_has_none(tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "repo")
    assert repo.opened.committed_at(repo.commit()) == "2024-01-01T00:00:00Z"
    assert repo.opened.committed_at("0" * 40) == ""
    assert repo.opened.committed_at("--output=x") == ""
    assert not (repo.path / "x").exists()
