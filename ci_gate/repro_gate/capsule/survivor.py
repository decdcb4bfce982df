"""What the capsule of a survivor says beside the rest: the mutant, as lines of one file that become other lines.

Belongs here: these claims, their JSON, and the patch on a file's bytes. Does not belong here: trees and experiments
(pipeline), or believing a stranger's (``reading``).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from repro_gate.capsule.proof import inside_tree, is_root
from repro_gate.errors import CapsuleRefused
from repro_gate.experiment import decoded, encoded

_DIGEST = re.compile(r"[0-9a-f]{64}")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Patch:
    """From line ``line`` on (from 1), the lines ``removed`` become ``added``;
    without their ends, ``\\n`` alone ends one.
    """

    line: int
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @classmethod
    def between(cls, before: str, after: str) -> Patch:
        """The shortest one that makes ``after`` of ``before``."""
        old, new = before.split("\n"), after.split("\n")
        most = min(len(old), len(new))
        first = next((at for at in range(most) if old[at] != new[at]), most)
        last = next((at for at in range(most - first) if old[-1 - at] != new[-1 - at]), most - first)
        return cls(
            line=first + 1, removed=tuple(old[first : len(old) - last]), added=tuple(new[first : len(new) - last])
        )

    def applied(self, text: str) -> str:
        """The text after it. Raises ValueError where these lines are not there."""
        lines, start = text.split("\n"), self.line - 1
        if tuple(lines[start : start + len(self.removed)]) != self.removed or start > len(lines):
            raise ValueError(f"line {self.line} is another one")
        lines[start : start + len(self.removed)] = self.added
        return "\n".join(lines)

    def shown(self) -> tuple[str, ...]:
        """As a hunk of a unified diff without context."""
        here = f"-{self.line},{len(self.removed)} +{self.line},{len(self.added)}"
        return (f"@@ {here} @@", *(f"-{line}" for line in self.removed), *(f"+{line}" for line in self.added))


@dataclass(frozen=True, kw_only=True, slots=True)
class Survivor:
    """A mutant of ``file`` (whose bytes have the digest ``sha256``, in the encoding that they declare)
    with which every test passes.

    ``id``, ``operator``, ``qualname``, ``original``, ``mutated`` and ``hint`` are the report's. ``import_roots`` are
    the folders of the tree on sys.path, ``test_seconds`` the limit of a test.
    """

    id: str
    file: str
    sha256: str
    patch: Patch
    operator: str
    qualname: str
    original: str
    mutated: str
    hint: str = ""
    import_roots: tuple[str, ...] = ()
    test_seconds: int = 300

    def to_json(self) -> dict[str, Any]:
        """As the JSON object ``mutant`` of manifest.json."""
        return {
            "id": self.id,
            "file": self.file,
            "sha256": self.sha256,
            "patch": {
                "line": self.patch.line,
                "removed": list(self.patch.removed),
                "added": list(self.patch.added),
            },
            "operator": self.operator,
            "qualname": self.qualname,
            "original": self.original,
            "mutated": self.mutated,
            "hint": self.hint,
            "import_roots": list(self.import_roots),
            "test_seconds": self.test_seconds,
        }

    def problem(self) -> str:
        """What is well formed and cannot be, or an empty string."""
        patch = self.patch
        lines = (*patch.removed, *patch.added)
        rules = (
            (not _ID.fullmatch(self.id), "mutant.id must be letters, digits, - and _"),
            (not inside_tree(self.file), "mutant.file must stay in the tree and out of .git"),
            (not _DIGEST.fullmatch(self.sha256), "mutant.sha256 must be 64 hexadecimal digits"),
            (patch.line < 1, "mutant.patch.line must be at least 1"),
            (any("\n" in line for line in lines), "a line of mutant.patch must be one line"),
            (patch.removed == patch.added, "mutant.patch must change something"),
            (not all(map(is_root, self.import_roots)), "mutant.import_roots must be relative, without '..'"),
            (not 0 < self.test_seconds <= 86_400, "mutant.test_seconds must be from 1 to 86400"),
        )
        return next((rule for broken, rule in rules if broken), "")

    def texts(self, data: bytes, commit: str = "") -> tuple[str, str]:
        """The file's text as it is, and mutated. Raises CapsuleRefused where the bytes are not those of ``commit``."""
        if digest(data) != self.sha256:
            raise CapsuleRefused(
                f"{self.file} is not the file that the mutant was made of",
                next_step=f"Check out the capsule's commit{f' {commit}' if commit else ''}, without changes of your own.",
            )
        text = source_text(data)
        if text is None:
            raise CapsuleRefused(f"{self.file} is no text in the encoding that it declares")
        try:
            return text, self.patch.applied(text)
        except ValueError as broken:
            raise CapsuleRefused(f"the patch of the mutant does not fit {self.file}: {broken}") from None


def source_text(data: bytes) -> str | None:
    """A source as text, of which the same bytes can be made again; None where that cannot be."""
    text = decoded(data)
    return text if encoded(text) == data else None


def digest(data: bytes) -> str:
    """The SHA-256 of a file, as ``sha256`` holds it."""
    return hashlib.sha256(data).hexdigest()
