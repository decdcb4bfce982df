"""Replay an unpacked capsule with nothing but Python and pytest: what ``repro.sh`` runs.

The same protocol as the gate's, without dependencies: a fresh copy of the checkout, a fresh process
that enlists, one RUN command, results on a private pipe. A proof needs git as well: its two trees come from
the checkout's objects. Belongs here: replaying.
``repro-gate replay`` does the same inside a sandbox.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

from repro_gate_pytest import checkout, gittree, replay_mutant, wire
from repro_gate_pytest.checkout import NoReplay, NotCollected

_DROPPED = re.compile(
    r"^(GITHUB_|ACTIONS_|RUNNER_|REPRO_GATE_|COV_CORE_|COVERAGE_|LC_|LANG$|LANGUAGE$|TZ$|PYTHONPATH$|PYTHONUTF8$)"
)
_COLLECT_SECONDS = 300.0
_TEST_SECONDS = 300.0
_GRACE = 2.0  # seconds for the guard of a test process to end what tests left running


class _Side(NamedTuple):
    """What is copied and run: the checkout, or one side of a proof.

    ``laid``: a file with other bytes; each test counts.
    """

    name: str
    tree: str
    roots: list[str]
    lenient: Any
    seconds: float
    laid: Any = None


def main(arguments: list[str]) -> int:
    """``_replayed``; 130 where the user stops it, 141 where nobody reads on (``repro.sh | head``): no traceback."""
    try:
        code = _replayed(_options(arguments))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter writes once more when it ends
        return 141


def _replayed(options: Any) -> int:
    """0: the failure (or survival) came back each time (unpinned: at least once); 1: it did not;
    2: usage; 3: not tried.
    """
    # So that what was started ends, and what was copied goes, also when somebody ends this process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with open(os.path.join(options.capsule, "manifest.json"), "rb") as file:
            manifest = json.load(file)
        if manifest.get("schema") != "repro-gate/capsule/v1":
            raise NoReplay("this program replays repro-gate/capsule/v1, not %r" % (manifest.get("schema"),))
        for argument in manifest["pytest_args"]:
            if wire.leaves_checkout(argument, manifest["project"]["root"]):
                raise NoReplay("the capsule gives pytest the argument %r, which leaves the checkout" % argument)
        times = options.times or manifest["determinism"]["verified"]["of"] or 5
        if manifest.get("proof"):
            return _prove(options, manifest, times)
        if options.head:
            raise NoReplay("--head is for the capsule of a proof, and this is none")
        repo = _repository(options, manifest)
        if manifest.get("mutant"):
            return replay_mutant.survive(
                manifest,
                repo,
                times,
                lambda data: _attempt(manifest, repo, options.capsule, _mutated(manifest, repo, data)),
            )
        print("replaying %s" % manifest["victim"])
        print("in a copy of %s, %d times" % (repo, times))
        seen = 0
        for number in range(1, times + 1):
            side = _Side("checkout", repo, [], None, _TEST_SECONDS)
            outcome, failure, seconds = _attempt(manifest, repo, options.capsule, side)
            expected = _expected(manifest, outcome, failure)
            seen += expected
            words = "same failure" if expected else "DIFFERENT"
            print("  %d/%d %s  %s (%.1f s)" % (number, times, words, _said(outcome, failure), seconds))
            sys.stdout.flush()
    except (NoReplay, gittree.Refused) as why:
        print("not replayed: %s" % why, file=sys.stderr)
        return 3
    print("%d of %d replays showed the same failure" % (seen, times))
    pinned = manifest["determinism"]["pinned"]
    return 0 if seen == times or (not pinned and seen) else 1


def _mutated(manifest: dict[str, Any], repo: str, data: bytes) -> _Side:
    mutant = manifest["mutant"]
    return _Side("checkout", repo, mutant["import_roots"], None, mutant["test_seconds"], (mutant["file"], data))


def _said(outcome: str, failure: dict[str, Any] | None) -> str:
    return outcome if failure is None else "%s: %s" % (outcome, failure["message"].split("\n", 1)[0][:100])


# A proof


def _prove(options: Any, manifest: dict[str, Any], times: int) -> int:
    """Red on base with head's tests, green on head: 0 if each time, else 1."""
    repo = _around(os.path.realpath(options.repo))
    proof, head = manifest["proof"], options.head or manifest["project"]["commit"]

    def git(words: list[str], question: bytes = b"") -> bytes:
        return _git(repo, words, question)

    for commit in (proof["base"], manifest["project"]["commit"]):
        if not re.match(r"[0-9a-f]{40}([0-9a-f]{24})?$", commit):
            raise NoReplay("%r is no commit" % commit)
        if _git_status(repo, ["cat-file", "-e", commit + "^{tree}"]):
            raise NoReplay(
                "%s has no commit %s: `git fetch origin %s` there, then run this again" % (repo, commit, commit)
            )
    head = git(["rev-parse", "--verify", "--end-of-options", head + "^{commit}"]).decode().strip()
    print("replaying the proof %s" % manifest["victim"])
    print("base %s with head's tests, head %s, %d times a side" % (proof["base"][:12], head[:12], times))
    base = tempfile.mkdtemp(prefix="rg-")
    try:
        trees = {name: os.path.join(base, name) for name in ("base", "head")}
        for tree in trees.values():
            os.mkdir(tree)
        gittree.write(git, gittree.overlaid(gittree.listed(git, proof["base"]), proof["overlay"]), trees["base"])
        gittree.write(git, gittree.listed(git, head), trees["head"])
        sides = (
            _Side("base", trees["base"], proof["import_roots"], proof["lenient"], proof["test_seconds"]),
            _Side("head", trees["head"], proof["import_roots"], None, _TEST_SECONDS),
        )
        red, green = _both(manifest, repo, options.capsule, sides, times)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print("red on base %d of %d, green on head %d of %d" % (red, times, green, times))
    return 0 if red == green == times else 1


def _both(manifest: dict[str, Any], repo: str, capsule: str, sides: tuple[_Side, _Side], times: int) -> tuple[int, int]:
    counts = {"base": 0, "head": 0}
    for number in range(1, times + 1):
        for side in sides:
            outcome, failure, seconds = _attempt(manifest, repo, capsule, side)
            on_base = side.name == "base"
            good = _expected(manifest, outcome, failure) if on_base else outcome == "passed"
            counts[side.name] += good
            words = ("" if good else "NOT ") + ("red" if on_base else "green")
            said = (number, times, side.name, words, _said(outcome, failure), seconds)
            print("  %d/%d %s %s  %s (%.1f s)" % said)
            sys.stdout.flush()
    return counts["base"], counts["head"]


def _run_git(repo: str, words: list[str], question: bytes) -> subprocess.CompletedProcess[bytes]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env.update(LC_ALL="C", GIT_NO_REPLACE_OBJECTS="1", GIT_TERMINAL_PROMPT="0")
    argv = ["git", "-C", repo, "-c", "safe.directory=" + repo, "-c", "core.quotePath=false", *words]
    try:
        return subprocess.run(argv, input=question, env=env, capture_output=True, check=False)
    except FileNotFoundError:
        raise NoReplay("a proof is replayed out of git's objects, and there is no git here") from None


def _git(repo: str, words: list[str], question: bytes) -> bytes:
    done = _run_git(repo, words, question)
    if done.returncode:
        raise NoReplay("`git %s` failed in %s: %s" % (words[0], repo, done.stderr.decode("utf-8", "replace").strip()))
    return done.stdout


def _git_status(repo: str, words: list[str]) -> int:
    return _run_git(repo, words, b"").returncode


# A failure, and each side of a proof


def _options(arguments: list[str]) -> Any:
    parser = argparse.ArgumentParser(prog="repro.sh", description="Replay this capsule's failure or proof.")
    parser.add_argument("capsule", help=argparse.SUPPRESS)
    parser.add_argument("--repo", default=".", help="a checkout of the capsule's commit (default: this directory)")
    parser.add_argument("--head", default="", help="of a proof: try this commit in place of its head")
    parser.add_argument("--times", type=int, default=0, help="how often (default: as often as it was verified)")
    return parser.parse_args(arguments)


def _repository(options: Any, manifest: dict[str, Any]) -> str:
    """The checkout to replay in: the one named, or the one around this directory."""
    repo = _around(os.path.realpath(options.repo))
    capsule = os.path.realpath(options.capsule)
    if repo == capsule or repo.startswith(capsule + os.sep):
        raise NoReplay("name a checkout of the project: ./repro.sh --repo DIR")
    place = os.path.join(repo, manifest["project"]["root"])
    file = manifest["victim"].partition("::")[0]
    above = [place]
    while above[-1] != repo and above[-1].startswith(repo + os.sep):
        above.append(os.path.dirname(above[-1]))
    if not any(os.path.exists(os.path.join(directory, file)) for directory in above):
        raise NoReplay("%s is not a checkout of the project: it has no file %r" % (repo, file))
    return repo


def _around(directory: str) -> str:
    """The git work tree that holds a directory, or the directory itself."""
    place = directory
    while place != os.path.dirname(place):
        if os.path.exists(os.path.join(place, ".git")):
            return place
        place = os.path.dirname(place)
    return directory


def _expected(manifest: dict[str, Any], outcome: str, failure: dict[str, Any] | None) -> bool:
    expected = manifest["expected"]
    if outcome != expected["outcome"]:
        return False
    if expected["fingerprint"]:
        return failure is not None and failure["fingerprint"] == expected["fingerprint"]
    return not expected["type"] or (failure is not None and failure.get("type") == expected["type"])


def _attempt(
    manifest: dict[str, Any], repo: str, capsule: str, side: _Side
) -> tuple[str, dict[str, Any] | None, float]:
    """One replay in fresh processes and directories: the victim's outcome and failure."""
    base = tempfile.mkdtemp(prefix="rg-")
    began = time.monotonic()
    processes: list[_TestProcess] = []
    try:
        place = _Place(base, repo, manifest, side)
        for _ in range(manifest["conditions"]["leftovers"]):
            before = _TestProcess(place, capsule, 0)
            processes.append(before)
            before.wait_ready()
            before.run(manifest["tests"])
            before.finish(manifest["victim"])
        lanes = [manifest["tests"], *manifest["partners"]]
        current = [_TestProcess(place, capsule, number) for number in range(len(lanes))]
        processes += current
        for process in current:
            process.wait_ready()
        for process, tests in zip(current, lanes):
            process.run(tests)
        outcome, failure = current[0].finish(manifest["victim"])
        return outcome, failure, time.monotonic() - began
    finally:
        for process in processes:
            process.end()
        shutil.rmtree(base, ignore_errors=True)


class _Place:
    """Fresh directories under the capsule's conditions."""

    def __init__(self, base: str, repo: str, manifest: dict[str, Any], side: _Side) -> None:
        self.base = base
        self.repo = repo
        self.side = side
        self.partial = bool(manifest.get("proof"))  # what ran before may be missing on one side
        self.root: str = manifest["project"]["root"]
        self.arguments: list[str] = manifest["pytest_args"]
        # Plain `pytest` does not put its directory on sys.path; capsules that do not say so had it there.
        self.cwd_on_path = manifest.get("invocation") != "pytest"
        self.conditions: dict[str, Any] = dict(wire.NEUTRAL, **manifest["conditions"])
        self.tree = os.path.join(base, wire.start_directory(self.conditions))
        self.home = os.path.join(base, str(wire.ENVIRONMENTS[self.conditions["environment"]].get("home", "home")))
        self.tmp = os.path.join(base, "tmp")
        for directory in (self.home, self.tmp):
            os.makedirs(directory)
        checkout.copy(side.tree, self.tree)
        if side.laid:
            checkout.put(self.tree, *side.laid)


class _TestProcess:
    """One enlisted pytest process."""

    def __init__(self, place: _Place, capsule: str, number: int) -> None:
        self._place = place
        self._number = number
        self._wire = tempfile.mkdtemp(prefix="wire-", dir=place.base)
        self._pipes: dict[str, int] = {}
        self._buffers: dict[str, bytes] = {}
        for name in ("commands", "events", "results"):
            path = os.path.join(self._wire, name)
            os.mkfifo(path, 0o600)
            self._pipes[name] = os.open(path, os.O_RDWR | os.O_NONBLOCK)
            self._buffers[name] = b""
        self._tests: list[str] = []
        self._log = open(os.path.join(self._wire, "output"), "w+b")  # noqa: SIM115 - closed in end()
        # Under a name of installed packages: who looks for a project's own modules takes none of ours for one.
        plugin = os.path.join(self._wire, "site-packages")
        os.symlink(os.path.join(os.path.abspath(capsule), "plugin"), plugin)
        self._process = self._start(plugin)

    def _start(self, plugin: str) -> subprocess.Popen[bytes]:
        place = self._place
        begin = {
            "tree": place.tree,
            "original": place.repo,
            "conditions": place.conditions,
            "fork": False,
            "guard": True,
            "cwd_on_path": place.cwd_on_path,
            "watch": [place.tree, place.home, place.tmp],
        }
        if place.side.lenient and any(place.side.lenient.values()):
            begin["lenient"] = place.side.lenient
        with open(os.path.join(self._wire, "start.json"), "w") as file:
            json.dump(begin, file)
        base = {k: v for k, v in os.environ.items() if not _DROPPED.match(k) and not wire.looks_secret(k)}
        env = wire.start_environment(place.conditions, base, place.home, place.tmp)
        if place.side.roots:
            env["PYTHONPATH"] = os.pathsep.join(os.path.join(place.tree, root).rstrip("/") for root in place.side.roots)
        program = "import sys; sys.path.append(%r); from repro_gate_pytest import enlist; enlist.main()" % plugin
        argv = [sys.executable, "-c", program, self._wire, "-p", "repro_gate_pytest.plugin", *place.arguments]
        return subprocess.Popen(
            argv,
            env=env,
            cwd=os.path.join(place.tree, place.root),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=wire.start_umask(place.conditions),
        )

    def _frames(self, name: str, seconds: float) -> list[dict[str, Any]]:
        fd = self._pipes[name]
        select.select([fd], [], [], seconds)
        data = self._buffers[name]
        while True:
            try:
                chunk = os.read(fd, 1 << 16)
            except BlockingIOError:
                break
            if not chunk:
                break
            data += chunk
        lines, self._buffers[name] = wire.split_lines(data)
        return [wire.decode(line) for line in lines]

    def wait_ready(self) -> None:
        """Until it has collected. Raises NoReplay with its last words."""
        deadline = time.monotonic() + _COLLECT_SECONDS
        while True:
            gone = self._process.poll() is not None
            for frame in self._frames("events", 0.1):
                if frame["ev"] == wire.COLLECTED:
                    self._tests.extend(test[0] for test in frame["tests"])
                elif frame["ev"] == wire.NOTE and str(frame.get("text", "")).startswith("no-pytest"):
                    raise NoReplay("%s has no pytest: PYTHON=... names one that has it" % sys.executable)
                elif frame["ev"] == wire.READY:
                    return
            if gone or time.monotonic() > deadline:
                raise NotCollected("pytest did not collect the tests:\n%s" % self._words())

    def run(self, tests: list[str]) -> None:
        """Send the one command. Raises NoReplay for a test that is not there."""
        missing = [test for test in tests if test not in self._tests]
        if missing and not (self._place.partial and tests[-1] in self._tests):
            where = "this checkout" if self._place.side.name == "checkout" else self._place.side.name
            raise NotCollected("%s has no test %s" % (where, missing[0]))
        frame = {
            "do": wire.RUN,
            "run": 1,
            "lane": self._number,
            "conditions": self._place.conditions,
            "order": [self._tests.index(test) for test in tests if test in self._tests],
            "channel": os.path.join(self._wire, "results"),
        }
        os.set_blocking(self._pipes["commands"], True)
        os.write(self._pipes["commands"], wire.encode(frame))

    def finish(self, victim: str) -> tuple[str, dict[str, Any] | None]:
        """Wait for the victim's result, or where each test counts for the first that did not pass.

        A process that ends before it has crashed.
        """
        index, every = self._tests.index(victim), self._place.side.laid is not None
        current, since = None, time.monotonic()
        while True:
            gone = self._process.poll() is not None
            for frame in self._frames("results", 0.1):
                if frame["ev"] == wire.BEGIN:
                    current, since = frame["t"], time.monotonic()
                elif frame["ev"] == wire.RESULT and (frame["t"] == index or (every and frame["o"] != "passed")):
                    failure = frame.get("f")
                    return frame["o"], dict(failure, test=self._tests[frame["t"]]) if failure else None
            if gone:
                status = self._process.returncode
                return ("crashed" if every or current == index else "not_run"), _ended("crashed", status)
            if time.monotonic() - since > self._place.side.seconds:
                return ("timeout" if every or current == index else "not_run"), _ended("timeout", "timeout")

    def end(self) -> None:
        """End it with everything that its tests left running: its guard sees to that, if it can."""
        for number, seconds in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, None)):
            try:
                os.killpg(self._process.pid, number)
            except (ProcessLookupError, PermissionError):
                pass
            try:
                self._process.wait(seconds)
                break
            except subprocess.TimeoutExpired:
                continue
        self._log.close()
        for fd in self._pipes.values():
            os.close(fd)
        self._pipes = {}

    def _words(self) -> str:
        self._log.seek(0)
        return self._log.read().decode("utf-8", "replace")[-4000:]


def _ended(outcome: str, how: object) -> dict[str, Any]:
    return {"fingerprint": "%s:%s" % (outcome, how), "message": "the process ended (%s)" % how}
