"""Mutants that a person lets live: comments in the code, and `.repro-gate/waivers.toml`.

Belongs here: reading both strictly, what has expired, and what the change added. Does not belong here: how many
waivers a change may have (gates), and reading files: texts come in as arguments.
"""

from __future__ import annotations

import datetime
import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from repro_gate.config import parse_toml
from repro_gate.errors import ConfigError
from repro_gate.model import Mutant, Waiver
from repro_gate.model.lines import lines_of
from repro_gate.mutants.identity import identity
from repro_gate.mutants.source import comments

FILE = ".repro-gate/waivers.toml"
_PRAGMA = re.compile(r"#\s*pragma:\s*no mutate\b(?P<rest>.*)", re.DOTALL)
_REASON = re.compile(r"\s+--\s*(?P<reason>\S.*)", re.DOTALL)
_ID = re.compile(r"[0-9a-f]{12}")
KEYS = ("file", "mutant", "qualname", "original", "mutated", "nth", "reason", "expires")
# What a person writes is far smaller, and reading TOML can take the square of its length.
_MOST_BYTES, _LONGEST_LINE, _MOST_ALIKE, _SHOWN = 256_000, 4_000, 1_000_000, 80
_NEXT = f"Correct the named key of {FILE}; docs/mutants.md says what a waiver holds."


@dataclass(frozen=True, kw_only=True, slots=True)
class Unexplained:
    """A comment that asks for no mutants and waives nothing: it gives no reason, or stands ``alone`` on its line."""

    file: str
    line: int
    alone: bool = False
    new: bool = False

    def __str__(self) -> str:
        if self.alone:
            return f"{self.file}:{self.line}: `# pragma: no mutate` waives nothing on a line of its own: put it behind the code"
        return f"{self.file}:{self.line}: `# pragma: no mutate` waives nothing without a reason: add ` -- reason`"


@dataclass(frozen=True, kw_only=True, slots=True)
class Waivers:
    """The waivers that count, those that have expired, and comments that are none."""

    waivers: tuple[Waiver, ...] = ()
    expired: tuple[Waiver, ...] = ()
    unexplained: tuple[Unexplained, ...] = ()

    def of(self, mutant: Mutant) -> Waiver | None:
        """The waiver that lets a mutant live, or None."""
        span = range(mutant.line, mutant.end_line + 1)
        return next(
            (
                each
                for each in self.waivers
                if each.file == mutant.file and (each.mutant == mutant.id or not each.lines.isdisjoint(span))
            ),
            None,
        )

    def __add__(self, other: Waivers) -> Waivers:
        return Waivers(
            waivers=self.waivers + other.waivers,
            expired=self.expired + other.expired,
            unexplained=self.unexplained + other.unexplained,
        )


# --- comments --------------------------------------------------------------------------------


def explained(remarks: Mapping[int, str]) -> dict[int, str]:
    """The lines whose comment waives them, with the reason that it gives."""
    return {line: reason for line, reason in _asked(remarks) if reason}


def in_code(file: str, text: str, base: str | None = None) -> Waivers:
    """What the comments of a file waive. ``base`` is its text before the change; None: the file is new.

    A comment is new where base has no line like it, so a moved line is not.
    """
    written = [line.strip() for line in lines_of(text)]
    before = _waiving_lines(base) if base is not None else Counter[str]()
    waivers, unexplained = [], []
    for line, reason in _asked(comments(text)):
        new = before[written[line - 1]] == 0
        before[written[line - 1]] -= not new
        alone = written[line - 1].startswith("#")
        if reason and not alone:
            waivers.append(Waiver(file=file, reason=reason, lines=frozenset({line}), new=new))
        else:
            unexplained.append(Unexplained(file=file, line=line, alone=alone, new=new))
    return Waivers(waivers=tuple(waivers), unexplained=tuple(unexplained))


def _waiving_lines(text: str) -> Counter[str]:
    written = lines_of(text)
    return Counter(written[line - 1].strip() for line, _ in _asked(comments(text)))


def _asked(remarks: Mapping[int, str]) -> Iterator[tuple[int, str]]:
    """Each line that asks for no mutants, with its reason or nothing."""
    for line, remark in remarks.items():
        pragma = _PRAGMA.search(remark)
        if pragma is not None:
            reason = _REASON.fullmatch(pragma["rest"])
            yield line, " ".join(reason["reason"].split()) if reason else ""


# --- the file --------------------------------------------------------------------------------


def in_file(content: bytes, today: datetime.date, base: bytes | None = None) -> Waivers:
    """What `.repro-gate/waivers.toml` waives on a day; ``base`` is the file before the change, None: there was none.

    Raises ConfigError with every problem of the file, and for one that nobody wrote by hand. A file of base that cannot
    be read waived nothing.
    """
    read = _read(content)
    try:
        before = Counter(_read(base)) if base is not None else Counter[Waiver]()
    except ConfigError:
        before = Counter()
    counted: list[Waiver] = []
    expired: list[Waiver] = []
    for each in read:
        new = before[each] == 0
        before[each] -= not new
        late = each.expires and datetime.date.fromisoformat(each.expires) < today
        (expired if late else counted).append(replace(each, new=new))
    return Waivers(waivers=tuple(counted), expired=tuple(expired))


def _read(content: bytes) -> list[Waiver]:
    if len(content) > _MOST_BYTES or max(map(len, content.split(b"\n"))) > _LONGEST_LINE:
        raise ConfigError(
            f"{FILE} has {len(content)} bytes: at most {_MOST_BYTES} are read, and {_LONGEST_LINE} of a line.",
            next_step="Remove the waivers that are not needed any more, and break long lines.",
        )
    document = parse_toml(FILE, content)
    problems = [
        f'{FILE}: unknown key "{key}"{_near(key, ("waiver",))}: only [[waiver]] is read'
        for key in document
        if key != "waiver"
    ]
    entries = document.get("waiver", [])
    if not isinstance(entries, list):
        problems.append(f"{FILE}: waiver must be a list of tables: write [[waiver]], not [waiver]")
        entries = []
    waivers = []
    for number, entry in enumerate(entries, start=1):
        label = f"{FILE}: waiver {number}"
        if not isinstance(entry, dict):
            problems.append(f"{label}: must be a table: write [[waiver]]")
            continue
        found = list(_problems(label, entry))
        problems += found
        if not found:
            waivers.append(_waiver(entry))
    if problems:
        several = f"{len(problems)} problems in the waivers:\n" + "\n".join(f"  {each}" for each in problems)
        raise ConfigError(problems[0] if len(problems) == 1 else several, next_step=_NEXT)
    return waivers


def _problems(label: str, entry: Mapping[str, object]) -> Iterator[str]:
    """Everything that is wrong with one table."""
    for key in entry:
        if key not in KEYS:
            yield f'{label}: unknown key "{key}"{_near(key, KEYS)}'
    for key in ("file", "reason"):
        value = entry.get(key)
        if not isinstance(value, str) or not value.strip():
            yield f"{label}: {key} {_state(entry, key)}: give {_WANTED[key]}"
    yield from _which(label, entry)
    if "expires" in entry and _date(entry["expires"]) is None:
        yield f"{label}: expires {_state(entry, 'expires')}: give a date such as 2030-12-31"


def _which(label: str, entry: Mapping[str, object]) -> Iterator[str]:
    """What is wrong with how a table names its mutant: by id, or by what it replaces."""
    parts = [key for key in ("qualname", "original", "mutated", "nth") if key in entry]
    if "mutant" in entry:
        if not isinstance(entry["mutant"], str) or not _ID.fullmatch(entry["mutant"]):
            yield f"{label}: mutant {_state(entry, 'mutant')}: give the id that the report shows, 12 characters of 0-9a-f"
        if parts:
            yield f"{label}: mutant and {', '.join(parts)} both name a mutant: keep mutant alone"
        return
    if not parts:
        yield f"{label}: names no mutant: give mutant, or qualname, original and mutated"
        return
    for key in ("qualname", "original", "mutated"):
        if not isinstance(entry.get(key), str):
            yield f"{label}: {key} {_state(entry, key)}: give it as the report shows it, in quotes"
    nth = entry.get("nth", 1)
    if not isinstance(nth, int) or isinstance(nth, bool) or not 1 <= nth <= _MOST_ALIKE:
        yield f"{label}: nth {_state(entry, 'nth')}: give a number from 1"


_WANTED: Mapping[str, str] = {
    "file": "the path from the top of the repository",
    "reason": "a sentence that says why the mutant may live",
}


def _waiver(entry: Mapping[str, object]) -> Waiver:
    file = str(entry["file"])
    nth = entry.get("nth", 1)
    mutant = str(entry.get("mutant", "")) or identity(
        file,
        str(entry["qualname"]),
        " ".join(str(entry["original"]).split()),
        " ".join(str(entry["mutated"]).split()),
        nth if isinstance(nth, int) else 1,
    )
    expires = _date(entry["expires"]) if "expires" in entry else None
    return Waiver(
        file=file,
        reason=" ".join(str(entry["reason"]).split()),
        mutant=mutant,
        expires=expires.isoformat() if expires else "",
    )


def _date(value: object) -> datetime.date | None:
    """A TOML date, or one in quotes."""
    if isinstance(value, datetime.datetime):
        return None
    if isinstance(value, datetime.date):
        return value
    try:
        return datetime.date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _state(entry: Mapping[str, object], key: str) -> str:
    if key not in entry:
        return "is missing"
    try:
        shown = repr(entry[key])
    except ValueError:  # Python shows no number of thousands of digits
        shown = "a number of thousands of digits"
    return f"= {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'} cannot be used"


def _near(key: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(key, list(known), n=1)
    return f'; did you mean "{found[0]}"?' if found else ""
