"""What a capsule says of the machine: an allow-list of variables, interpreter, platform, distributions.

A full environment is never packed: a variable that is not named here is left out, whatever it holds.
"""

from __future__ import annotations

import locale
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_ALLOWED_NAMES = """LANG LANGUAGE TZ TERM COLUMNS LINES CI NO_COLOR FORCE_COLOR SOURCE_DATE_EPOCH
    PYTHONHASHSEED PYTHONUTF8 PYTHONIOENCODING PYTHONDEVMODE PYTHONOPTIMIZE PYTHONDONTWRITEBYTECODE
    PYTHONUNBUFFERED PYTHONWARNINGS PYTHONMALLOC PYTHONASYNCIODEBUG PYTHONSAFEPATH PYTHONNOUSERSITE
    PYTHONCOERCECLOCALE PYTHON_GIL PYTHON_CPU_COUNT
    OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS NUMEXPR_NUM_THREADS"""
_ALLOWED = frozenset(_ALLOWED_NAMES.split())
_CPU_FILE = Path("/proc/cpuinfo")
_CPU_FLAGS = re.compile(r"^(?:flags|Features)\s*:\s*(.*)$", re.MULTILINE)
_CPU_MODEL = re.compile(r"^(?:model name|Model)\s*:\s*(.*)$", re.MULTILINE)


def allowed_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Only the variables that are known to matter to tests and to hold nothing private."""
    return {
        name: environ[name] for name in sorted(environ) if name in _ALLOWED or re.fullmatch(r"LC_[A-Z]{1,20}", name)
    }


def describe(
    environ: Mapping[str, str],
    distributions: Iterable[str],
    *,
    interpreter: Mapping[str, Any] | None = None,
    cpu_file: Path = _CPU_FILE,
) -> dict[str, Any]:
    """The content of env/environment.json. ``distributions`` are lines ``name==version``.

    ``interpreter`` describes the tested interpreter where it is not the one that runs this.
    """
    return {
        "variables": allowed_variables(environ),
        "interpreter": dict(interpreter) if interpreter is not None else _interpreter(),
        "platform": _platform(),
        "locale": {"encoding": locale.getencoding(), "file system encoding": sys.getfilesystemencoding()},
        "cpu": _cpu(cpu_file),
        "distributions": sorted(distributions, key=str.casefold),
    }


def _interpreter() -> dict[str, str]:
    return {
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
        "compiler": platform.python_compiler(),
    }


def _platform() -> dict[str, str]:
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()).strip(),
    }


def _cpu(source: Path) -> dict[str, Any]:
    """Model and flags, or the reason why they are not known."""
    try:
        text = source.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {"unknown": f"{source} cannot be read"}
    model, flags = _CPU_MODEL.search(text), _CPU_FLAGS.search(text)
    return {"model": model[1].strip() if model else "", "flags": sorted(flags[1].split()) if flags else []}
