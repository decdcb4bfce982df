"""The bridge to the plugin: its wire format, where its files are, and how a process enlists."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

from repro_gate.model import Conditions
from repro_gate_pytest import wire

WIRE_VERSION = wire.VERSION
ZONES = wire.ZONES
ENVIRONMENTS = wire.ENVIRONMENTS
NON_UTF8 = wire.NON_UTF8
PLUGIN = "repro_gate_pytest.plugin"


def plugin_root() -> Path:
    """The directory that must be on sys.path for the plugin to be importable."""
    return plugin_package().parent


def plugin_package() -> Path:
    """The plugin's package, which is all that a test process needs of us."""
    return Path(wire.__file__).resolve().parent


def shelve(directory: Path) -> Path:
    """A directory below this one that holds the plugin alone, under the name of a place for installed packages.

    Who looks for a project's own modules by their paths, as Hypothesis does for constants, takes none of ours for one.
    """
    shelf = directory / "site-packages"
    shelf.mkdir()
    package = plugin_package()
    (shelf / package.name).symlink_to(package, target_is_directory=True)
    return shelf


def plugin_files() -> dict[str, bytes]:
    """The plugin's source files by their path below ``plugin_root()``."""
    root = plugin_root()
    package = plugin_package()
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(package.rglob("*.py"))}


@functools.cache
def tracers() -> tuple[Path, ...]:
    """coverage.py's tracer in C, if it is installed beside us: the plugin uses it where it fits the interpreter."""
    spec = importlib.util.find_spec("coverage")
    places = (spec and spec.submodule_search_locations) or ()
    return tuple(path for place in places for path in sorted(Path(place).glob("tracer.*.so")))


def bootstrap(root: str) -> str:
    """The ``-c`` program of a test process; the plugin's root goes last, so it hides nothing."""
    return f"import sys; sys.path.append({root!r}); from repro_gate_pytest import enlist; enlist.main()"


def is_called_test(path: str) -> bool:
    """Whether a test process takes a file of the tree for one of tests without being told."""
    return wire.TEST_PATH.search(path) is not None


arrange = wire.arrange
leaves_checkout = wire.leaves_checkout


@functools.lru_cache(maxsize=4096)  # asked for each waiting job whenever one could start
def start_of(conditions: Conditions) -> Conditions:
    """What of these conditions only the start of a process can set; the rest neutral."""
    return Conditions.from_json(wire.start_conditions(conditions.to_json()))
