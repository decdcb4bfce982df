"""What a change says of itself: a fix, a revert, a refactoring, a reproduction to be fixed later.

Belongs here: reading titles, bodies, labels and commit messages. Does not belong here: believing them.

The rules, in this order and conservative, as a claim makes a gate stricter or looser:

1. A label decides. `no-behaviour-change` or `refactor…` (in either spelling) makes a refactoring and takes
   back any claim of a fix; `bug`, `fix`, `regression` make a fix; `repro…`, `failing-test` make a reproduction.
2. A title decides by its type (`fix:`, `revert:`, `refactor:`, `repro:`) or, without a type, by its first word
   (`Fix …`, `Revert "…"`, `Rename …` as a refactoring). A fix of documentation, style, types, tests or builds is no
   claim, unless it names a crash, a regression or an exception.
3. A closing keyword (`Fixes #12`) in the body makes a fix, unless the title or a label calls it a feature. Comments,
   code and quotations do not count, nor does a negation before it.
4. Where there is no title (a push), each commit's subject and body count as title and body: one fix is enough,
   while a revert or a refactoring must be all of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from repro_gate.change.event import Description
from repro_gate.change.repository import Repository

_MOST_COMMITS = 200
_KNOWN_BOTS = frozenset({"dependabot", "dependabot-preview", "github-actions", "pre-commit-ci", "renovate"})
_TYPED = re.compile(r"(?P<type>[a-z]+)\s*(?:\((?P<scope>[^)]*)\))?\s*!?:\s*(?P<rest>.*)", re.IGNORECASE)
_FIX_WORDS = re.compile(r"(?:bug|hot)?fix(?:es|ed|ing)?(?![\w-])", re.IGNORECASE)
_FIX_TYPES = frozenset({"fix", "fixed", "fixes", "bugfix", "hotfix"})
_OTHER_TYPES = frozenset(
    {"build", "chore", "ci", "deps", "doc", "docs", "feat", "feature", "lint", "refactor", "style", "test", "tests"}
)
_NO_FIX = re.compile(
    r"\b(?:typos?|spelling|grammar|docs?|docstrings?|documentation|readme|changelog|release notes|comments?|lint(?:er|ing)?|ruff|mypy|"
    r"flake8|format(?:ting)?|style|typing|type hints?|annotations?|ci|workflows?|build|tests?|flaky|dev|deps)\b",
    re.IGNORECASE,
)
# A formatter's crash on comments is no matter of documentation.
_SURELY_FIX = re.compile(
    r"\b(?:[Cc]rash\w*|[Rr]egressions?|[Tt]raceback|[Dd]eadlocks?|[Hh]angs?|\w+(?:Error|Exception))\b"
)
_REVERT = re.compile(r"revert\s+[\"“']|revert(?:\([^)]*\))?!?:|reverts? commit [0-9a-f]{7,}", re.IGNORECASE)
_REFACTOR = re.compile(r"(?:refactor|style)(?:\([^)]*\))?:|(?:refactor(?:s|ed|ing)?|rename[sd]?)\b", re.IGNORECASE)
_REPRO = re.compile(
    r"(?:repro|reproduce[sd]?|reproduction)\b|(?:test(?:\([^)]*\))?:\s*)?(?:add (?:a )?)?failing tests?\b",
    re.IGNORECASE,
)
_FEATURE = re.compile(r"feat(?:ure)?(?:\([^)]*\))?!?:|(?:add|implement|support)s?\b", re.IGNORECASE)
_CLOSING = re.compile(
    r"(?<![\w-])(?:close|fix|resolve)(?:s|d|es|ed)?:?\s+(?:(?:[\w.-]+/[\w.-]+)?#|https?://\S+/issues/)\d+\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"(?:\bnot|n't|\bnever|\bpartially|\bpartly|\bwithout)\s+(?:\w+\s+)?$", re.IGNORECASE)
_UNSPOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|^[ \t]*>[^\n]*$", re.DOTALL | re.MULTILINE
)
_SKIPPED_SUBJECTS = re.compile(r"Merge (?:[0-9a-f]{7,}|branch|pull request|remote-tracking|tag|commit)\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Claims:
    """What a change claims, and a reason for each claim."""

    is_fix: bool = False
    is_revert: bool = False
    is_refactor: bool = False
    repro_first: bool = False
    author_is_bot: bool = False
    why: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Text:
    """A title and a body, with what may be read of them."""

    title: str
    body: str

    @property
    def fix(self) -> str:
        """Why this is a fix, or an empty string."""
        scope, subject = "", self.title
        if typed := _TYPED.match(self.title):
            scope, subject = typed["scope"] or "", typed["rest"]
        typed_fix = typed is not None and typed["type"].lower() in _FIX_TYPES
        # `parser: fix the crash` names a place; `docs: fix the link` says by its type that it fixes no product.
        spoken_fix = (typed is None or typed["type"].lower() not in _OTHER_TYPES) and _FIX_WORDS.match(subject)
        elsewhere = _NO_FIX.search(scope) or (_NO_FIX.search(subject) and not _SURELY_FIX.search(subject))
        if (typed_fix or spoken_fix) and not elsewhere:
            return f"the title {self.title!r}"
        return "" if _FEATURE.match(self.title) else self._closing()

    def _closing(self) -> str:
        for text in (self.title, self.body):
            spoken = _UNSPOKEN.sub("", text)
            for found in _CLOSING.finditer(spoken):
                if not _NEGATED.search(spoken[: found.start()]):
                    return f"the closing words {found[0]!r}"
        return ""


def claims(description: Description, messages: Sequence[str] = ()) -> Claims:
    """What the description claims, or where it has no title, what the commit messages claim."""
    words = [re.split(r"[^a-z0-9]+", label.lower()) for label in description.labels]
    texts = _texts(description, messages)
    why: list[str] = []
    harmless = _labelled(description, words, why, "refactoring", {"refactor", "refactoring"}, _no_change)
    refactor = harmless or _all(texts, _REFACTOR, "refactoring", why)
    feature = any({"feature", "enhancement"} & set(label) for label in words)
    fix = not harmless and (
        _labelled(description, words, why, "fix", {"bug", "bugfix", "fix", "hotfix", "regression"}, _never)
        or (not feature and _any_fix(texts, why))
    )
    revert = _all(texts, _REVERT, "revert", why)
    repro = _labelled(description, words, why, "reproduction", {"repro", "reproduction"}, _failing_test)
    repro = repro or _all(texts, _REPRO, "reproduction", why)
    bot = description.author_is_bot or description.author.lower().removesuffix("[bot]") in _KNOWN_BOTS
    if bot:
        why.append(f"bot: the author {description.author!r}")
    return Claims(
        is_fix=fix, is_revert=revert, is_refactor=refactor, repro_first=repro, author_is_bot=bot, why=tuple(why)
    )


def messages_between(repository: Repository, base: str, head: str) -> tuple[str, ...]:
    """The messages of head's commits that base does not have, newest first, as far as the clone has them."""
    listed = repository.read(
        "log", f"--max-count={_MOST_COMMITS}", "--no-merges", "-z", "--format=%B", "--end-of-options", f"{base}..{head}"
    )
    return tuple(os.fsdecode(message).strip() for message in listed.split(b"\0") if message.strip())


def _texts(description: Description, messages: Sequence[str]) -> list[_Text]:
    if description.title:
        return [_Text(title=description.title.strip(), body=description.body)]
    found = []
    for message in messages:
        subject, _, body = message.strip().partition("\n")
        if subject and not _SKIPPED_SUBJECTS.match(subject):
            found.append(_Text(title=subject.strip(), body=body))
    return found


def _any_fix(texts: list[_Text], why: list[str]) -> bool:
    for text in texts:
        if reason := text.fix:
            why.append(f"fix: {reason}")
            return True
    return False


def _all(texts: list[_Text], pattern: re.Pattern[str], claim: str, why: list[str]) -> bool:
    if not texts or not all(pattern.match(text.title) for text in texts):
        return False
    why.append(f"{claim}: the title {texts[0].title!r}")
    return True


def _labelled(
    description: Description,
    words: list[list[str]],
    why: list[str],
    claim: str,
    names: set[str],
    also: Callable[[list[str]], bool],
) -> bool:
    for label, parts in zip(description.labels, words, strict=True):
        denied = {"no", "non", "not"} & set(parts)
        if also(parts) or (names & set(parts) and not denied):
            why.append(f"{claim}: the label {label!r}")
            return True
    return False


def _no_change(parts: list[str]) -> bool:
    return parts in (["no", "behaviour", "change"], ["no", "behavior", "change"])


def _failing_test(parts: list[str]) -> bool:
    return parts in (["failing", "test"], ["repro", "first"])


def _never(_parts: list[str]) -> bool:
    return False
