"""What a project says of its coverage: which files and lines do not count, in the files that coverage.py reads.

Belongs here: reading that from a tree, with coverage.py's own reader. Does not belong here: what ran. Plugins of
coverage.py that a project names are not loaded: they would run in our process.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from repro_gate.errors import ConfigError, MissingTool

# As coverage.py tries them; the first that speaks of it counts. True: a file of its own.
_FILES = (
    (".coveragerc", True),
    (".coveragerc.toml", True),
    ("setup.cfg", False),
    ("tox.ini", False),
    ("pyproject.toml", False),
)
_ROOT = "/project"  # patterns are made absolute, as coverage.py does it, below a root that is nobody's


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """A project's rules. ``exclude`` and ``partial`` are expressions; ``inside`` is where it is in the tree.

    ``source`` are directories or packages, ``include``, ``reported`` (both must name a file) and ``omit`` patterns;
    ``branches`` False: only lines are asked for. ``file`` is where all of this was read, or empty.
    """

    exclude: str
    partial: str
    source: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    omit: tuple[str, ...] = ()
    branches: bool = True
    inside: str = ""
    file: str = ""
    notes: tuple[str, ...] = ()

    def leaves_out(self, path: str, module: str) -> str:
        """Why a file does not count, as a sentence's end; empty if it does. ``path`` is relative to the tree.

        An ``include`` may mean the place of the installed product, which is never installed here.
        """
        place = f"{_ROOT}/{path}"
        if self.source and not any(self._is_of(source, place, module) for source in self.source):
            return f"it is outside of `source` in {self.file}"
        places = (place, _installed(path, module))
        if any(
            patterns and not any(self._matches(patterns, each) for each in places)
            for patterns in (self.include, self.reported)
        ):
            return f"no `include` of {self.file} names it"
        if self.omit and self._matches(self.omit, place):
            return f"`omit` of {self.file} names it"
        return ""

    def _is_of(self, source: str, place: str, module: str) -> bool:
        folder = _joined(_ROOT, self.inside, source)
        return place == folder or place.startswith(f"{folder}/") or f"{module}.".startswith(f"{source}.")

    def _matches(self, patterns: Sequence[str], place: str) -> bool:
        from coverage.files import GlobMatcher

        root = _joined(_ROOT, self.inside)
        return GlobMatcher([one if one.startswith(("*", "?")) else _joined(root, one) for one in patterns]).match(place)


def read_rules(tree: Path, inside: str = "", named: str = "") -> Rules:
    """The rules of the project in the directory ``inside`` of a tree; ``named``: the file that its tests' own options
    name.

    Raises ConfigError for a file that coverage.py refuses, and MissingTool without coverage.py.
    """
    try:
        from coverage.config import CoverageConfig
        from coverage.exceptions import CoverageException
        from coverage.misc import join_regex
    except ImportError:
        raise MissingTool(
            "The coverage gate needs coverage.py, which is not installed here.",
            next_step="Run `pip install 'repro-gate[coverage]'`, or set `gate-coverage` to off.",
        ) from None
    config = CoverageConfig()
    config.branch = None  # type: ignore[assignment]  # so that a project that turns branches off is told from one that says nothing
    said: list[str] = []
    used = ""
    try:
        for name, own in (*(((named, True),) if named else ()), *_FILES):
            if (tree / inside / name).is_file() and config.from_file(str(tree / inside / name), said.append, own):
                used = name
                break
        config.post_process()
    except CoverageException as refused:
        text = str(refused).replace(f"{tree}/", "")
        raise ConfigError(
            f"coverage.py cannot read base's configuration: {text}.", next_step="Correct it on base."
        ) from None
    notes = [f"{line.replace(f'{tree}/', '')}" for line in said]
    if config.plugins:
        notes.append(f"plugins of coverage.py are not used: {', '.join(config.plugins)}")
    if named and used != named:
        notes.append(f"--cov-config names {named}, and base has no such file with settings of coverage.py in it")
    source = (*(config.source or ()), *config.source_pkgs, *config.source_dirs)
    return Rules(
        exclude=join_regex(config.exclude_list),
        partial=join_regex([*config.partial_list, *config.partial_always_list]),
        source=source,
        include=() if source else tuple(config.run_include or ()),  # as coverage.py has it
        reported=tuple(config.report_include or ()),
        omit=(*(config.run_omit or ()), *(config.report_omit or ())),
        branches=config.branch is not False,
        inside=inside,
        file=used,
        notes=tuple(notes),
    )


def _installed(path: str, module: str) -> str:
    """Where a file of the product would be if that were installed."""
    below = module.replace(".", "/") + ("/__init__" if path.endswith("/__init__.py") else "")
    return f"/lib/python3/site-packages/{below}.py"


def _joined(*parts: str) -> str:
    """A path of these parts, without the dots and slashes that mean nothing; an absolute one begins anew."""
    return posixpath.normpath(posixpath.join(*parts))
