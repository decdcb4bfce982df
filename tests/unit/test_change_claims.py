"""What a change claims is read conservatively, and what is not said is not heard."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate.change.claims import Claims, claims
from repro_gate.change.event import Description, PullRequest, Push, QueueEntry, commits_of, describe

SHA = "a" * 40


def of(title: str = "", body: str = "", *labels: str, messages: tuple[str, ...] = ()) -> set[str]:
    found = claims(Description(title=title, body=body, labels=labels), messages)
    names = ("is_fix", "is_revert", "is_refactor", "repro_first", "author_is_bot")
    return {name.removeprefix("is_") for name in names if getattr(found, name)}


@pytest.mark.parametrize(
    "title",
    [
        "fix: crash on empty input",
        "Fix crash on empty input",
        "fix(parser)!: wrong result",
        "Fixes the rounding of totals",
        "Fixed: off by one",
        "hotfix: totals",
        "Bugfix: totals",
        "parser: fix the crash",
        "Fix crash on standalone comments in comprehensions",
        "fix: KeyError for docstrings without a style",
    ],
)
def test_a_title_claims_a_fix(title: str) -> None:
    assert of(title) == {"fix"}


@pytest.mark.parametrize(
    "title",
    [
        "Fixture for totals",
        "Fixed-size arrays",
        "Prefix names",
        "feat: fix-ups in batches",
        "docs: fix the link",
        "Fix typo",
        "fix(ci): crash of the cache",
        "Fix release notes",
        "fix: flaky test",
        "Fix mypy errors",
        "chore: fix things",
        "test: fix helper",
        "A bug in the parser",
        "",
    ],
)
def test_other_titles_claim_none(title: str) -> None:
    assert "fix" not in of(title)


@pytest.mark.parametrize(
    "body",
    [
        "Fixes #12",
        "closes: #1",
        "This resolves org/repo#7.",
        "Fixed https://github.com/org/repo/issues/3",
        "text\n\n- fix #4",
        "> not this #1\nFixes #12",
    ],
)
def test_closing_words_claim_a_fix(body: str) -> None:
    assert of("Handle empty input", body) == {"fix"}


@pytest.mark.parametrize(
    "body",
    [
        "Fixes #",
        "Fixes the bug",
        "<!-- Fixes #12 -->",
        "<!-- Fixes #12",
        "`Fixes #12`",
        "```\nFixes #12\n```",
        "> Fixes #12",
        "This does not fix #12",
        "It doesn't close #12",
        "Partially fixes #12",
        "Does not yet fix #12",
        "prefixes #12",
        "See #12",
        "Fixes #12a",
    ],
)
def test_what_is_not_said_is_not_heard(body: str) -> None:
    assert of("Handle empty input", body) == set()


@pytest.mark.parametrize(("title", "label"), [("feat: x", ""), ("Add x", ""), ("Parse x", "enhancement")])
def test_a_feature_that_closes_an_issue_is_no_fix(title: str, label: str) -> None:
    assert of(title, "Closes #3", label) == set()


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("bug", {"fix"}),
        ("type: bug", {"fix"}),
        ("kind/regression", {"fix"}),
        ("\N{BUG} Bug", {"fix"}),
        ("not a bug", set()),
        ("no-bug", set()),
        ("debug", set()),
        ("no-behaviour-change", {"refactor"}),
        ("No behavior change", {"refactor"}),
        ("behaviour-change", set()),
        ("refactoring", {"refactor"}),
        ("no-refactor", set()),
        ("repro", {"repro_first"}),
        ("failing-test", {"repro_first"}),
        ("failing", set()),
        ("", set()),
    ],
)
def test_labels_are_read_by_word(label: str, expected: set[str]) -> None:
    assert of("Parse x", "", label) == expected


def test_a_label_that_says_no_change_takes_back_a_fix() -> None:
    assert of("fix: x", "Fixes #1", "bug", "no-behaviour-change") == {"refactor"}
    assert of("refactor: x", "Fixes #1") == {"refactor", "fix"}


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ('Revert "Fix totals"', {"revert"}),
        ("revert: totals", {"revert"}),
        ("Reverts commit abcdef0", {"revert"}),
        ("Reverting is hard", set()),
        ("refactor(x): y", {"refactor"}),
        ("Refactor the parser", {"refactor"}),
        ("Refactory", set()),
        ("Rename rates to tariffs", {"refactor"}),
        ("Renaming of files is slow", set()),
        ("Fix a rename that was lost", {"fix"}),
        ("repro: crash", {"repro_first"}),
        ("test: failing test for totals", {"repro_first"}),
        ("Add a failing test", {"repro_first"}),
        ("Reproducible builds", set()),
    ],
)
def test_a_title_claims_other_things(title: str, expected: set[str]) -> None:
    assert of(title) == expected


def test_without_a_title_one_fixing_commit_is_enough_and_a_revert_must_be_all() -> None:
    assert of(messages=("Add x", "fix: y\n\nbody")) == {"fix"}
    assert of(messages=("x\n\nFixes #1",)) == {"fix"}
    assert of(messages=('Revert "a"', "b")) == set()
    assert of(messages=('Revert "a"', 'Revert "b"', "Merge branch 'main' into x")) == {"revert"}
    assert of(messages=("Merge pull request #1 from x\n\nFixes #9",)) == set()
    assert of() == set()


def test_with_a_title_the_commits_do_not_matter() -> None:
    assert of("Parse x", messages=("fix: y", 'Revert "a"')) == set()


def test_each_claim_has_its_reason() -> None:
    found = claims(Description(title="Parse x", body="so Fixes #3", author="renovate[bot]", author_is_bot=True))
    assert found == Claims(
        is_fix=True, author_is_bot=True, why=("fix: the closing words 'Fixes #3'", "bot: the author 'renovate[bot]'")
    )


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_any_text_is_read(title: str, body: str, labels: list[str]) -> None:
    found = claims(Description(title=title, body=body, labels=tuple(labels)), (body,))
    assert bool(found.why) == any((found.is_fix, found.is_revert, found.is_refactor, found.repro_first))


def test_a_long_body_is_read_in_reasonable_time() -> None:
    assert of("Parse x", "<!-- `fix " * 20_000 + "> " * 20_000 + "fixes #" * 20_000) == set()


PAYLOAD = {
    "pull_request": {
        "title": "T",
        "body": None,
        "labels": [{"name": "bug"}, {"name": None}, "odd"],
        "user": {"login": "dependabot[bot]", "type": "Bot"},
        "head": {"sha": SHA},
        "base": {"sha": "b" * 40, "ref": "main"},
        "merge_commit_sha": None,
    }
}


def test_githubs_payload_and_the_small_form_describe_alike() -> None:
    assert describe(PAYLOAD) == Description(
        title="T", labels=("bug", "odd"), author="dependabot[bot]", author_is_bot=True
    )
    assert describe({"title": "T", "body": "B", "labels": ["x"], "author": "me"}) == Description(
        title="T", body="B", labels=("x",), author="me"
    )
    assert describe({"before": SHA, "after": SHA, "sender": {"login": "me"}}) == Description(author="me")
    assert claims(describe({"author": "pre-commit-ci"})).author_is_bot


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (PAYLOAD, PullRequest(head=SHA, base="b" * 40, base_branch="main")),
        ({"merge_group": {"head_sha": SHA, "base_sha": "b" * 40}}, QueueEntry(head=SHA, base="b" * 40)),
        ({"before": "0" * 40, "after": SHA, "forced": True}, Push(before="", after=SHA, forced=True)),
        ({"before": SHA, "after": "0" * 40, "forced": "yes"}, Push(before=SHA, after="", forced=False)),
        (
            {"pull_request": {"head": "x", "base": {"sha": "--upload-pack=x", "ref": 3}}},
            PullRequest(head="", base="", base_branch=""),
        ),
        ({"pull_request": []}, None),
        ({"title": "x"}, None),
        ({}, None),
    ],
)
def test_commits_are_taken_from_an_event_only_where_they_are_hashes(event: dict[str, Any], expected: object) -> None:
    assert commits_of(event) == expected
