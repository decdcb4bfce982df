"""Waivers: which mutants a person let live, until when, and what a reader must hear of it. Pure.

Belongs here: whether a waiver counts today. Does not belong here: reading waivers (mutants), and their number
(verdict).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from repro_gate.gates.mutation.reasons import NEXT_STEP, Reason
from repro_gate.model import Finding, Mutant, Waiver


@dataclass(frozen=True, kw_only=True, slots=True)
class Waived:
    """By mutant's id its waiver; those in use: ``used``; and findings on waivers that are new or have expired."""

    by_mutant: dict[str, Waiver]
    used: tuple[Waiver, ...]
    findings: tuple[Finding, ...]


def applied(
    mutants: Sequence[Mutant], waivers: Sequence[Waiver], changed: Mapping[str, Iterable[int]], today: datetime.date
) -> Waived:
    """Match waivers with mutants. A waiver whose last day is over, or is no date, does not count.

    One of ``changed`` lines is in use although no mutant was made of them: it is why.
    """
    valid = [waiver for waiver in waivers if not expired(waiver, today)]
    gone = [waiver for waiver in waivers if expired(waiver, today) and any(concerns(waiver, each) for each in mutants)]
    matched = {
        mutant.id: found
        for mutant in mutants
        if (found := next((waiver for waiver in valid if concerns(waiver, mutant)), None)) is not None
    }
    return Waived(
        by_mutant=matched,
        used=tuple(
            waiver
            for waiver in valid
            if waiver in matched.values() or not waiver.lines.isdisjoint(changed.get(waiver.file, ()))
        ),
        findings=tuple(_findings(gone, [waiver for waiver in valid if waiver.new])),
    )


def concerns(waiver: Waiver, mutant: Mutant) -> bool:
    """Whether a waiver is about this mutant."""
    if waiver.file != mutant.file:
        return False
    return waiver.mutant == mutant.id if waiver.mutant else not waiver.lines.isdisjoint(mutant.lines)


def expired(waiver: Waiver, today: datetime.date) -> bool:
    """Whether its last day is over; what is no date is no last day that anybody could have meant."""
    try:
        return bool(waiver.expires) and datetime.date.fromisoformat(waiver.expires) < today
    except ValueError:
        return True


def _findings(gone: Iterable[Waiver], new: Iterable[Waiver]) -> Iterator[Finding]:
    for reason, waivers in ((Reason.WAIVER_EXPIRED, gone), (Reason.WAIVER_NEW, new)):
        for waiver in waivers:
            last = f", until {waiver.expires}" if waiver.expires else ""
            yield Finding(
                reason=reason,
                text=f"{_what(waiver)} is waived{last}: {waiver.reason}",
                next_step=NEXT_STEP[reason],
                path=waiver.file,
                line=min(waiver.lines, default=0),
            )


def _what(waiver: Waiver) -> str:
    if waiver.mutant:
        return f"mutant {waiver.mutant} of {waiver.file}"
    return f"{waiver.file}, line {', '.join(map(str, sorted(waiver.lines)))}"
