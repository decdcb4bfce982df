"""The documentation says what the code says. Each check is also shown a page that it must refuse."""

from __future__ import annotations

import importlib.util
import re
import tomllib
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from repro_gate import config
from repro_gate.cli.main import app
from repro_gate.config.keys import KEYS
from repro_gate.errors import ExitCode
from repro_gate.flake.statistics import upper_bound
from repro_gate.model import AXES, Verdict
from repro_gate.model.conditions import SELF_MOVING
from repro_gate.report.words import percent
from repro_gate_pytest import wire

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def _tool() -> types.ModuleType:
    """tools/docs.py, which is no package."""
    spec = importlib.util.spec_from_file_location("tools_docs", ROOT / "tools" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = _tool()


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def table(page: str, head: str) -> list[list[str]]:
    """The cells of the table whose first row begins with ``| head |``."""
    lines = page.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {head} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def words(rows: list[list[str]], column: int = 0) -> list[str]:
    return [row[column].strip("`") for row in rows]


# --- what is made from the code --------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_made_parts_of_a_page_are_up_to_date(path: Path) -> None:
    assert TOOL.renew(text(path)) == text(path), "run: .venv/bin/python tools/docs.py"


def test_each_part_that_can_be_made_is_somewhere() -> None:
    assert sorted(part for path in PAGES for part in TOOL.parts_of(text(path))) == sorted(TOOL.PARTS)


def test_a_stale_part_is_noticed() -> None:
    page = text(DOCS / "exit-codes.md").replace("| 70 | `internal` |", "| 71 | `internal` |")
    assert TOOL.renew(page) == text(DOCS / "exit-codes.md") != page


def test_a_part_that_nobody_makes_is_an_error() -> None:
    with pytest.raises(KeyError):
        TOOL.renew("<!-- made from the code: gone -->\n<!-- end -->")


# --- errors and exit codes -------------------------------------------------------------------


def test_every_error_has_a_slug_of_its_own_and_a_row() -> None:
    slugs = [error.slug for error in TOOL.error_classes()]
    assert len(slugs) > 10
    assert [slug for slug, count in Counter(slugs).items() if count > 1] == []
    assert words(table(text(DOCS / "exit-codes.md"), "exit code"), 1) == slugs


def test_every_exit_code_has_one_meaning_that_is_documented() -> None:
    rows = table(text(DOCS / "exit-codes.md"), "code")
    assert len(ExitCode.__members__) == len(ExitCode), "two names for one code"
    assert [(int(row[0]), row[1].strip("`")) for row in rows] == [(int(code), code.name) for code in ExitCode]
    assert len({row[2] for row in rows}) == len(rows)


# --- configuration ---------------------------------------------------------------------------


def test_every_key_is_documented() -> None:
    assert words(table(text(DOCS / "how-to.md"), "key")) == list(KEYS)


def toml_blocks() -> Iterator[object]:
    for path in PAGES:
        for number, block in enumerate(re.findall(r"^```toml\n(.*?)^```", text(path), re.MULTILINE | re.DOTALL)):
            if not block.startswith("[[waiver]]"):  # .repro-gate/waivers.toml, which test_mutants_docs reads
                yield pytest.param(block, id=f"{path.name}-{number}")


@pytest.mark.parametrize("block", list(toml_blocks()))
def test_a_documented_configuration_is_accepted(block: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(block, encoding="utf-8")
    settings = config.load(tmp_path, {}, {})
    assert settings.file == "pyproject.toml"
    assert settings.notes == ()


@pytest.mark.parametrize("variable", sorted(set(re.findall(r"REPRO_GATE_[A-Z_]+\b", "".join(map(text, PAGES))))))
def test_a_documented_variable_is_one_of_a_key(variable: str) -> None:
    assert variable in {config.keys.variable(name) for name in KEYS}


# --- packages --------------------------------------------------------------------------------

PROJECT = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
SOURCES = [*(ROOT / "ci_gate").rglob("*.py"), *(ROOT / "pytest_plugin").rglob("*.py")]


def names(requirements: list[str]) -> list[str]:
    return [re.split(r"[<>=]", requirement)[0] for requirement in requirements]


def brought(extra: str) -> list[str]:
    """What an extra brings, with what the extras bring that it names."""
    found = []
    for requirement in PROJECT["optional-dependencies"][extra]:
        others = re.match(r"repro-gate\[([a-z,]+)\]", requirement)
        found += [each for other in others[1].split(",") for each in brought(other)] if others else [requirement]
    return found


def test_what_an_installation_and_each_extra_bring_is_documented() -> None:
    page = text(DOCS / "how-to.md").partition("## Install it apart")[2]
    packages = page.partition(" into its environment")[0]
    assert re.findall(r"`([^`]+)`", packages) == names(PROJECT["dependencies"])
    extras = {row[0].strip("`"): re.findall(r"`([^`]+)`", row[1]) for row in table(page, "extra")}
    assert extras == {name: names(brought(name)) for name in PROJECT["optional-dependencies"]}


def test_each_extra_that_is_named_is_there() -> None:
    named = {name for path in (*PAGES, *SOURCES) for name in re.findall(r"repro-gate\[([a-z]+)\]", text(path))}
    assert named
    assert named <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("extra", ["coverage", "docker"])
def test_an_extra_for_one_part_has_nothing_else_and_is_what_that_part_advises(extra: str) -> None:
    assert names(brought(extra)) == [extra]
    advising = [path for path in SOURCES if f"repro-gate[{extra}]" in text(path)]
    assert advising
    assert all(re.search(rf"^ +(import|from) {extra}\b", text(path), re.MULTILINE) for path in advising)


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_the_product_imports_each_package_of_an_extra(extra: str) -> None:
    modules = {name.lower().removeprefix("py") for name in names(brought(extra))}
    imported = {
        found for path in SOURCES for found in re.findall(r"^ +(?:import|from) (\w+)", text(path), re.MULTILINE)
    }
    assert modules <= imported


def test_the_action_has_what_its_extra_brings() -> None:
    listed = text(ROOT / "requirements" / "action.in").splitlines()
    assert sorted(names(brought("ci"))) == sorted(names([line for line in listed if line and line[0] != "#"]))


# --- words -----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["README.md", "docs/flake-check.md"])
def test_the_verdicts_are_listed(page: str) -> None:
    assert sorted(words(table(text(ROOT / page), "verdict"))) == sorted(verdict.value for verdict in Verdict)


def test_the_axes_of_the_design_are_those_of_the_code() -> None:
    rows = table(text(DOCS / "design.md"), "axis")
    assert sorted(words(rows)) == sorted(AXES)
    assert {axis: str(wire.NEUTRAL[axis]) for axis in AXES} == dict(zip(words(rows), words(rows, 3), strict=True))
    assert {axis for axis, moves in zip(words(rows), words(rows, 4), strict=True) if moves == "yes"} == SELF_MOVING
    assert {key for key in wire.NEUTRAL if key not in AXES} == {"import-random"}
    assert "`import-random`" in next(row for row in rows if row[0] == "`random`")[1]


def test_the_causes_that_are_explained_are_the_axes() -> None:
    assert words(table(text(DOCS / "flake-check.md"), "axis")) == list(AXES)


def test_the_axes_that_make_a_test_flaky_are_those_that_move_by_themselves() -> None:
    rows = {row[0].strip("`"): row[1] for row in table(text(DOCS / "flake-check.md"), "verdict")}
    named = {axis for axis in AXES if re.search(rf"\b{axis}\b", rows["flaky"])}
    assert named == SELF_MOVING
    named = {axis for axis in AXES if re.search(rf"\b{axis}\b", rows["condition-dependent"].partition(":")[2])}
    assert named == set(AXES) - SELF_MOVING


def test_the_numbers_of_the_statistics_are_right() -> None:
    rows = table(text(DOCS / "flake-check.md"), "clean runs")
    assert len(rows) > 2
    assert [row[1] for row in rows] == [percent(upper_bound(0, int(row[0]))) for row in rows]


def test_the_rooms_are_the_packages() -> None:
    packages = sorted(path.parent.name for path in (ROOT / "ci_gate" / "repro_gate").glob("*/__init__.py"))
    assert words(table(text(DOCS / "design.md"), "room")) == packages


def test_the_frames_of_the_wire_are_named() -> None:
    said = re.findall(r"`([\w-]+)`", " ".join(row[1] for row in table(text(DOCS / "design.md"), "direction")))
    frames = {
        value for name, value in vars(wire).items() if name.isupper() and isinstance(value, str) and name != "NON_UTF8"
    }
    assert set(said) == frames


# --- options and links -----------------------------------------------------------------------

# Options of other programs, and of the plugin.
OTHERS = {
    "--help",
    "--collect-only",
    "--check",
    "--cov-config",
    "--repro-flake-check",
    "--repro-seed",
    "--repro-budget",
    "--repro-capsules",
}


def options_of(command: Any) -> set[str]:
    """The options of a command (of click, or of typer's copy of it) and of those below it."""
    found = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return found.union(*map(options_of, getattr(command, "commands", {}).values()))


def unknown_options(page: str) -> list[str]:
    """Long options in back-ticks that neither the command line nor anybody else has."""
    known = options_of(typer.main.get_command(app)) | OTHERS
    spans = re.findall(r"`([^`\n]+)`", page)
    return [word for span in spans for word in re.findall(r"(?<![\w-])--[a-z][a-z-]+", span) if word not in known]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_option_that_a_page_names_exists(path: Path) -> None:
    assert unknown_options(text(path)) == []


def test_an_option_that_does_not_exist_is_found() -> None:
    assert unknown_options("`--runs`, `repro-gate scan --rums 3`") == ["--rums"]


def broken_links(path: Path, page: str) -> list[str]:
    """Relative links of a page that lead to no file, or to no heading in it."""
    broken = []
    for target in re.findall(r"\]\(((?!\w+://)[^)\s]+)\)", page):
        name, _, anchor = target.partition("#")
        there = not name or (path.parent / name).exists()
        if not there or (anchor and anchor not in _anchors(text(path.parent / name) if name else page)):
            broken.append(target)
    return broken


def _anchors(page: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path: Path) -> None:
    assert broken_links(path, text(path)) == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    page = "# Here\n[a](gone.md) [b](how-to.md#gone) [c](how-to.md#configuration) [d](#here) [e](#gone)"
    assert broken_links(DOCS / "x.md", page) == ["gone.md", "how-to.md#gone", "#gone"]
