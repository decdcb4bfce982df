"""What axes replace still says what it is: a function's name, module, words and signature are looked at by programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Described in one process without and in one with the axes; whatever differs was replaced by another thing.
DESCRIBE = """\
import asyncio, datetime, glob, inspect, json, os, random, re, secrets, sys, tempfile, threading, time
from repro_gate_pytest import axes, wire

if sys.argv[1:]:
    axes.install()
    axes.apply(dict(wire.NEUTRAL, **{"asyncio": 1, "threads": 1, "listing": 1, "random": 1}))
try:
    import numpy.random
except ImportError:
    pass


def signature(function):
    try:
        return str(inspect.signature(function))
    except (TypeError, ValueError) as error:
        return type(error).__name__


def told(thing):
    names = ("__name__", "__qualname__", "__module__", "__doc__")
    kept = {name: str(getattr(thing, name, None)) for name in names}
    return {**kept, "signature": re.sub(" at 0x[0-9a-f]+", "", signature(thing))}


def walk():
    for module in list(sys.modules.values()):
        name = getattr(module, "__name__", "")
        if not name or name.startswith(("repro_gate", "_pytest", "pytest")):
            continue
        for key, value in list(vars(module).items()):
            if inspect.isclass(value) and value.__module__ == name:
                for inner in list(vars(value)):
                    yield "%s.%s.%s" % (name, key, inner), getattr(value, inner, None)
            yield "%s.%s" % (name, key), value


print(json.dumps({where: told(value) for where, value in walk() if inspect.isroutine(value)}))
"""


def described(*arguments: str) -> dict[str, dict[str, str]]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "pytest_plugin")}
    done = subprocess.run(
        [sys.executable, "-c", DESCRIBE, *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


def test_everything_that_axes_replace_keeps_name_module_words_and_signature() -> None:
    plain, moved = described(), described("moved")
    common = plain.keys() & moved.keys()
    assert {"threading.Thread.start", "time.time", "datetime.datetime.now", "random.seed", "os.listdir"} <= common
    assert {where: moved[where] for where in common if moved[where] != plain[where]} == {}
