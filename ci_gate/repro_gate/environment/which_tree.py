"""Whether the product comes from the tree whose tests run, and not from a copy in the environment.

Belongs here: the question and its answer. Does not belong here: how it is confined (the caller runs
``question`` in the sandbox, where the tests will run, with the same variables).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath

from repro_gate.errors import WrongTree

# The directory that a process starts in is no answer: tests may change it.
_ASK = """
import importlib.util, json, os, sys
sys.path = [path for path in sys.path if path]
found = {}
for name in sys.argv[1:]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    places = [] if spec is None else list(spec.submodule_search_locations or []) or [spec.origin or ""]
    found[name] = [os.path.realpath(place) for place in places]
print(json.dumps(found))
"""


def question(python: str, packages: Sequence[str]) -> tuple[str, ...]:
    """The command that says where each top-level package would be imported from."""
    return (python, "-c", _ASK, *packages)


def judge(output: str, tree: str, packages: Sequence[str]) -> None:
    """Check the answer against the tree's path (links resolved).

    Raises WrongTree for a package that comes from elsewhere, is not found, or was not answered for.
    """
    try:
        found = json.loads(output)
        places = {name: [str(place) for place in found[name]] for name in packages}
    except (ValueError, KeyError, TypeError):
        raise WrongTree(
            "The environment's Python did not say where the product would be imported from.", details=output[-2000:]
        ) from None
    for name, where in places.items():
        if not where:
            raise WrongTree(
                f"{name} is in the tree {tree}, but the environment's Python does not find it.",
                next_step="Name its folder in the project's build configuration, as `src` would be.",
            )
        if not _inside(where[0], tree):
            raise WrongTree(f"{name} would be imported from {where[0]}, not from the tree {tree}.")


def _inside(path: str, directory: str) -> bool:
    return PurePosixPath(path).is_relative_to(directory)
