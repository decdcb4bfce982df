"""GitHub's own description of its API, to check what is asked and what we answer with.

Belongs here: finding an operation, validating against it, and the smallest answer that it allows. Does not belong
here: state (server).
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openapi_schema_validator import OAS30Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

_PLACE = Path(__file__).parent / "description"
_DOCUMENT = "urn:github"
_STRINGS = {"uri": "https://example.org/", "date-time": "2026-01-02T03:04:05Z", "email": "a@example.org"}


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One method of one path; ``names`` are the values in the path."""

    path: str
    method: str
    names: Mapping[str, str]
    body: Mapping[str, Any]

    def pointer(self, *steps: str) -> str:
        """Where a part of it stands in the document."""
        return "/".join(_escaped(step) for step in ("#", "paths", self.path, self.method, *steps))


class Description:
    """``flavour`` is the name of a file in ``description``."""

    def __init__(self, flavour: str) -> None:
        self._document = json.loads((_PLACE / f"{flavour}.json").read_text(encoding="utf-8"))
        _let_null_be_one_of(self._document)
        resource = Resource.from_contents(self._document, default_specification=DRAFT4)
        self._registry: Registry[Any] = Registry().with_resource(_DOCUMENT, resource)

    def operation(self, method: str, path: str) -> Operation | None:
        """What a request asks for, or None where we have no description of it."""
        for pattern, methods in self._document["paths"].items():
            wild = re.sub(
                r"\\\{(\w+)\\\}",
                lambda m: f"(?P<{m[1]}>{'.+' if m[1] in ('path', 'branch') else '[^/]+'})",
                re.escape(pattern),
            )
            found = re.fullmatch(wild, path)
            if found and method.lower() in methods:
                return Operation(
                    path=pattern, method=method.lower(), names=found.groupdict(), body=methods[method.lower()]
                )
        return None

    def faults_of_request(self, operation: Operation, query: Mapping[str, str], body: Any) -> list[str]:
        """What is wrong with a request."""
        found = []
        if "requestBody" in operation.body:
            found += self._faults(operation.pointer("requestBody", "content", "application/json", "schema"), body)
        known = {each["name"]: each for each in map(self._resolved, operation.body.get("parameters", ()))}
        for name, value in query.items():
            if name not in known:
                found.append(f"unknown parameter {name}")
            elif "enum" in known[name]["schema"] and value not in known[name]["schema"]["enum"]:
                found.append(f"parameter {name} must not be {value}")
        return found

    def faults_of_answer(self, operation: Operation, status: int, body: Any) -> list[str]:
        """What is wrong with an answer of ours."""
        answers = operation.body["responses"]
        if str(status) not in answers:
            return [f"no answer {status} is described"]
        pointer = operation.pointer("responses", str(status))
        response = answers[str(status)]
        if "$ref" in response:
            pointer, response = response["$ref"], self._resolved(response)
        if "application/json" not in response.get("content", {}):
            return []
        return self._faults(f"{pointer}/content/application~1json/schema", body)

    def smallest(self, schema: str) -> Any:
        """The smallest value that a schema (by its name among the components) allows."""
        return self._made({"$ref": f"#/components/schemas/{schema}"}, 0)

    def _faults(self, pointer: str, body: Any) -> list[str]:
        validator = _validator({"$ref": f"{_DOCUMENT}{pointer}"}, self._registry)
        return [f"{'/'.join(map(str, e.path))}: {e.message[:200]}" for e in validator.iter_errors(body)]

    def _resolved(self, value: Mapping[str, Any]) -> Any:
        if "$ref" not in value:
            return value
        found: Any = self._document
        for step in value["$ref"].split("/")[1:]:
            found = found[step.replace("~1", "/").replace("~0", "~")]
        return self._resolved(found)

    def _made(self, schema: Mapping[str, Any], depth: int) -> Any:
        schema = self._resolved(schema)
        if schema.get("nullable") and depth and not {"anyOf", "oneOf"} & schema.keys():
            return None
        if "enum" in schema:
            return schema["enum"][0]
        for choice in ("oneOf", "anyOf"):
            if choice in schema and "properties" not in schema:
                return self._made(schema[choice][0], depth + 1)
        if "allOf" in schema:
            return {key: value for part in schema["allOf"] for key, value in self._made(part, depth).items()}
        match schema.get("type"):
            case "object" | None:
                wanted = schema.get("required", ())
                return {name: self._made(schema["properties"][name], depth + 1) for name in wanted}
            case "array":
                return []
            case "integer" | "number":
                return max(1, schema.get("minimum", 1))
            case "boolean":
                return False
            case _:
                return _STRINGS.get(schema.get("format", ""), "x")


@functools.cache
def description(flavour: str) -> Description:
    """Read once."""
    return Description(flavour)


def _validator(schema: Mapping[str, Any], registry: Registry[Any]) -> Any:
    return OAS30Validator(schema, registry=registry)


def _let_null_be_one_of(value: Any) -> None:
    """`nullable` beside `enum` means that null is allowed, too, which validators do not see."""
    if isinstance(value, dict) and value.get("nullable") and isinstance(value.get("enum"), list):
        value["enum"] = [*value["enum"], None]
    for each in _children(value):
        _let_null_be_one_of(each)


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _escaped(step: str) -> str:
    return step if step == "#" else step.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")
