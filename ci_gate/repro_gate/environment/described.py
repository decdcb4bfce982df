"""The core metadata of a project that is not built: what pyproject.toml and setup.cfg declare, as an installer has it.

Belongs here: the fields that describe (PEP 621's mapping to core metadata, setuptools' names in setup.cfg), written by
``packaging.metadata``. Does not belong here: version, dependencies and extras, which are facts.
"""

from __future__ import annotations

import configparser
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from packaging.metadata import InvalidMetadata, Metadata, RawMetadata, parse_email

from repro_gate.config import parse_toml
from repro_gate.environment.facts import PYPROJECT
from repro_gate.environment.files import Tree, string, strings, table, text_of

_TYPES = {".md": "text/markdown", ".rst": "text/x-rst", ".txt": "text/plain"}
_CFG_WORDS = (
    ("summary", "description"),
    ("author", "author"),
    ("author_email", "author_email"),
    ("maintainer", "maintainer"),
    ("maintainer_email", "maintainer_email"),
    ("license", "license"),
    ("home_page", "url"),
    ("download_url", "download_url"),
    ("description_content_type", "long_description_content_type"),
)


def described(tree: Tree, needed: str) -> str:
    """The text of METADATA: ``needed`` (name, version and what is required, as header lines) and all that describes.

    A field that the specification refuses is left out, since a build would have refused the project.
    """
    base, _ = parse_email(needed)
    fields: dict[str, Any] = {**_of_setup_cfg(tree), **_of_project(tree)}
    while True:
        raw: dict[str, Any] = {**fields, **base}
        try:
            message = Metadata.from_raw(_of_version(raw)).as_rfc822()
        except ExceptionGroup as refused:
            wrong = {
                str(each.field).replace("-", "_") for each in refused.exceptions if isinstance(each, InvalidMetadata)
            }
            kept = {name: value for name, value in fields.items() if name not in {_KEYS.get(one, one) for one in wrong}}
            if kept == fields:
                return needed
            fields = kept
        else:
            return str(message)


# Fields as the specification spells them -> keys of RawMetadata, where these differ by more than dashes.
_KEYS = {
    "classifier": "classifiers",
    "project_url": "project_urls",
    "license_file": "license_files",
    "platform": "platforms",
}


def _of_version(raw: dict[str, Any]) -> RawMetadata:
    """The lowest version of the specification that knows these fields."""
    newer = "license_expression" in raw or "license_files" in raw
    found: RawMetadata = {**raw, "metadata_version": "2.4" if newer else "2.2"}  # type: ignore[typeddict-item]
    return found


def _of_project(tree: Tree) -> dict[str, Any]:
    """What [project] says."""
    project = table(parse_toml(PYPROJECT, tree[PYPROJECT]), "project") if PYPROJECT in tree else {}
    found: dict[str, Any] = {}
    if summary := string(project.get("description")):
        found["summary"] = " ".join(summary.split())
    if words := strings(project.get("keywords")):
        found["keywords"] = list(words)
    if classifiers := strings(project.get("classifiers")):
        found["classifiers"] = list(classifiers)
    if urls := {label: url for label, url in table(project, "urls").items() if isinstance(url, str)}:
        found["project_urls"] = urls
    for who, key in (("author", "authors"), ("maintainer", "maintainers")):
        found |= _people(who, project.get(key))
    return found | _license(tree, project) | _readme(tree, project.get("readme"))


def _people(who: str, entries: object) -> dict[str, str]:
    """Names without an address are one field, and all with one another: PEP 621."""
    people = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    named = [string(each.get("name")) for each in people if not each.get("email")]
    reached = [_address(string(each.get("name")), string(each.get("email"))) for each in people if each.get("email")]
    told = {who: ", ".join(filter(None, named)), f"{who}_email": ", ".join(reached)}
    return {key: value for key, value in told.items() if value}


def _address(name: str, email: str) -> str:
    """A name with its address; one with a mark that means something in a header is quoted."""
    if not name:
        return email
    quoted = (
        '"{}"'.format(name.replace("\\", "\\\\").replace('"', '\\"')) if set('()<>@,:;".[]\\') & set(name) else name
    )
    return f"{quoted} <{email}>"


def _license(tree: Tree, project: dict[str, Any]) -> dict[str, Any]:
    declared = project.get("license")
    found: dict[str, Any] = {}
    if isinstance(declared, str):
        found["license_expression"] = declared
    elif text := string(table(declared).get("text")) or text_of(tree, string(table(declared).get("file"))):
        found["license"] = text
    patterns = strings(project.get("license-files"))
    files = sorted({path for path in tree for pattern in patterns if _matches(path, pattern)})
    return found | ({"license_files": files} if files else {})


def _matches(path: str, pattern: str) -> bool:
    """Whether a glob names a path from the top of the tree."""
    return len(PurePosixPath(path).parts) == len(PurePosixPath(pattern).parts) and PurePosixPath(path).match(pattern)


def _readme(tree: Tree, declared: object) -> dict[str, str]:
    if isinstance(declared, str):
        declared = {"file": declared}
    path = string(table(declared).get("file"))
    text = string(table(declared).get("text")) or text_of(tree, path)
    kind = string(table(declared).get("content-type")) or _TYPES.get(PurePosixPath(path).suffix.lower(), "")
    found = {"description": text, "description_content_type": kind}
    return {key: value for key, value in found.items() if value} if text else {}


def _of_setup_cfg(tree: Tree) -> dict[str, Any]:
    """What [metadata] of setup.cfg says, by setuptools' names."""
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text_of(tree, "setup.cfg"))
    words = dict(parser.items("metadata")) if parser.has_section("metadata") else {}
    words = {name.replace("-", "_"): text.strip() for name, text in words.items()}
    found: dict[str, Any] = {field: words[name] for field, name in _CFG_WORDS if words.get(name)}
    if classifiers := _listed(tree, words.get("classifiers", "")):
        found["classifiers"] = classifiers
    if keywords := [word.strip() for word in words.get("keywords", "").replace("\n", ",").split(",") if word.strip()]:
        found["keywords"] = keywords
    pairs = (line.partition("=") for line in words.get("project_urls", "").splitlines())
    if urls := {label.strip(): url.strip() for label, _, url in pairs if url.strip()}:
        found["project_urls"] = urls
    if text := "\n".join(_texts(tree, words.get("long_description", ""))):
        found["description"] = text
    if "summary" in found:
        found["summary"] = " ".join(found["summary"].split())
    return found


def _listed(tree: Tree, text: str) -> list[str]:
    lines = (line.strip() for part in _texts(tree, text) for line in part.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _texts(tree: Tree, value: str) -> Iterator[str]:
    """A value as it stands, or the files that ``file:`` names."""
    if value.startswith("file:"):
        yield from (text_of(tree, path.strip()) for path in value.removeprefix("file:").split(","))
    elif value:
        yield value
