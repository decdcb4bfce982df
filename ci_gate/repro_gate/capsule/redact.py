"""Secrets out of texts before anything is written, and a last look at what was.

Each secret becomes ``<redacted:KIND:TAG>``, where the tag is an HMAC of the value under a key that
is not kept: equal values stay equal, and nobody can try values against a tag.
"""

from __future__ import annotations

import hmac
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from repro_gate.capsule import detect
from repro_gate.capsule.archive import gunzip
from repro_gate.capsule.detect import Span
from repro_gate.capsule.literals import Literals
from repro_gate.errors import SecretFound

POLICY = "repro-gate/redact/v1"

_TAG = re.compile(rf"<redacted:(?:{'|'.join(detect.KINDS)}):[0-9a-f]{{8}}>")
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_ROUNDS = 8
_REMEMBERED = 20_000
_SHORT = 400


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Finding:
    """What the final scan found: which member holds what kind of secret. Never the value."""

    member: str
    kind: str


class Redactor:
    """Replaces secrets by tags, and counts them by kind.

    ``literals`` are secret values by where they come from (``secret_literals`` makes them from a
    process's variables); ``key`` is random, one per capsule, and must not be stored.
    """

    def __init__(self, policy_id: str, key: bytes, literals: Mapping[str, str]) -> None:
        self.policy = policy_id
        self.counts: Counter[str] = Counter()
        self._key = key
        self._literals = Literals(literals.values())
        self._known: dict[str, tuple[str, Counter[str]]] = {}

    def redact(self, text: str) -> str:
        """``text`` with a tag in place of each secret. Redacting twice changes nothing more."""
        result, counts = self._looked_up(text)
        self.counts += counts
        return result

    def redact_json(self, value: Any) -> Any:
        """A JSON value with every string in it redacted, keys too, and values that their key calls secret."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, Mapping):
            return {self.redact(str(key)): self._redact_pair(str(key), item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.redact_json(item) for item in value]
        return value

    def redact_to_json(self, value: Any) -> str:
        """``value`` redacted and written as JSON in which the final scan finds nothing.

        What is a secret only in its context (a list of a header's name and its value) is found in
        the written text, and the whole string it is in is replaced.
        """
        text = _to_json(self.redact_json(value))
        for _ in range(_ROUNDS):
            spans = list(self._find(text))
            if not spans:
                break
            text, before = self._replace_strings(text, spans), text
            if text == before:
                break
        return text

    def scan(self, members: Mapping[str, bytes]) -> list[Finding]:
        """Secrets in finished members, by the same detectors; gzip members are unpacked (capped)."""
        found: set[Finding] = set()
        for name, data in members.items():
            plain = name
            if name.endswith(".gz"):
                data, plain = gunzip(name, data), name[: -len(".gz")]
            text = data.decode("utf-8", "surrogateescape")
            kinds = {span.kind for span in self._find(text)}
            if plain.endswith((".json", ".jsonl")):
                kinds.update(self._kinds_in_json(text, by_line=plain.endswith(".jsonl")))
            found |= {Finding(member=name, kind=kind) for kind in kinds}
        return sorted(found)

    # One text

    def _looked_up(self, text: str) -> tuple[str, Counter[str]]:
        """``_rounds`` of the text; test ids, outcomes and fingerprints come again and again."""
        if len(text) > _SHORT:
            return self._rounds(text)
        if text not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[text] = self._rounds(text)
        return self._known[text]

    def _rounds(self, text: str) -> tuple[str, Counter[str]]:
        counts: Counter[str] = Counter()
        for _ in range(_ROUNDS):  # a removed secret may be what kept its neighbour from being seen
            spans = list(self._find(text))
            if not spans:
                break
            counts.update(span.kind for span in spans)
            text = self._replace(text, spans)
        return text, counts

    def _find(self, text: str) -> Iterator[Span]:
        """Secrets from left to right, without overlap, outside of tags."""
        if "<redacted:" in text:
            text = _TAG.sub(_mask, text)
        spans = [*self._literals.find(text), *detect.find(text)]
        group: list[Span] = []
        reach = 0
        for span in sorted(spans, key=lambda s: (s.start, -s.end)):
            if group and span.start >= reach:
                yield _union(group)
                group = []
            group.append(span)
            reach = max(reach, span.end)
        if group:
            yield _union(group)

    def _replace(self, text: str, spans: Iterable[Span]) -> str:
        out: list[str] = []
        at = 0
        for span in spans:
            out += (text[at : span.start], self._tag(span.kind, span.value or text[span.start : span.end]))
            at = span.end
        return "".join((*out, text[at:]))

    def _tag(self, kind: str, value: str) -> str:
        digest = hmac.digest(self._key, value.encode("utf-8", "surrogatepass"), "sha256")
        return f"<redacted:{kind}:{digest[:4].hex()}>"

    # JSON

    def _redact_pair(self, key: str, item: Any) -> Any:
        if not _is_secret_item(key, item):
            return self.redact_json(item)
        self.counts["assignment"] += 1
        return self._tag("assignment", str(item))

    def _replace_strings(self, text: str, spans: list[Span]) -> str:
        out: list[str] = []
        at = number = 0
        for match in _JSON_STRING.finditer(text):
            while number < len(spans) and spans[number].end <= match.start():
                number += 1
            if number < len(spans) and spans[number].start < match.end():
                kind = spans[number].kind
                self.counts[kind] += 1
                out += (text[at : match.start()], f'"{self._tag(kind, match[0])}"')
                at = match.end()
        return "".join((*out, text[at:]))

    def _kinds_in_json(self, text: str, *, by_line: bool) -> Iterator[str]:
        """Kinds in the decoded strings of a JSON text: escapes may hide a secret from a look at the text."""
        for document in text.split("\n") if by_line else [text]:
            try:
                value = json.loads(document)
            except (ValueError, RecursionError):
                continue
            yield from self._kinds_in_value(value)

    def _kinds_in_value(self, value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield from self._looked_up(value)[1]
        elif isinstance(value, list):
            for item in value:
                yield from self._kinds_in_value(item)
        elif isinstance(value, dict):
            for key, item in value.items():
                if _is_secret_item(key, item):
                    yield "assignment"
                yield from self._looked_up(key)[1]
                yield from self._kinds_in_value(item)


def _is_secret_item(key: str, item: Any) -> bool:
    """Whether the key of a JSON object says that its value is a secret."""
    if isinstance(item, str):
        return detect.is_secret_pair(key, _TAG.sub("", item))
    return type(item) in (int, float) and detect.is_secret_pair(key, str(item), bare=True)


def _mask(tag: re.Match[str]) -> str:
    """As long as the tag, and nothing that any detector reads over."""
    return "\n" + "<" * (len(tag[0]) - 2) + "\n"


def _union(group: list[Span]) -> Span:
    """One span for spans that overlap, of the kind of the widest; a known value counts as itself."""
    start, end = min(s.start for s in group), max(s.end for s in group)
    widest = max(group, key=lambda s: s.end - s.start)
    exact = next((s for s in group if s.value is not None and (s.start, s.end) == (start, end)), None)
    return exact or Span(start, end, widest.kind)


def _to_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def refuse_secrets(findings: Iterable[Finding]) -> None:
    """Raise SecretFound naming members and kinds, if there is any finding."""
    named = sorted({f"{finding.member} ({finding.kind})" for finding in findings})
    if named:
        raise SecretFound(f"the capsule would hold what looks like a secret: {', '.join(named)}; it was not written")
