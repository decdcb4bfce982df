"""Every way to fail: one class, one exit code, one sentence, one next step.

Belongs here: exception classes and exit codes. Does not belong here: printing (cli) or deciding
a verdict (flake, gates). ``docs/exit-codes.md`` lists this table; a test compares the two.
"""

from __future__ import annotations

import enum
import errno
from typing import ClassVar


class ExitCode(enum.IntEnum):
    """What the process says to its caller."""

    PASS = 0
    BLOCKED = 1
    USAGE = 2
    INCONCLUSIVE = 3
    INTERNAL = 70
    INTERRUPTED = 130


class ReproGateError(Exception):
    """A failure that nobody expected; the base of those that somebody did.

    ``str(error)`` is the sentence that names the thing; ``next_step`` is what the reader can do.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL
    slug: ClassVar[str] = "internal"
    default_next_step: ClassVar[str] = "Please report this with the command and its output."

    def __init__(self, sentence: str, *, next_step: str | None = None, details: str = "") -> None:
        super().__init__(sentence)
        self.next_step = next_step or self.default_next_step
        self.details = details


class UsageError(ReproGateError):
    """The command line asks for something that cannot be."""

    exit_code = ExitCode.USAGE
    slug = "usage"
    default_next_step = "See `repro-gate --help`."


class ConfigError(ReproGateError):
    """A configuration file holds an unknown key or a bad value."""

    exit_code = ExitCode.USAGE
    slug = "config"
    default_next_step = "Correct the named key; docs/how-to.md lists every key."


class CapsuleRefused(ReproGateError):
    """A capsule is corrupt, hostile or of an unknown format, and was not read further."""

    exit_code = ExitCode.USAGE
    slug = "capsule-refused"
    default_next_step = "Do not use this file; ask for a fresh capsule from its producer."


class SecretFound(ReproGateError):
    """The final scan of a capsule found what looks like a secret; the export is blocked."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "secret-found"
    default_next_step = "Remove the value from the test's output, or name the variable in `redact`."


class MissingTool(ReproGateError):
    """A program or module that is needed is not there."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "missing-tool"
    default_next_step = "Install it and run the same command again."


class CoverageFilesFailed(ReproGateError):
    """coverage.py could not write a file from an instrumented run."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "coverage-files-failed"
    default_next_step = "Read what coverage.py said; the check itself is not concerned."


class SandboxUnavailable(ReproGateError):
    """The sandbox that was asked for cannot run here."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "sandbox-unavailable"
    default_next_step = "Install bubblewrap, or run with `--sandbox host` (not hermetic)."


class SandboxLost(ReproGateError):
    """The daemon, or a container that was running tests, is gone."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "sandbox-lost"
    default_next_step = "Find out who stopped it (the daemon's log says), start it, and run the same command again."


class ImageMissing(ReproGateError):
    """The image that tests should run in is not there, cannot be pulled or cannot be built."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "image-missing"
    default_next_step = "Correct `image`, or leave it out: then one is made from the interpreter of the tests."


class PrepareFailed(ReproGateError):
    """The environment for the tests could not be made from what the project declares."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "prepare-failed"
    default_next_step = "Make the named step work by hand, or name the commands in `install` in [tool.repro-gate]."


class CollectionFailed(ReproGateError):
    """pytest did not get as far as a list of tests."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "collection-failed"
    default_next_step = "Make `python -m pytest --collect-only` work with the same arguments first."

    def __init__(self, sentence: str, *, next_step: str | None = None, details: str = "", side: str = "") -> None:
        super().__init__(sentence, next_step=next_step, details=details)
        self.side = side  # of a change, in words

    @property
    def told(self) -> str:
        """The sentence, with the side that it is about."""
        return f"On {self.side}: {self}" if self.side else str(self)


class ServerLost(ReproGateError):
    """The process that holds the collected tests ended, and so did its replacements."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "server-lost"
    default_next_step = "Run again with `--no-fork`; the output above is what the process said last."


class WireMismatch(ReproGateError):
    """The plugin in the test process speaks another version of the protocol."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "wire-mismatch"
    default_next_step = "Uninstall the other repro-gate from the tested environment, or use the same version."


class ControlsFailed(ReproGateError):
    """A control test did not do what it must; no result of that experiment can be believed."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "controls-failed"
    default_next_step = "Look for a hook that rewrites test reports (conftest.py, plugins)."


class TreeTooLarge(ReproGateError):
    """The project tree is larger than is copied without being asked."""

    exit_code = ExitCode.USAGE
    slug = "tree-too-large"
    default_next_step = "Exclude large folders with `exclude` in [tool.repro-gate]."


class GitFailed(ReproGateError):
    """git could not answer a question about the repository."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "git-failed"
    default_next_step = "Run the named git command by hand in the repository; `git fsck` finds damage."


class HistoryMissing(ReproGateError):
    """The clone lacks the commit or the history that tells what the change is, and it cannot be fetched."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "history-missing"
    default_next_step = "Check out with `fetch-depth: 0` and credentials that can fetch, or fetch the base yourself."


class TreeRefused(ReproGateError):
    """A commit holds a path that leads out of its tree; no file of it was written."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "tree-refused"
    default_next_step = "Do not check this commit out; ask its author how it was made."


class EvidenceRefused(ReproGateError):
    """A report that another job left is corrupt, hostile or of an unknown format, and nothing of it is shown."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "evidence-refused"
    default_next_step = "Run the job that wrote it again, with the same version of repro-gate."


class ShardsIncomplete(ReproGateError):
    """A shard of a job is missing, broken off, there twice, or of another plan: the whole is not known."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "shards-incomplete"
    default_next_step = "Merge the files of all shards of one plan: `repro-gate merge --plan plan.json shard-*.json`."


class FetchFailed(ReproGateError):
    """A capsule cannot be had at the address that was given."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "fetch-failed"
    default_next_step = "Open the address in a browser; an artifact's own address expires after a minute."


class GitHubRefused(ReproGateError):
    """The token may not do what was asked of GitHub. Reporting is decoration: a verdict stays what it is."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "github-refused"
    default_next_step = "Give the job the permission that docs/action.md names, or switch this part of the report off."


class GitHubUnavailable(ReproGateError):
    """GitHub's API is out of reach, out of order, or asks for more patience than a report is worth."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "github-unavailable"
    default_next_step = "Run the job again later; the summary of the job has everything."


class DiskFull(ReproGateError):
    """No space left where results are written; what had been found before is kept."""

    exit_code = ExitCode.INCONCLUSIVE
    slug = "disk-full"
    default_next_step = "Free space, or point `TMPDIR` and `--capsules` at a larger disk."


def disk_full(error: OSError, where: str) -> DiskFull | None:
    """The DiskFull that an operating system's error means, or None where it means something else."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return None
    return DiskFull(f"No space left on the disk of {error.filename or where}.")


class ReplayDiffers(ReproGateError):
    """What a capsule holds, a failure, a proof or a survivor, did not show again every time."""

    exit_code = ExitCode.BLOCKED
    slug = "replay-differs"
    default_next_step = "Check out the capsule's commit and its dependencies' versions, then replay again."


class Interrupted(ReproGateError):
    """The user stopped the run; what was found so far has been written."""

    exit_code = ExitCode.INTERRUPTED
    slug = "interrupted"
    default_next_step = "Run the same command again with the printed `--seed` to repeat the campaign."
