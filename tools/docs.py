"""Write the parts of the documentation that are made from the code: `.venv/bin/python tools/docs.py`.

Such a part stands between `<!-- made from the code: NAME -->` and `<!-- end -->`. With `--check`
nothing is written, and the exit code is 1 where a part is not what the code says.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from repro_gate import config, errors
from repro_gate.mutants import reasons, worth

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ci_gate" / "repro_gate"

_PART = re.compile(r"(<!-- made from the code: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def error_classes() -> list[type[errors.ReproGateError]]:
    """Every expected failure, in the order of errors.py."""
    found = [thing for thing in vars(errors).values() if isinstance(thing, type)]
    return [thing for thing in found if issubclass(thing, errors.ReproGateError)]


def rooms() -> list[str]:
    """The packages of repro_gate."""
    return sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def layers() -> list[str]:
    """The rooms from top to bottom, as the linter of imports has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    found: list[str] = next(contract["layers"] for contract in contracts if contract["id"] == "rooms")
    return found


def _errors() -> Iterator[str]:
    yield "| exit code | slug | when | next step, unless the message has a better one |"
    yield "|---|---|---|---|"
    for error in error_classes():
        when = (error.__doc__ or "").strip().split("\n")[0]
        yield f"| {int(error.exit_code)} | `{error.slug}` | {_cell(when)} | {_cell(error.default_next_step)} |"


def _rooms() -> Iterator[str]:
    yield "| room | what it is for |"
    yield "|---|---|"
    for room in rooms():
        text = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))) or ""
        yield f"| `{room}` | {_cell(text.split(chr(10))[0])} |"


def _layers() -> Iterator[str]:
    yield "```text"
    yield from layers()
    yield "```"


def _action(section: str) -> Iterator[str]:
    about = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))[section]
    inputs = section == "inputs"
    yield "| input | default | meaning |" if inputs else "| output | meaning |"
    yield "|---|---|---|" if inputs else "|---|---|"
    for name, each in about.items():
        default = f" | `{each['default']}`" if inputs and each["default"] else " | " if inputs else ""
        yield f"| `{name}`{default} | {_cell(each['description'])} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


PARTS: dict[str, Callable[[], str]] = {
    "configuration": config.reference,
    "errors": lambda: "\n".join(_errors()) + "\n",
    "rooms": lambda: "\n".join(_rooms()) + "\n",
    "inputs": lambda: "\n".join(_action("inputs")) + "\n",
    "outputs": lambda: "\n".join(_action("outputs")) + "\n",
    "layers": lambda: "\n".join(_layers()) + "\n",
    "operators": worth.reference,
    "lines-without-mutants": reasons.reference,
}


def renew(page: str) -> str:
    """A page with its made parts made anew. Raises KeyError for a part that nobody makes."""
    return _PART.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]()}\n{part[3]}", page)


def parts_of(page: str) -> list[str]:
    """The names of a page's made parts."""
    return [part[2] for part in _PART.finditer(page)]


def main(arguments: list[str]) -> int:
    """Write, or with ``--check`` compare; the exit code."""
    stale = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        page = path.read_text(encoding="utf-8")
        if renew(page) != page:
            stale.append(path)
            if "--check" not in arguments:
                path.write_text(renew(page), encoding="utf-8")
    for path in stale:
        print(f"{'stale' if '--check' in arguments else 'written'}: {path.relative_to(ROOT)}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
