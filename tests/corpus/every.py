"""All shapes of the corpus."""

from __future__ import annotations

from tests.corpus import new_names, proofs, refused, surroundings, traps
from tests.corpus.shape import Shape

SHAPES: tuple[Shape, ...] = (*proofs.SHAPES, *new_names.SHAPES, *refused.SHAPES, *traps.SHAPES, *surroundings.SHAPES)


def named(name: str) -> Shape:
    """The shape of this name."""
    return next(shape for shape in SHAPES if shape.name == name)
