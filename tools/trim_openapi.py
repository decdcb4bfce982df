"""Keep of GitHub's description of its API what our tests need: ``python tools/trim_openapi.py UNPACKED-PACKAGE``.

The package is @octokit/openapi (MIT). Run by hand when it has a new version; what it writes is committed.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

FLAVOURS = ("api.github.com", "ghes-3.17")
INTO = Path(__file__).resolve().parents[1] / "tests" / "github_api" / "description"
REPOSITORY = "/repos/{owner}/{repo}"
OPERATIONS = {
    REPOSITORY: ("get",),
    f"{REPOSITORY}/branches/{{branch}}": ("get",),
    f"{REPOSITORY}/check-runs": ("post",),
    f"{REPOSITORY}/check-runs/{{check_run_id}}": ("get", "patch"),
    f"{REPOSITORY}/commits/{{ref}}": ("get",),
    f"{REPOSITORY}/commits/{{ref}}/check-runs": ("get",),
    f"{REPOSITORY}/contents/{{path}}": ("get", "put"),
    f"{REPOSITORY}/git/refs": ("post",),
    f"{REPOSITORY}/issues": ("get", "post"),
    f"{REPOSITORY}/issues/{{issue_number}}": ("get", "patch"),
    f"{REPOSITORY}/issues/{{issue_number}}/comments": ("get", "post"),
    f"{REPOSITORY}/issues/comments/{{comment_id}}": ("get", "patch"),
    f"{REPOSITORY}/pulls": ("get", "post"),
    f"{REPOSITORY}/pulls/{{pull_number}}": ("get",),
    f"{REPOSITORY}/actions/runs/{{run_id}}": ("get",),
    f"{REPOSITORY}/actions/runs/{{run_id}}/artifacts": ("get",),
    f"{REPOSITORY}/actions/artifacts/{{artifact_id}}/{{archive_format}}": ("get",),
    "/user": ("get",),
}
_PROSE = frozenset({"description", "summary", "example", "examples", "externalDocs", "tags", "title", "operationId"})


def trimmed(whole: dict[str, Any]) -> dict[str, Any]:
    """Our operations, and every component that they refer to, without prose."""
    paths: dict[str, Any] = {}
    for path, methods in OPERATIONS.items():
        found = whole["paths"][path]
        paths[path] = {name: without_prose(found[name]) for name in methods}
    components: dict[str, dict[str, Any]] = {}
    waiting = list(references(paths))
    while waiting:
        _, _, kind, name = waiting.pop().split("/")
        if name not in components.setdefault(kind, {}):
            components[kind][name] = without_prose(whole["components"][kind][name])
            waiting += references(components[kind][name])
    return {"openapi": whole["openapi"], "info": whole["info"], "paths": paths, "components": components}


def without_prose(value: Any, *, names: bool = False) -> Any:
    """``names``: the keys are names of properties, of which one may be called `title`."""
    if isinstance(value, list):
        return [without_prose(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_prose(each, names=key == "properties")
        for key, each in value.items()
        if names or not (key in _PROSE or key.startswith("x-"))
    }


def references(value: Any) -> list[str]:
    """Every `$ref` in a value."""
    if isinstance(value, list):
        return [found for each in value for found in references(each)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [found for each in value.values() for found in references(each)]


def main() -> None:
    """Write both flavours and the licence."""
    package = Path(sys.argv[1])
    INTO.mkdir(parents=True, exist_ok=True)
    for flavour in FLAVOURS:
        whole = json.loads((package / "generated" / f"{flavour}.json").read_text(encoding="utf-8"))
        text = json.dumps(trimmed(whole), separators=(",", ":"), sort_keys=True)
        (INTO / f"{flavour}.json").write_text(text + "\n", encoding="utf-8")
    shutil.copy(package / "LICENSE", INTO / "LICENSE")
    version = json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]
    (INTO / "README.md").write_text(
        f"GitHub's own description of its API: parts of the package `@octokit/openapi` {version} (MIT, see LICENSE),\n"
        "made by `tools/trim_openapi.py`.\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
