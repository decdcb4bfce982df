"""An environment with the project's own scripts in its ``bin``, beside the one that is shared.

Belongs here: a folder that is an environment to Python and all of whose parts are another's. A
script next to ``sys.executable`` is what an installation gives, and each side has its own. Does not
belong here: what the scripts are (metadata).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

_OWN = ("bin", "pyvenv.cfg")


def python_beside(place: Path) -> str:
    """The interpreter of an environment that `with_scripts` makes at ``place``."""
    return f"{place}/bin/python"


def with_scripts(environment: Path, scripts: Mapping[str, str], place: Path) -> None:
    """Make ``place`` the same environment with these scripts; what they cover of it is not there, but the interpreter.

    Python takes the folder above its own program for the environment if it holds a ``pyvenv.cfg``, and follows no
    link for that.
    """
    (place / "bin").mkdir(parents=True)
    shutil.copyfile(environment / "pyvenv.cfg", place / "pyvenv.cfg")
    scripts = {name: text for name, text in scripts.items() if not name.startswith("python")}
    for part in (each for each in environment.iterdir() if each.name not in _OWN):
        (place / part.name).symlink_to(part)
    for program in (each for each in (environment / "bin").iterdir() if each.name not in scripts):
        (place / "bin" / program.name).symlink_to(program)
    for name, text in scripts.items():
        path = place / "bin" / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
