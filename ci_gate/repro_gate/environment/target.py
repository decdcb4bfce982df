"""The interpreter that an environment is for, and the key that follows from it and the declarations.

Belongs here: marker values and the key's law. Does not belong here: declarations (declared).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from repro_gate.environment.declared import Declared
from repro_gate.errors import MissingTool
from repro_gate.process import run
from repro_gate.sandbox import Interpreter

# Raise it whenever the same declarations would give another environment.
FORMAT = 1

_MARKERS = """
import json, os, platform, sys, sysconfig
def full(info):
    text = "%d.%d.%d" % (info.major, info.minor, info.micro)
    return text if info.releaselevel == "final" else text + info.releaselevel[0] + str(info.serial)
print(json.dumps({
    "implementation_name": sys.implementation.name,
    "implementation_version": full(sys.implementation.version),
    "os_name": os.name,
    "platform_machine": platform.machine(),
    "platform_release": platform.release(),
    "platform_system": platform.system(),
    "platform_version": platform.version(),
    "python_full_version": full(sys.version_info),
    "platform_python_implementation": platform.python_implementation(),
    "python_version": ".".join(platform.python_version_tuple()[:2]),
    "sys_platform": sys.platform,
    "platform": sysconfig.get_platform(),
    "base": os.path.realpath(sys.base_prefix),
}))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """An interpreter, its environment markers, its platform's tag and where it is installed."""

    interpreter: Interpreter
    markers: Mapping[str, str]
    platform: str
    base: str

    @property
    def version(self) -> str:
        """The interpreter's full version."""
        return self.markers["python_full_version"]


def target_of(interpreter: Interpreter, env: Mapping[str, str], cwd: Path) -> Target:
    """Ask an interpreter for its markers. Raises MissingTool where it does not answer."""
    done = run([interpreter.executable, "-I", "-c", _MARKERS], env=env, cwd=cwd, timeout=60)
    try:
        facts = json.loads(done.stdout)
    except ValueError:
        raise MissingTool(
            f"{interpreter.executable!r} does not answer as a Python interpreter.", details=done.stderr[-2000:]
        ) from None
    platform, base = facts.pop("platform"), facts.pop("base")
    return Target(interpreter=interpreter, markers=facts, platform=platform, base=base)


def key(declared: Declared, target: Target) -> str:
    """The environment's name: equal for two trees with equal dependency files on one interpreter."""
    content = {
        "format": FORMAT,
        "declared": declared.digest,
        "commands": declared.commands,
        "python": target.version,
        "implementation": target.markers["implementation_name"],
        "platform": target.platform,
        "base": target.base,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
