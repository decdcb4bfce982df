"""Configuration: precedence, the origin of each value, and every way to get it wrong."""

from __future__ import annotations

import dataclasses
import os
import typing
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.config import Settings, Source, find_root, load, reference
from repro_gate.config.keys import DEFAULTS, KEYS, Schema, variable, written
from repro_gate.errors import ConfigError, ReproGateError, UsageError
from repro_gate.model import AXES

# A machine that is busy with something else is no bug.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def project(root: Path, table: str = "", *, own: str | None = None) -> Path:
    """A project with a [tool.repro-gate] table of these lines, and a repro-gate.toml of those."""
    (root / "pyproject.toml").write_text(f"[project]\nname = 'x'\n\n[tool.repro-gate]\n{table}\n" if table else "")
    if own is not None:
        (root / "repro-gate.toml").write_text(own)
    return root


def loaded(
    root: Path, overrides: Mapping[str, object] | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    return load(root, overrides or {}, environ or {})


def refusal(
    root: Path,
    overrides: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    kind: type[ReproGateError] = ConfigError,
) -> str:
    with pytest.raises(kind) as caught:
        loaded(root, overrides, environ)
    return str(caught.value)


# --- values and their sources ----------------------------------------------------------------


def test_without_any_file_every_value_is_the_default(tmp_path: Path) -> None:
    settings = loaded(tmp_path)
    assert (settings.runs, settings.sandbox, settings.test_timeout) == (20, "auto", 120.0)
    assert (settings.budget, settings.seed, settings.jobs, settings.python, settings.keep_runs) == (None,) * 5
    assert settings.varied == AXES
    assert {settings.source(name) for name in KEYS} == {Source.DEFAULT}


def test_every_key_can_be_set_in_a_file(tmp_path: Path) -> None:
    table = """
        runs = 50
        budget = 600
        seed = 7
        sandbox = "host"
        image = "python:3.13-slim"
        jobs = 3
        test-timeout = 1.5
        collect-timeout = 60
        memory-limit = 2048
        python = ".venv/bin/python"
        invocation = "pytest"
        pytest-args = ["-p", "no:cacheprovider"]
        install = "pip install -e '.[test]'"
        extras = ["test"]
        groups = ["dev"]
        env-cache = "cache"
        exclude = ["data/**"]
        max-tree-mib = 10
        pass-env = ["API_TOKEN"]
        redact = ["LICENCE"]
        network = "allowed"
        gate-fail-to-pass = "warn"
        gate-network = "off"
        gate-flaky = "block"
        gate-coverage = "block"
        min-diff-coverage = 80
        gate-mutation = "block"
        allowed-survivors = 1
        min-mutation-score = 80
        mutation-budget = 60
        max-waivers = 2
        max-timeouts = 0
        mutation-engine = "mutmut"
        test-globs = ["checks/**"]
        axes = ["order", "clock"]
        without-axes = ["clock"]
        capsules = "out"
        replays = 3
        keep-runs = "raw"
    """
    settings = loaded(project(tmp_path, table))
    assert {settings.source(name) for name in KEYS} == {Source.FILE}
    assert (settings.budget, settings.max_tree_mib, settings.invocation) == (600.0, 10, "pytest")
    assert settings.pytest_args == ("-p", "no:cacheprovider")
    assert settings.install == ("pip install -e '.[test]'",)
    assert settings.varied == ("order",)
    assert settings.python == ".venv/bin/python"
    assert (settings.allowed_survivors, settings.min_mutation_score, settings.max_timeouts) == (1, 80.0, 0)


def test_the_own_file_holds_the_keys_at_its_top_level(tmp_path: Path) -> None:
    project(tmp_path, own="runs = 5\n")
    assert loaded(tmp_path).runs == 5
    assert loaded(tmp_path).file == "repro-gate.toml"


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    project(tmp_path, "runs = 3\njobs = 3\nreplays = 3")
    settings = loaded(
        tmp_path,
        {"runs": 5, "jobs": None},
        {"REPRO_GATE_RUNS": "4", "REPRO_GATE_JOBS": "4"},
    )
    assert (settings.runs, settings.jobs, settings.replays) == (5, 4, 3)
    assert [settings.source(name) for name in ("runs", "jobs", "replays", "seed")] == [
        Source.COMMAND_LINE,
        Source.ENVIRONMENT,
        Source.FILE,
        Source.DEFAULT,
    ]


def test_each_line_of_explain_names_the_origin(tmp_path: Path) -> None:
    project(tmp_path, "runs = 3")
    lines = loaded(tmp_path, {"test_timeout": 9.0}, {"REPRO_GATE_PASS_ENV": "A, B"}).explain()
    assert len(lines) == len(KEYS)
    assert {
        "runs = 3  (pyproject.toml)",
        'pass-env = ["A", "B"]  (REPRO_GATE_PASS_ENV)',
        "test-timeout = 9.0  (--test-timeout)",
        "seed = none  (default)",
        "axes = all  (default)",
    } <= set(lines)


def test_a_source_is_asked_by_either_spelling_and_no_key_has_none(tmp_path: Path) -> None:
    settings = loaded(tmp_path, {"test-timeout": 9.0})
    assert settings.source("test_timeout") is settings.source("test-timeout") is Source.COMMAND_LINE
    with pytest.raises(KeyError):
        settings.source("tests-timeout")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("RUNS", " 7 ", 7),
        ("BUDGET", "90.5", 90.5),
        ("BUDGET", "none", None),
        ("SEED", "none", None),
        ("SANDBOX", "host", "host"),
        ("PYTEST_ARGS", "-k 'a and b' -x", ("-k", "a and b", "-x")),
        ("EXCLUDE", "data/{a,b}/** build", ("data/{a,b}/**", "build")),
        ("INSTALL", "pip install a b\n pip install c", ("pip install a b", "pip install c")),
        ("AXES", "order,clock", ("order", "clock")),
        ("AXES", "order clock", ("order", "clock")),
        ("AXES", "all", AXES),
        ("AXES", "none", ()),
        ("CAPSULES", "a b", "a b"),
    ],
)
def test_a_variable_is_read_by_the_type_of_its_key(tmp_path: Path, name: str, text: str, value: object) -> None:
    project(tmp_path, 'budget = 5\nseed = 5\naxes = ["gc"]')
    settings = loaded(tmp_path, environ={f"REPRO_GATE_{name}": text})
    assert getattr(settings, name.lower()) == value
    assert settings.source(name.lower()) is Source.ENVIRONMENT


def test_an_empty_variable_is_not_set(tmp_path: Path) -> None:
    settings = loaded(project(tmp_path, "runs = 3"), environ={"REPRO_GATE_RUNS": " "})
    assert (settings.runs, settings.source("runs")) == (3, Source.FILE)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("TEST_TIMEOUTS", "TEST_TIMEOUT"), ("RUN", "RUNS"), ("AXIS", "AXES"), ("WITHOUT_AXIS", "WITHOUT_AXES")],
)
def test_a_misspelt_variable_is_refused_as_a_misspelt_key_is(tmp_path: Path, given: str, meant: str) -> None:
    message = refusal(tmp_path, environ={f"REPRO_GATE_{given}": "3"})
    assert message == f"REPRO_GATE_{given} is not a setting; did you mean REPRO_GATE_{meant}?"


@pytest.mark.parametrize("name", ["VERSION", "TOKEN", "CHANNEL", "PYTHON_VERSION", "BRANCH", "CACHE_DIR"])
def test_a_variable_of_ones_own_with_our_prefix_is_only_noted(tmp_path: Path, name: str) -> None:
    environ = {f"REPRO_GATE_{name}": "3", "OTHER": "1", "REPRO_GATE_RUN": ""}
    settings = loaded(tmp_path, environ=environ)
    assert settings.notes == (f"REPRO_GATE_{name} is not a setting of repro-gate, and is not read",)


def test_options_may_be_given_as_text_paths_and_tuples(tmp_path: Path) -> None:
    overrides = {"runs": "30", "keep_runs": tmp_path / "raw", "axes": ("gc",), "pytest_args": ["-x"], "budget": "none"}
    settings = loaded(project(tmp_path, "budget = 9"), overrides)
    assert (settings.runs, settings.axes, settings.pytest_args, settings.budget) == (30, ("gc",), ("-x",), None)
    assert settings.keep_runs == str(tmp_path / "raw")
    assert settings.source("budget") is Source.COMMAND_LINE


def test_a_relative_path_is_seen_from_the_user_on_the_command_line_and_from_the_root_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, 'capsules = "out"\npython = "bin/python"')
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert (loaded(tmp_path).capsules, loaded(tmp_path).python) == ("out", "bin/python")
    given = loaded(tmp_path, {"capsules": "out", "python": "bin/python"})
    assert (given.capsules, given.python) == (str(below / "out"), str(below / "bin" / "python"))
    assert loaded(tmp_path, {"python": "python3.12"}).python == "python3.12"


def test_settings_are_frozen_and_can_be_keys(tmp_path: Path) -> None:
    assert len({loaded(tmp_path), loaded(tmp_path)}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded(tmp_path).runs = 3  # type: ignore[misc]


# --- every way to get it wrong ---------------------------------------------------------------

WRONG = [
    ("runs", "1", "whole number, at least 2"),
    ("runs", "20.0", "whole number, at least 2"),
    ("runs", "true", "whole number, at least 2"),
    ("runs", '"20"', "whole number, at least 2"),
    ("budget", "0", "seconds, more than 0 or none"),
    ("budget", "inf", "seconds, more than 0 or none"),
    ("budget", '"10m"', "seconds, more than 0 or none"),
    ("seed", "-1", "whole number, at least 0 or none"),
    ("sandbox", '"podman"', '"auto", "docker", "bubblewrap" or "host"'),
    ("gate-fail-to-pass", '"on"', '"off", "warn" or "block"'),
    ("gate-network", "true", '"off", "warn" or "block"'),
    ("gate-flaky", '"blocks"', '"off", "warn" or "block"'),
    ("gate-coverage", '"yes"', '"off", "warn" or "block"'),
    ("min-diff-coverage", "101", "percent, from 0 to 100"),
    ("min-diff-coverage", "-1", "percent, from 0 to 100"),
    ("min-diff-coverage", "nan", "percent, from 0 to 100"),
    ("gate-mutation", '"fail"', '"off", "warn" or "block"'),
    ("allowed-survivors", "-1", "whole number, at least 0 or none"),
    ("min-mutation-score", "101", "percent, from 0 to 100 or none"),
    ("mutation-budget", "0", "seconds, more than 0"),
    ("mutation-engine", '"cosmic-ray"', '"repro-gate" or "mutmut"'),
    ("max-waivers", '"many"', "whole number, at least 0"),
    ("max-timeouts", "1.5", "whole number, at least 0"),
    ("test-globs", '"tests/**"', "list of globs"),
    ("image", '""', "name or digest of an image, or path of a Dockerfile or none"),
    ("jobs", "0", "whole number, at least 1 or none"),
    ("test-timeout", "-5", "seconds, more than 0"),
    ("collect-timeout", "nan", "seconds, more than 0"),
    ("memory-limit", "-1", "MiB, at least 0"),
    ("python", '""', "path or name of an interpreter or none"),
    ("invocation", '"py.test"', '"python -m pytest" or "pytest"'),
    ("pytest-args", '"-x"', "list of strings"),
    ("install", "3", "command, or list of commands"),
    ("extras", '"test"', "list of names of extras"),
    ("groups", '[""]', "list of names of dependency groups"),
    ("env-cache", "true", "directory or none"),
    ("exclude", "[1]", "list of globs"),
    ("max-tree-mib", "0", "MiB, at least 1"),
    ("pass-env", '["A=B"]', "list of names of environment variables"),
    ("redact", '[""]', "list of names of environment variables"),
    ("network", "true", '"blocked" or "allowed"'),
    ("axes", '"order"', "list of axes: order, hash-seed"),
    ("without-axes", '"time"', "list of axes: order, hash-seed"),
    ("capsules", "3", "directory"),
    ("replays", "0", "whole number, at least 1"),
    ("keep-runs", "false", "directory or none"),
]


def test_the_wrong_values_cover_every_key() -> None:
    assert {name for name, _, _ in WRONG} == set(KEYS)


@pytest.mark.parametrize(("name", "value", "allowed"), WRONG)
def test_a_bad_value_names_file_key_value_and_what_is_allowed(
    tmp_path: Path, name: str, value: str, allowed: str
) -> None:
    message = refusal(project(tmp_path, f"{name} = {value}"))
    shown = {"nan": "NaN", "inf": "Infinity"}.get(value, value.strip("[]"))
    assert message.startswith(f"pyproject.toml: [tool.repro-gate] {name}")
    assert f"= {shown}: must be {allowed}" in message


def test_a_bad_element_is_named_by_its_place_with_a_hint(tmp_path: Path) -> None:
    message = refusal(project(tmp_path, 'pass-env = ["A", "B=C"]'))
    assert 'pass-env[1] = "B=C": must be list of names of environment variables' in message


@pytest.mark.parametrize(("wrong", "meant"), [("hash_sed", '; did you mean "hash-seed"?'), ("zzz", "")])
@pytest.mark.parametrize("key", ["axes", "without-axes"])
def test_an_axis_that_does_not_exist_is_named_with_those_that_do(
    tmp_path: Path, key: str, wrong: str, meant: str
) -> None:
    message = refusal(project(tmp_path, f'{key} = ["gc", "{wrong}"]'))
    known = ", ".join(AXES)
    assert message.endswith(f'{key}[1]: there is no axis "{wrong}"{meant}; the axes are {known}')
    by_variable = refusal(tmp_path, environ={"REPRO_GATE_" + key.upper().replace("-", "_"): wrong})
    assert f'there is no axis "{wrong}"' in by_variable


@pytest.mark.parametrize(
    ("key", "meant"),
    [("rnus", "runs"), ("test_timeout", "test-timeout"), ("Sandbox", "sandbox"), ("without_axis", "without-axes")],
)
def test_an_unknown_key_is_refused_with_what_was_meant(tmp_path: Path, key: str, meant: str) -> None:
    message = refusal(project(tmp_path, f"{key} = 3"))
    assert message == f'pyproject.toml: [tool.repro-gate] unknown key "{key}"; did you mean "{meant}"?'


def test_an_unknown_key_near_nothing_has_no_hint(tmp_path: Path) -> None:
    assert refusal(project(tmp_path, own="zzz = 1")) == 'repro-gate.toml: unknown key "zzz"'


def test_all_problems_of_all_sources_are_in_one_message(tmp_path: Path) -> None:
    project(tmp_path, 'runs = 1\nnet = "x"\naxes = ["a", "b"]')
    message = refusal(tmp_path, {"jobs": 0}, {"REPRO_GATE_SEED": "x"})
    assert message.startswith("6 problems in the configuration:\n")
    for part in ("runs = 1", 'unknown key "net"', "axes[0]", "axes[1]", 'REPRO_GATE_SEED = "x"', "--jobs = 0"):
        assert part in message


def test_a_bad_value_in_a_file_is_refused_even_where_an_option_hides_it(tmp_path: Path) -> None:
    assert "runs = 1" in refusal(project(tmp_path, "runs = 1"), {"runs": 5})


@pytest.mark.parametrize(
    ("name", "text"),
    [("RUNS", "x"), ("BUDGET", "nan"), ("PYTEST_ARGS", "'open"), ("NETWORK", "yes")],
)
def test_a_bad_variable_is_named(tmp_path: Path, name: str, text: str) -> None:
    assert refusal(tmp_path, environ={f"REPRO_GATE_{name}": text}).startswith(f"REPRO_GATE_{name} = ")


@pytest.mark.parametrize("command", ["pip install 'open", " "])
def test_an_install_command_must_be_one(tmp_path: Path, command: str) -> None:
    message = refusal(project(tmp_path, f'install = ["pip install a", "{command}"]'))
    assert (
        message == f'pyproject.toml: [tool.repro-gate] install[1] = "{command}": must be command, or list of commands'
    )


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"runs": 1}, "--runs = 1: must be whole number, at least 2"),
        ({"test_timeout": "soon"}, '--test-timeout = "soon": must be seconds, more than 0'),
        ({"runs": "many"}, '--runs = "many": must be whole number, at least 2'),
        ({"sandbx": "host"}, 'there is no option --sandbx; did you mean "sandbox"?'),
        ({"capsules": "a\0b"}, '--capsules = "a\\u0000b": must be directory'),
    ],
)
def test_a_bad_option_is_a_usage_error_that_names_it(
    tmp_path: Path, overrides: dict[str, object], message: str
) -> None:
    assert refusal(tmp_path, overrides, kind=UsageError) == message


def test_an_option_is_called_what_it_is_called_at_the_door(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--repro-flake-check = 1: must be whole number, at least 2"):
        load(tmp_path, {"runs": 1}, {}, {"runs": "--repro-flake-check"})


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"[tool.repro-gate]\nruns = \n", 2),
        (b"a = 1\r\nb = 2\r\na = 3\r\n", 3),
        (b"a = 1\nb = [1,\n2,\n", 3),
        (b"a = 1\nb = 'caf\xe9'\n", 2),
        (b"\xef\xbb\xbfa = 1\n", 1),
    ],
)
def test_broken_toml_names_file_and_line(tmp_path: Path, content: bytes, line: int) -> None:
    (tmp_path / "pyproject.toml").write_bytes(content)
    assert refusal(tmp_path).startswith(f"pyproject.toml:{line}: not valid TOML: ")


def test_absurd_toml_is_refused_and_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "repro-gate.toml").write_text("seed = " + "9" * 10_000)
    assert refusal(tmp_path).startswith("repro-gate.toml: not valid TOML: ")
    (tmp_path / "repro-gate.toml").write_text("axes = " + "[" * 100_000)
    assert refusal(tmp_path).startswith("repro-gate.toml: not valid TOML: ")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").mkdir()
    assert refusal(tmp_path).startswith("pyproject.toml: cannot be read: ")


def test_two_files_that_configure_us_are_refused_and_two_that_do_not_are_fine(tmp_path: Path) -> None:
    project(tmp_path, "runs = 3", own="runs = 3\n")
    assert refusal(tmp_path) == (
        "both pyproject.toml ([tool.repro-gate]) and repro-gate.toml configure repro-gate; keep one of them"
    )
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    assert loaded(tmp_path).runs == 3


@pytest.mark.parametrize("name", ["tool.repro_gate", "tool.Repro-Gate", "tool.reprogate", "repro-gate"])
def test_a_misspelt_table_is_refused_instead_of_ignored(tmp_path: Path, name: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[{name}]\nruns = 3\n")
    assert refusal(tmp_path) == f"pyproject.toml: [{name}] is not read; did you mean [tool.repro-gate]?"


def test_the_table_must_be_a_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nrepro-gate = 3\n")
    assert refusal(tmp_path) == "pyproject.toml: tool.repro-gate = 3: must be a table"


def test_a_long_bad_value_is_cut(tmp_path: Path) -> None:
    message = refusal(project(tmp_path, f'sandbox = "{"x" * 10_000}"'))
    assert len(message) < 250
    assert "xxx…: must be" in message


@unhurried
@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_any_text_as_a_file_loads_or_is_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, content: str
) -> None:
    root = tmp_path_factory.mktemp("fuzz")
    (root / "repro-gate.toml").write_text(content, encoding="utf-8", newline="")
    try:
        said = loaded(root).file
    except ConfigError as error:
        said = str(error)
    assert "repro-gate.toml" in said


# --- the root --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mark", ["pyproject.toml", "repro-gate.toml", "pytest.ini", "setup.cfg", "tox.ini", "setup.py", ".git"]
)
def test_the_root_is_the_nearest_folder_with_a_mark(tmp_path: Path, mark: str) -> None:
    inner = tmp_path / "outer" / "inner"
    below = inner / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "outer" / "setup.py").touch()
    (inner / mark).touch()
    (below / "test_x.py").touch()
    assert find_root(below) == find_root(below / "test_x.py") == find_root(inner) == inner


def test_without_any_mark_the_root_is_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repro_gate.config.loading.ROOT_MARKS", ("no-such-mark",))
    assert find_root(tmp_path) == tmp_path
    monkeypatch.chdir(tmp_path)
    assert find_root(Path()) == Path(os.path.realpath(tmp_path))


# --- the one table ---------------------------------------------------------------------------


def test_settings_and_schema_have_the_same_fields_and_types() -> None:
    schema = typing.get_type_hints(Schema)
    settings = typing.get_type_hints(Settings)
    assert list(Schema.model_fields) == [name for name in settings if name not in ("sources", "file", "notes")]
    for name in Schema.model_fields:
        assert settings[name] == (tuple[str, ...] if schema[name] == list[str] else schema[name]), name


def test_every_default_is_allowed_by_its_own_key(tmp_path: Path) -> None:
    for name, default in DEFAULTS.items():
        if default is not None:
            assert Schema.model_validate({name: default}).model_fields_set == {name.replace("-", "_")}


def test_every_default_survives_the_way_through_a_variable(tmp_path: Path) -> None:
    for name, default in DEFAULTS.items():
        text = written(default).strip('"') if not isinstance(default, list) else written(default).replace("[]", "none")
        settings = loaded(tmp_path, environ={variable(name): text})
        value = getattr(settings, name.replace("-", "_"))
        assert (list(value) if isinstance(value, tuple) else value) == default, name


def test_the_reference_has_one_row_of_four_cells_per_key() -> None:
    rows = reference().splitlines()[2:]
    assert [row.split(" | ")[0].strip("| `") for row in rows] == list(KEYS)
    assert all(row.count("|") == 5 for row in rows)
    assert "| `runs` | whole number, at least 2 | `20` | Runs of each test in a campaign. |" in rows
    assert all(key.about.endswith(".") for key in KEYS.values())
