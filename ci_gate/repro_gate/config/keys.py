"""The one table of keys: names, types, defaults, and the words for them.

Belongs here: what a key is called, may be, and means; the documentation is generated from it.
Does not belong here: files, variables and precedence (loading).
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from repro_gate.model import AXES

Kind = Literal["whole", "number", "text", "names", "words", "commands"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """What people read about a key. ``kind`` is how its text is read from a variable.

    ``names`` are split at commas and spaces, ``words`` like a shell's line, ``commands`` at ends of lines.
    """

    kind: Kind
    allowed: str
    about: str


def _is_axis(value: object) -> object:
    if isinstance(value, str) and value not in AXES:
        raise ValueError("not an axis")
    return value


def _one_or_more(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _is_command(value: object) -> object:
    if isinstance(value, str) and not shlex.split(value):
        raise ValueError("not a command")
    return value


def _hyphenated(field: str) -> str:
    return field.replace("_", "-")


Whole = Annotated[int, Field(ge=0)]
AtLeastOne = Annotated[int, Field(ge=1)]
Percent = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
# A NUL can be in no path, argument or variable name of an operating system.
Text = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\x00]+$")]
Name = Annotated[str, StringConstraints(pattern=r"^[^\s,=\x00]+$")]
Axis = Annotated[str, BeforeValidator(_is_axis)]
LevelName = Literal["off", "warn", "block"]
Command = Annotated[Text, BeforeValidator(_is_command)]

_AXIS_NAMES = f"list of axes: {', '.join(AXES)}"
_LEVELS = '"off", "warn" or "block"'
_NAMES = "list of names of environment variables"


class Schema(BaseModel):
    """[tool.repro-gate] as it may be written: strict types, no other keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, alias_generator=_hyphenated)

    runs: Annotated[
        int,
        Field(ge=2),
        Key(kind="whole", allowed="whole number, at least 2", about="Runs of each test in a campaign."),
    ] = 20
    budget: Annotated[
        Seconds | None,
        Key(kind="number", allowed="seconds, more than 0", about="Time after which no further run is started."),
    ] = None
    seed: Annotated[
        Whole | None,
        Key(kind="whole", allowed="whole number, at least 0", about="Seed of the campaign; none: a new one each time."),
    ] = None
    sandbox: Annotated[
        Literal["auto", "docker", "bubblewrap", "host"],
        Key(
            kind="text",
            allowed='"auto", "docker", "bubblewrap" or "host"',
            about="Where tests run; auto is docker if `image` is set, else bubblewrap, else the host (no isolation, and said).",
        ),
    ] = "auto"
    image: Annotated[
        Text | None,
        Key(
            kind="text",
            allowed="name or digest of an image, or path of a Dockerfile",
            about="Image whose Python and packages run the tests in docker; none: a minimal one made from `python`.",
        ),
    ] = None
    jobs: Annotated[
        AtLeastOne | None,
        Key(kind="whole", allowed="whole number, at least 1", about="Runs at the same time; none: by the free cores."),
    ] = None
    test_timeout: Annotated[
        Seconds,
        Key(kind="number", allowed="seconds, more than 0", about="Time for one test, after which it counts as failed."),
    ] = 120.0
    collect_timeout: Annotated[
        Seconds,
        Key(kind="number", allowed="seconds, more than 0", about="Time for pytest to start and collect."),
    ] = 300.0
    memory_limit: Annotated[
        Whole,
        Key(
            kind="whole",
            allowed="MiB, at least 0",
            about="Memory of all test processes; 0: three quarters of what is free.",
        ),
    ] = 0
    python: Annotated[
        Text | None,
        Key(
            kind="text",
            allowed="path or name of an interpreter",
            about="Interpreter that has the project installed; none: the one that runs repro-gate.",
        ),
    ] = None
    invocation: Annotated[
        Literal["python -m pytest", "pytest"],
        Key(
            kind="text",
            allowed='"python -m pytest" or "pytest"',
            about="How the suite is started: the first puts the working directory on sys.path.",
        ),
    ] = "python -m pytest"
    pytest_args: Annotated[
        list[Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]],
        Key(kind="words", allowed="list of strings", about="Further arguments of pytest."),
    ] = []
    install: Annotated[
        list[Command],
        BeforeValidator(_one_or_more),
        Key(
            kind="commands",
            allowed="command, or list of commands",
            about="Commands that make the environment, in place of what the project declares; no shell.",
        ),
    ] = []
    extras: Annotated[
        list[Name],
        Key(
            kind="names",
            allowed="list of names of extras",
            about="Extras that tests need; none: the first of test, tests, testing, dev.",
        ),
    ] = []
    groups: Annotated[
        list[Name],
        Key(
            kind="names",
            allowed="list of names of dependency groups",
            about="Dependency groups that tests need; none: the first of test, tests, testing, dev.",
        ),
    ] = []
    env_cache: Annotated[
        Text | None,
        Key(kind="text", allowed="directory", about="Where environments are kept; none: in the user's cache."),
    ] = None
    exclude: Annotated[
        list[Text],
        Key(kind="words", allowed="list of globs", about="What is not copied with the project's tree."),
    ] = []
    max_tree_mib: Annotated[
        AtLeastOne,
        Key(kind="whole", allowed="MiB, at least 1", about="Largest tree that is copied."),
    ] = 2048
    pass_env: Annotated[
        list[Name],
        Key(kind="names", allowed=_NAMES, about="Variables that tests may see though they look like secrets."),
    ] = []
    redact: Annotated[
        list[Name],
        Key(kind="names", allowed=_NAMES, about="Further variables whose values are secret: redacted from capsules."),
    ] = []
    network: Annotated[
        Literal["blocked", "allowed"],
        Key(kind="text", allowed='"blocked" or "allowed"', about="Whether tests may reach more than loopback."),
    ] = "blocked"
    gate_fail_to_pass: Annotated[
        LevelName,
        Key(kind="text", allowed=_LEVELS, about="Gate of `check`: tests that fail on base and pass on head."),
    ] = "block"
    gate_network: Annotated[
        LevelName,
        Key(kind="text", allowed=_LEVELS, about="Gate of `check`: no test reaches for more than loopback."),
    ] = "block"
    gate_flaky: Annotated[
        LevelName,
        Key(kind="text", allowed=_LEVELS, about="Gate of `check`: new and changed tests behave the same every time."),
    ] = "block"
    gate_coverage: Annotated[
        LevelName,
        Key(kind="text", allowed=_LEVELS, about="Gate of `check`: tests run the changed lines, and lose no other."),
    ] = "warn"
    min_diff_coverage: Annotated[
        Percent,
        Key(
            kind="number",
            allowed="percent, from 0 to 100",
            about="Share of the changed statements that tests must run, with every branch.",
        ),
    ] = 100.0
    gate_mutation: Annotated[
        LevelName,
        Key(kind="text", allowed=_LEVELS, about="Gate of `check`: tests notice small changes to the changed lines."),
    ] = "warn"
    mutation_engine: Annotated[
        Literal["repro-gate", "mutmut"],
        Key(
            kind="text",
            allowed='"repro-gate" or "mutmut"',
            about="Whose operators make mutants: mutmut's and our own, or mutmut's alone; they run the same way.",
        ),
    ] = "repro-gate"
    allowed_survivors: Annotated[
        Whole | None,
        Key(
            kind="whole",
            allowed="whole number, at least 0",
            about="Changed lines on which mutants may survive; none: 0 where `gate-mutation` blocks, else any number.",
        ),
    ] = None
    min_mutation_score: Annotated[
        Percent | None,
        Key(
            kind="number",
            allowed="percent, from 0 to 100",
            about="Share of mutants that tests must notice; a change fails where its whole 95 % interval is below.",
        ),
    ] = None
    mutation_budget: Annotated[
        Seconds,
        Key(kind="number", allowed="seconds, more than 0", about="Time for trying mutants, and for packing survivors."),
    ] = 600.0
    max_waivers: Annotated[
        Whole,
        Key(kind="whole", allowed="whole number, at least 0", about="Waivers of mutants in use on the changed lines."),
    ] = 5
    max_timeouts: Annotated[
        Whole,
        Key(
            kind="whole",
            allowed="whole number, at least 0",
            about="Mutants that tests may notice by not ending; with more, there is no answer.",
        ),
    ] = 3
    test_globs: Annotated[
        list[Text],
        Key(kind="words", allowed="list of globs", about="Further files that belong to the tests, not to the product."),
    ] = []
    axes: Annotated[
        list[Axis],
        Key(kind="names", allowed=_AXIS_NAMES, about="Sources of nondeterminism to vary."),
    ] = list(AXES)
    without_axes: Annotated[
        list[Axis],
        Key(kind="names", allowed=_AXIS_NAMES, about="Axes not to vary; wins over `axes`."),
    ] = []
    capsules: Annotated[
        Text,
        Key(kind="text", allowed="directory", about="Where capsules are written, seen from the directory of the scan."),
    ] = ".repro-gate/capsules"
    replays: Annotated[
        AtLeastOne,
        Key(
            kind="whole",
            allowed="whole number, at least 1",
            about="Fresh processes that must all fail alike before a capsule is called pinned.",
        ),
    ] = 5
    keep_runs: Annotated[
        Text | None,
        Key(kind="text", allowed="directory", about="Where to keep every raw result; none: nowhere."),
    ] = None


def _key_of(field: str) -> Key:
    return next(entry for entry in Schema.model_fields[field].metadata if isinstance(entry, Key))


# Hyphenated name -> its words, in the order of the documentation.
KEYS: dict[str, Key] = {_hyphenated(field): _key_of(field) for field in Schema.model_fields}

DEFAULTS: dict[str, object] = {_hyphenated(field): info.default for field, info in Schema.model_fields.items()}


def allowed(name: str) -> str:
    """The values of a key in words; one without a default value may also be none."""
    return KEYS[name].allowed + (" or none" if DEFAULTS[name] is None else "")


def written(value: object) -> str:
    """A value as a person would write it in the file; none for no value."""
    if value is None:
        return "none"
    if isinstance(value, list | tuple) and tuple(value) == AXES:
        return "all"
    return json.dumps(value, ensure_ascii=False, default=str)


def variable(name: str) -> str:
    """The environment variable of a key."""
    return "REPRO_GATE_" + name.upper().replace("-", "_")


def reference() -> str:
    """A Markdown table of all keys, for the documentation."""
    lines = ["| key | values | default | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {allowed(name)} | `{written(DEFAULTS[name])}` | {key.about} |".replace("\n", " ")
        for name, key in KEYS.items()
    ]
    return "\n".join(lines) + "\n"
