"""A minimal root file system from what this machine has: an interpreter and what it loads, no registry.

Belongs here: which files, and one archive of them that is the same each time. Does not belong
here: giving it to a daemon (images).
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from repro_gate.errors import ImageMissing
from repro_gate.process import run
from repro_gate.sandbox.paths import SYSTEM, with_tester
from repro_gate.sandbox.protocol import Interpreter

_VERSION = "1"  # of what goes in beside files of this machine
_LEFT_OUT = frozenset(
    {"__pycache__", "test", "tests", "idlelib", "turtledemo", "posix", "right", "site-packages", "dist-packages"}
)
_KEPT_PACKAGES = re.compile(r"^(pip|setuptools|_distutils_hack|pkg_resources|distutils-precedence\.pth)(-|$)")
_LIBRARY = re.compile(r"(?:=>\s*)?(/\S+)\s+\(0x")
_PROGRAMS = {"/bin/sh": ("/bin/dash", "/bin/sh"), "/usr/bin/env": ("/usr/bin/env",)}
_COMMON = ("libstdc++.so.6", "libgcc_s.so.1", "libnss_files.so.2", "libnss_dns.so.2")  # loaded by name, or by wheels
_LOCALES = ("/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8")
_AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
_TEXTS = {
    "etc/group": "root:x:0:\nnogroup:x:65534:\ntester:x:1000:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "etc/os-release": "ID=repro-gate\nNAME=repro-gate\n",
}
_USERS = with_tester("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n", 1000, 1000)
_DIRECTORIES = ("dev", "proc", "sys", "run", "tmp", "var/tmp", "home", "root", "etc")


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """Every member by its name without a leading slash: bytes, a file of this machine, or a link's target."""

    texts: Mapping[str, bytes]
    files: Mapping[str, Path]
    links: Mapping[str, str]

    def key(self) -> str:
        """The same for the same content, wherever and whenever it was made."""
        digest = hashlib.sha256(_VERSION.encode())
        for name, data in sorted(self.texts.items()):
            digest.update(f"\0t{name}\0".encode() + data)
        for name, target in sorted(self.links.items()):
            digest.update(f"\0l{name}\0{target}".encode())
        for name, path in sorted(self.files.items()):
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"\0f{name}\0{_mode(path):o}\0{content}".encode())
        return digest.hexdigest()[:16]


def content_of(interpreter: Interpreter) -> Content:
    """A shell, the interpreter with its library, pip, and every shared library that they or its packages load.

    Raises ImageMissing where this machine cannot tell what the interpreter loads.
    """
    executable = Path(interpreter.executable).resolve()
    files: dict[str, Path] = {}
    links: dict[str, str] = {}
    for name, sources in _PROGRAMS.items():
        found = next((Path(source).resolve() for source in sources if Path(source).exists()), None)
        if found is not None:
            files[name[1:]] = found
    files[str(executable)[1:]] = executable
    for path in (*_names(Path(interpreter.executable)), Path("/usr/local/bin/python3"), Path("/usr/local/bin/python")):
        if path != executable:
            links[str(path)[1:]] = str(executable)
    for directory in interpreter.library:
        files.update(_library(Path(directory)))
    for tree in ("/usr/share/zoneinfo", *_LOCALES):
        files.update(_tree(Path(tree)))
    if Path(_AUTHORITIES).exists():
        files[_AUTHORITIES[1:]] = Path(_AUTHORITIES)
    files.update(_loaded([*files.values(), *_extensions(interpreter.directories)]))
    texts = {name: text.encode() for name, text in _TEXTS.items()} | {"etc/passwd": _USERS.encode()}
    return Content(texts=texts, files=files, links=links)


def _names(executable: Path) -> Iterator[Path]:
    """The names in system directories that lead to an interpreter: an environment may use any of them."""
    seen: set[Path] = set()
    while executable not in seen:
        seen.add(executable)
        if str(executable.parent) in SYSTEM:
            yield executable
        if executable.is_symlink():
            executable = executable.parent / executable.readlink()


def _library(directory: Path) -> Iterator[tuple[str, Path]]:
    """The standard library without its tests and bytecode, and pip of what is installed beside it."""
    yield from _tree(directory)
    for packages in (directory / "site-packages", directory / "dist-packages"):
        for entry in sorted(packages.iterdir()) if packages.is_dir() else ():
            if _KEPT_PACKAGES.match(entry.name):
                yield from _tree(entry) if entry.is_dir() else [(str(entry)[1:], entry)]


def _tree(top: Path) -> Iterator[tuple[str, Path]]:
    for directory, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        for name in sorted(names):
            path = Path(directory) / name
            if path.is_file() and not name.endswith((".pyc", ".a")) and os.access(path, os.R_OK):
                yield str(path)[1:], path


def _extensions(directories: Iterable[str]) -> Iterator[Path]:
    """Compiled modules of the tested environment: what they load must be there, too."""
    for directory in directories:
        top = Path(directory)
        for packages in [top] if top.name.endswith("-packages") else ():
            yield from sorted(path for path in packages.rglob("*.so") if path.is_file())


def _loaded(programs: Iterable[Path]) -> dict[str, Path]:
    """The loader and every shared library that these programs and modules name, at the names they use."""
    compiled = [str(path) for path in programs if _is_elf(path)]
    done = run(["ldd", *compiled], timeout=300)
    found = set(_LIBRARY.findall(done.stdout))
    if not found:
        raise ImageMissing(
            f"What {compiled[0]!r} loads cannot be told.",
            next_step="Name an image that has Python with `image`, or use `--sandbox bubblewrap`.",
            details=done.stderr[-1000:],
        )
    folders = {str(Path(library).parent) for library in found}
    found.update(f"{folder}/{name}" for folder in folders for name in _COMMON if Path(f"{folder}/{name}").exists())
    return {library[1:]: Path(library) for library in sorted(found) if not _bundled(library)}


def _bundled(library: str) -> bool:
    """Whether a library comes with a package that is mounted anyway."""
    return "-packages/" in library


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _mode(path: Path) -> int:
    return 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644


def write(content: Content, stream: BinaryIO) -> None:
    """The archive, byte for byte the same for the same content."""
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        folders = {*_DIRECTORIES, *_parents([*content.texts, *content.files, *content.links])}
        for name in sorted(folders):
            entry = _entry(name, 0o1777 if name in ("tmp", "var/tmp") else 0o755)
            entry.type = tarfile.DIRTYPE
            archive.addfile(entry)
        for name, data in sorted(content.texts.items()):
            entry = _entry(name, 0o644)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for name, target in sorted(content.links.items()):
            entry = _entry(name, 0o777)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
        for name, path in sorted(content.files.items()):
            entry = _entry(name, _mode(path))
            entry.size = path.stat().st_size
            with path.open("rb") as file:
                archive.addfile(entry, file)


def _entry(name: str, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.mode, entry.mtime = mode, 0
    return entry


def _parents(names: Iterable[str]) -> set[str]:
    return {str(parent) for name in names for parent in Path(name).parents if str(parent) != "."}
