"""One git repository to ask: bytes in, bytes out, and nothing of it but objects is ever added to.

Belongs here: how git is called, names of commits and blobs. Does not belong here: what the answers mean.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from repro_gate.errors import GitFailed, UsageError
from repro_gate.process import Answer, ask

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_USERINFO = re.compile(r"(\w[\w+.-]*://)[^/@\s]*@")
# Set by a git that calls us from a hook, or by a user for another repository: they would redirect every question.
_REDIRECTING = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_COMMON_DIR",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
# No lock on the user's index, no question at a terminal, objects as they are and not as `git replace` has them.
_QUIET = {
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_CHUNK_BYTES = 32 * 2**20
_CHUNK_BLOBS = 5_000


def is_sha(text: str) -> bool:
    """Whether ``text`` is the full name of an object."""
    return _SHA.fullmatch(text) is not None


def is_zero(sha: str) -> bool:
    """Whether ``sha`` is the name that stands for no object."""
    return not sha.strip("0")


@dataclass(frozen=True, kw_only=True, slots=True)
class Repository:
    """A work tree's top directory, and the environment that git runs in there. Made by `open_repository`."""

    top: Path
    env: Mapping[str, str] = field(repr=False)

    def ask(self, *arguments: str, question: bytes = b"", timeout: float = 120.0) -> Answer:
        """Run ``git`` with ``arguments``, whatever comes of it."""
        command = ["git", "-C", str(self.top), *_settings(self.top), *arguments]
        return ask(command, env=self.env, cwd=self.top, question=question, timeout=timeout)

    def read(self, *arguments: str, question: bytes = b"", timeout: float = 120.0) -> bytes:
        """What ``git`` answers. Raises GitFailed."""
        answer = self.ask(*arguments, question=question, timeout=timeout)
        if answer.status == 0 and not answer.timed_out:
            return answer.output
        raise GitFailed(f"`git {arguments[0]}` failed: {reason(answer)}", details=_public(answer.error))

    def line(self, *arguments: str) -> str:
        """The one line that ``git`` answers, or an empty string where it refuses."""
        answer = self.ask(*arguments)
        return os.fsdecode(answer.output).strip() if answer.status == 0 else ""

    def commit(self, name: str) -> str:
        """The commit that a name means, or an empty string."""
        return self.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")

    def has(self, sha: str) -> bool:
        """Whether the object is in this clone."""
        return self.ask("cat-file", "-e", sha).status == 0

    def tree_of(self, commit: str) -> str:
        """The tree of a commit. Raises GitFailed."""
        return os.fsdecode(self.read("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")).strip()

    def parents(self, commit: str) -> tuple[str, ...]:
        """A commit's parents as its object names them; a shallow clone need not have them."""
        # `rev-parse commit^1` and `rev-list --parents` hide them at the edge of a shallow clone.
        header = self.read("cat-file", "commit", commit).partition(b"\n\n")[0]
        return tuple(os.fsdecode(line[7:]) for line in header.split(b"\n") if line.startswith(b"parent "))

    def committed_at(self, commit: str) -> str:
        """When a commit was made, in UTC as RFC 3339 writes it; empty where git does not tell."""
        told = self.line("show", "-s", "--format=%ct", "--end-of-options", commit)
        if not told.isdigit():
            return ""
        return datetime.datetime.fromtimestamp(int(told), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def blobs(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        """Name and bytes of the blobs whose names and sizes are given, a bounded part at a time. Raises GitFailed."""
        for names in _chunks(sizes):
            yield from self._batch(names)

    def blob(self, sha: str) -> bytes:
        """The bytes of one blob. Raises GitFailed."""
        return self.read("cat-file", "blob", sha)

    def _batch(self, names: list[str]) -> Iterator[tuple[str, bytes]]:
        question = "".join(f"{name}\n" for name in names).encode()
        answer = self.read("cat-file", "--batch", question=question, timeout=600)
        at = 0
        for name in names:
            header, _, _ = answer[at : at + 200].partition(b"\n")
            words = header.split()
            if len(words) != 3 or words[1] != b"blob":
                raise GitFailed(f"The file {name} of a commit is not in this clone.")
            start = at + len(header) + 1
            at = start + int(words[2]) + 1
            yield name, answer[start : at - 1]


def open_repository(directory: Path, environ: Mapping[str, str]) -> Repository:
    """The repository whose work tree holds ``directory``. Raises UsageError where there is none."""
    env = {name: value for name, value in environ.items() if name not in _REDIRECTING} | _QUIET
    place = directory.resolve()
    answer = Repository(top=place, env=env).ask("rev-parse", "--show-toplevel")
    if answer.status != 0:
        raise UsageError(
            f"There is no git work tree at {str(directory)!r}: {reason(answer)}",
            next_step="Run it in a checkout of the project.",
        )
    return Repository(top=Path(os.fsdecode(answer.output.removesuffix(b"\n"))), env=env)


def reason(answer: Answer) -> str:
    """Why git refused, as its last line says it, without credentials."""
    if answer.timed_out:
        return "it took too long and was ended."
    lines = [line for line in answer.error.splitlines() if line.strip()]
    return _public(lines[-1]) if lines else f"exit code {answer.status}."


def _public(text: str) -> str:
    return _USERINFO.sub(r"\1", text)


def _settings(directory: Path) -> list[str]:
    """What a question must not depend on, whatever the user and the repository have configured."""
    owner = next((place for place in (directory, *directory.parents) if (place / ".git").exists()), directory)
    settings = [
        # Checkouts in containers belong to somebody else; the user named this one, so it is meant.
        f"safe.directory={owner}",
        "core.quotePath=false",
        "core.fsmonitor=false",
        "core.hooksPath=/dev/null",
        "gc.auto=0",
        "maintenance.auto=false",
        "fetch.writeCommitGraph=false",
        "log.showSignature=false",
    ]
    return ["--literal-pathspecs", *(word for setting in settings for word in ("-c", setting))]


def _chunks(sizes: Mapping[str, int]) -> Iterable[list[str]]:
    chunk: list[str] = []
    total = 0
    for name, size in sizes.items():
        if chunk and (total + size > _CHUNK_BYTES or len(chunk) >= _CHUNK_BLOBS):
            yield chunk
            chunk, total = [], 0
        chunk.append(name)
        total += size
    if chunk:
        yield chunk
