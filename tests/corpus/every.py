"""All shapes of the corpus."""

from __future__ import annotations

from tests.corpus import descriptions, exports, layouts, new_names, odd_reasons, proofs, refused, surroundings, traps
from tests.corpus.shape import Shape

_ROOMS = (proofs, new_names, exports, odd_reasons, refused, traps, surroundings, descriptions, layouts)
SHAPES: tuple[Shape, ...] = tuple(shape for room in _ROOMS for shape in room.SHAPES)


def named(name: str) -> Shape:
    """The shape of this name."""
    return next(shape for shape in SHAPES if shape.name == name)
