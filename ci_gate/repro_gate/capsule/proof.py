"""What the capsule of a proof says beside the rest: base, what of head lies on it, and what head came to.

Belongs here: these claims and their JSON. Does not belong here: making trees of them (pipeline), or
believing a stranger's (``reading``). Files are named by git's objects: who has both commits has them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from repro_gate.model import Lenient, ReasonCode

# The reasons by which a failure on base can be a proof.
REASONS = (
    ReasonCode.ASSERTION,
    ReasonCode.PRODUCT_EXCEPTION,
    ReasonCode.PRODUCT_IN_SETUP,
    ReasonCode.TEST_EXCEPTION,
    ReasonCode.MISSING_SYMBOL,
    ReasonCode.SIGNATURE_MISMATCH,
    ReasonCode.TIMEOUT,
    ReasonCode.CRASH,
)
# A file, a program, a link: as git writes them.
FILE_MODES = ("100644", "100755", "120000")

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# Stays below the tree and out of git's own folder.
_PATH = re.compile(r"(?!(?:[^\x00]*/)?(?:\.\.?|\.[gG][iI][tT])(?:/|$))[^/\x00]+(?:/[^/\x00]+)*")
_ROOT = re.compile(r"(?!/)(?!(?:.*/)?\.\.(?:/|$))[^\\:\x00-\x1f]*")
_MODULE = re.compile(r"\w+(?:\.\w+)*")
_TEST = re.compile(r"(?!-)[^\0]*::[^\0]*")
_SYMBOL = re.compile(r"\w+(?:\.\w+)*:\w+(?:\.\w+)*")


@dataclass(frozen=True, kw_only=True, slots=True)
class LaidFile:
    """A file of head that is written onto base: ``sha`` names its content among git's objects."""

    path: str
    mode: str
    sha: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LaidText:
    """A file of base with head's pytest settings in it, which no commit holds."""

    path: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """A test that fails on ``base`` under an overlay of head's tests, and passes on head (the project's commit).

    ``passed`` of ``of`` replays passed on head. ``environment`` identifies what both sides ran in;
    ``own_environment``: base ran in that of its own dependencies. ``import_roots`` are the folders
    of the tree on sys.path, ``lenient`` what test modules on base may lack, ``test_seconds`` the limit of a test.
    """

    base: str
    reason: ReasonCode
    files: tuple[LaidFile, ...] = ()
    texts: tuple[LaidText, ...] = ()
    removed: tuple[str, ...] = ()
    passed: int = 0
    of: int = 0
    environment: str = ""
    own_environment: bool = False
    import_roots: tuple[str, ...] = ()
    lenient: Lenient = field(default_factory=Lenient)
    test_seconds: int = 300

    def to_json(self) -> dict[str, Any]:
        """As the JSON object ``proof`` of manifest.json."""
        return {
            "base": self.base,
            "reason": str(self.reason),
            "overlay": {
                "files": [{"path": each.path, "mode": each.mode, "sha": each.sha} for each in self.files],
                "texts": [{"path": each.path, "text": each.text} for each in self.texts],
                "removed": list(self.removed),
            },
            "head": {"passed": self.passed, "of": self.of},
            "environment": self.environment,
            "own_environment": self.own_environment,
            "import_roots": list(self.import_roots),
            "lenient": self.lenient.to_json(),
            "test_seconds": self.test_seconds,
        }

    def problem(self) -> str:
        """What is well formed and cannot be, or an empty string."""
        laid = [*(each.path for each in self.files), *(each.path for each in self.texts)]
        rules = (
            (not _SHA.fullmatch(self.base), "proof.base must be the full name of a commit"),
            (not all(_SHA.fullmatch(each.sha) for each in self.files), "a sha of proof.overlay must be a full one"),
            (
                not all(map(inside_tree, (*laid, *self.removed))),
                "a path of proof.overlay must stay in the tree and out of .git",
            ),
            (len(set(laid)) < len(laid), "proof.overlay must not write a path twice"),
            (not all(map(is_root, self.import_roots)), "proof.import_roots must be relative, without '..'"),
            (not all(map(_MODULE.fullmatch, self.lenient.modules)), "proof.lenient.modules must be names"),
            (not all(map(_SYMBOL.fullmatch, self.lenient.symbols)), "proof.lenient.symbols must be module:name"),
            (not all(map(_TEST.fullmatch, self.lenient.tests)), "proof.lenient.tests must be ids of tests"),
            (not 0 <= self.passed <= self.of, "proof.head must have 0 <= passed <= of"),
            (not 0 < self.test_seconds <= 86_400, "proof.test_seconds must be from 1 to 86400"),
        )
        return next((rule for broken, rule in rules if broken), "")


def inside_tree(path: str) -> bool:
    """Whether this is a path below the top of a tree, and not in git's own folder."""
    return _PATH.fullmatch(path) is not None


def is_root(path: str) -> bool:
    """Whether this may be a folder of a tree for sys.path: relative, downwards; empty is the top."""
    return _ROOT.fullmatch(path) is not None


def is_commit(name: str) -> bool:
    """Whether this is the full name of a commit."""
    return _SHA.fullmatch(name) is not None
