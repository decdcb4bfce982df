"""Environments from a folder of tiny wheels, and no index: for the tests that really make them."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import os
import shutil
import sys
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from repro_gate.environment import Environment, OnDisk, Surroundings, Target, declare, prepare, target_of
from repro_gate.process import Completed, run
from repro_gate.sandbox import Host, Interpreter, Sandbox

PROJECT = '[project]\nname = "demo"\nversion = "1"\nrequires-python = ">=3.9"\ndependencies = ["alpha<2"]\n'


def make_wheel(folder: Path, name: str, version: str, *, needs: tuple[str, ...] = (), code: str = "") -> str:
    """A wheel of one module; its hash."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    members = {
        f"{name}.py": f"__version__ = {version!r}\n{code}",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {each}\n" for each in needs),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in members.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            record += f"{member},sha256={digest},{len(text.encode())}\n"
            archive.writestr(member, text)
        archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


@dataclass
class Wheels:
    """A folder of wheels and their hashes."""

    folder: Path
    hashes: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Wheels:
    made = Wheels(tmp_path_factory.mktemp("wheels"))
    for name, version, needs in (
        ("pytest", "9.9", ()),
        ("alpha", "1.0", ()),
        ("alpha", "2.0", ()),
        ("beta", "1.0", ("alpha",)),
        ("gamma", "1.0", ()),
    ):
        made.hashes[f"{name}-{version}"] = make_wheel(made.folder, name, version, needs=needs)
    return made


@pytest.fixture(scope="module")
def python(interpreter: Interpreter) -> Target:
    return target_of(interpreter, os.environ, Path.cwd())


@pytest.fixture(scope="module")
def quick(python: Target, tmp_path_factory: pytest.TempPathFactory) -> Target:
    """The same interpreter, but it copies a virtual environment in place of making one (seconds each)."""
    base = tmp_path_factory.mktemp("quick")
    run([sys.executable, "-m", "venv", str(base / "seed")], timeout=240)
    script = base / "python"
    script.write_text(f'#!/bin/sh\n[ "$1 $2" = "-m venv" ] && exec cp -a "{base}/seed" "$3"\n')
    script.chmod(0o755)
    return dataclasses.replace(python, interpreter=dataclasses.replace(python.interpreter, executable=str(script)))


@dataclass
class Maker:
    """Makes environments in one cache, with nothing but a folder of wheels."""

    wheels: Wheels
    target: Target
    cache: Path
    sandbox: Sandbox = field(default_factory=Host)
    steps: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, root: Path, **declared: Any) -> Environment:
        tree = OnDisk(root)
        return prepare(declare(tree, **declared), tree, self.target, self.around(root))

    def around(self, root: Path) -> Surroundings:
        settings: dict[str, Any] = {
            "cache": self.cache,
            "sandbox": self.sandbox,
            "environment": {
                "PATH": os.environ["PATH"],
                "PIP_CONFIG_FILE": os.devnull,
                "PIP_NO_INDEX": "1",
                "PIP_FIND_LINKS": str(self.wheels.folder),
            },
            "copy": lambda to: shutil.copytree(root, to),
            "clock": time.monotonic,
            "seconds": 240.0,
            "progress": lambda step, seconds: self.steps.append(step),
            **self.options,
        }
        return Surroundings(**settings)


@pytest.fixture
def maker(wheels: Wheels, quick: Target, tmp_path: Path) -> Maker:
    return Maker(wheels, quick, tmp_path / "cache")


def inside(environment: Environment, code: str, **env: str) -> Completed:
    return run([environment.python, "-c", code], env={"PATH": os.environ["PATH"], **env}, cwd="/", timeout=60)


def installed(environment: Environment) -> dict[str, str]:
    """The distributions of an environment, without those of every virtual environment."""
    code = "import importlib.metadata as m\nfor d in m.distributions(): print(d.metadata['Name'], d.version)"
    pairs = (line.split() for line in inside(environment, code).stdout.splitlines())
    return {name: version for name, version in pairs if name not in ("pip", "setuptools", "wheel")}
