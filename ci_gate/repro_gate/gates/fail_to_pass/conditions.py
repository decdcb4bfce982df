"""Under which conditions the gate repeats: same seed, varied, the ladder, another year. Pure."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace

from repro_gate.experiment import NON_UTF8, arrange
from repro_gate.model import Conditions, Mode

_NEUTRAL = Conditions()
# A start of Python costs as much as many forks, so few starting points serve the varied rounds, and what a
# fork takes on differs in each. The one in the middle is used once: that run is the one in a fresh process.
_VARIED: tuple[Conditions, ...] = (
    Conditions(hash_seed=1, random=1, import_random=1, order="shuffle:1"),
    Conditions(hash_seed=2, random=2, import_random=2, timezone="America/Los_Angeles", listing=1),
    Conditions(hash_seed=3, random=3, import_random=3, order="reversed", locale="C", environment="terminal", threads=1),
    Conditions(hash_seed=1, random=4, import_random=1, gc="eager", asyncio=1),
    Conditions(hash_seed=2, random=5, import_random=2, timezone="Asia/Kolkata", load="one-core", order="shuffle:2"),
)
_FRESH = 2
# What may make a test of base that failed pass after all, as a coin does.
OTHER_SEEDS = (_NEUTRAL, Conditions(random=1, import_random=1), Conditions(random=2, import_random=2, hash_seed=1))


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """One repetition on both sides; ``alone``: each test in a process of its own."""

    conditions: Conditions
    mode: Mode = Mode.FORK
    alone: bool = False


def second_collection() -> Conditions:
    """The conditions of the other collection: a server that the first varied round uses as well."""
    return Conditions(hash_seed=1, import_random=1)


def rounds(same_seed: int, varied: int) -> list[Round]:
    """Cheap contradictions first: alone, then the same seed, then varied; one of them in a fresh process."""
    same = [Round(conditions=_NEUTRAL) for _ in range(same_seed)]
    moved = [Round(conditions=_varied(number)) for number in range(varied)]
    if len(moved) > _FRESH:
        moved[_FRESH] = replace(moved[_FRESH], mode=Mode.FRESH)
    else:
        same[-1:] = [Round(conditions=_NEUTRAL, mode=Mode.FRESH)]
    return [Round(conditions=_NEUTRAL, alone=True), *same, *moved]


def combined(found: Conditions, moved: Conditions) -> Conditions:
    """A round's conditions, with the axes that base needs to fail held where they are."""
    return moved.with_axes(found.differences(_NEUTRAL), found)


def ladder(today: datetime.date) -> list[Conditions]:
    """What is tried before a fix is told that its test passes on base; likeliest first."""
    return [
        Conditions(locale=NON_UTF8),
        Conditions(hash_seed=1),
        Conditions(hash_seed=2),
        Conditions(hash_seed=3),
        Conditions(timezone="America/Los_Angeles"),
        Conditions(timezone="Asia/Kolkata"),
        Conditions(listing=1),
        Conditions(environment="bare"),
        Conditions(order="reversed"),
        Conditions(order="shuffle:1"),
        *other_days(today),
    ]


def other_days(today: datetime.date) -> list[Conditions]:
    """A year from now and the next 29 February, at noon."""
    year = today.year
    while not (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)) or datetime.date(year, 2, 29) <= today:
        year += 1
    later = datetime.date(today.year + 1, today.month, min(today.day, 28))
    return [Conditions(clock=f"{later.isoformat()}T12:00:00"), Conditions(clock=f"{year}-02-29T12:00:00")]


def before(test: str, conditions: Conditions, company: tuple[str, ...]) -> tuple[str, ...]:
    """What one process must run for this test to do what it does: it last, and by itself where no order matters."""
    if "order" not in conditions.differences(_NEUTRAL) or test not in company:
        return (test,)
    ordered = [company[index] for index in arrange(company, conditions.order)]
    return tuple(ordered[: ordered.index(test) + 1])


def words(conditions: Conditions) -> str:
    """The axes that are moved, with their values."""
    return ", ".join(f"{axis} {conditions.axis(axis)}" for axis in conditions.differences(_NEUTRAL)) or "neutral"


def _varied(number: int) -> Conditions:
    pattern = _VARIED[number % len(_VARIED)]
    # Beyond the list: the same starting points, other seeds in the fork.
    return pattern if number < len(_VARIED) else replace(pattern, random=number + 1)
