"""All shapes of the corpus of mutants."""

from __future__ import annotations

from tests.mutation_corpus import company, kinds, outside, shows, texts, traps
from tests.mutation_corpus.shape import Shape

SHAPES: tuple[Shape, ...] = tuple(
    shape for room in (traps, company, outside, kinds, texts, shows) for shape in room.SHAPES
)


def named(name: str) -> Shape:
    """The shape of this name."""
    return next(shape for shape in SHAPES if shape.name == name)
