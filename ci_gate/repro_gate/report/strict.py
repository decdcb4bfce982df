"""Shapes that every part of a stranger's report.json has in common.

Belongs here: bounds, and the refusal of what was not asked for. Does not belong here: what any part means (reading).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from repro_gate.model import CapsuleRef

MANY = 200_000  # items of a list: more than any suite has tests
Whole = Annotated[int, Field(ge=0, le=2**53)]
Texts = Annotated[list[str], Field(max_length=MANY)]


class Part(BaseModel):
    """An object of the file: strict types, no other keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Capsule(Part):
    """Where a capsule is, and how it was verified."""

    path: str
    id: str
    determinism: str
    pinned: bool
    replays: Annotated[list[Whole], Field(min_length=2, max_length=2)]

    def made(self) -> CapsuleRef:
        """The reference."""
        k, of = self.replays
        return CapsuleRef(
            path=self.path, id=self.id, pinned=self.pinned, determinism=self.determinism, replayed=k, of=of
        )
