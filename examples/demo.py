"""`make demo`: find the flaky tests of the bundled example, replay one of them twice, and prove a pull request.

Everything happens in a new temporary directory. Exits with 0 only if each step did what it must.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SHOP = Path(__file__).resolve().parent / "shop"
PULL_REQUEST = SHOP.parent / "pull-request.patch"
IDENTITY = ("-c", "user.name=demo", "-c", "user.email=demo@example.invalid", "-c", "commit.gpgsign=false")
ENVIRONMENT = {
    **os.environ,
    "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
    # The scan's output goes through this program, so it cannot see how wide the terminal is.
    "COLUMNS": str(shutil.get_terminal_size().columns),
}


def main() -> int:
    """The exit code."""
    base = Path(tempfile.mkdtemp(prefix="repro-gate-demo-"))
    shop = base / "shop"
    say(f"The example: a small shop with 54 tests, copied to {shop}")
    shutil.copytree(SHOP, shop, ignore=shutil.ignore_patterns("__pycache__", ".*_cache", "var", ".repro-gate"))
    must(0, ["git", "init", "--quiet"], shop)
    must(0, ["git", "add", "--all"], shop)
    must(0, ["git", *IDENTITY, "commit", "--quiet", "--message", "The shop"], shop)

    say("1. Find what is flaky. This takes three to six minutes on two cores.")
    output = must(
        1, ["repro-gate", "scan", "--runs", "20", "--report-json", "../report.json", "--capsules", "../capsules"], shop
    )
    report = json.loads((base / "report.json").read_text(encoding="utf-8"))
    found = [test for test in report["tests"] if test["verdict"] in ("flaky", "condition-dependent")]
    pinned = [test for test in found if test["capsule"] and test["capsule"]["pinned"]]
    if not pinned:
        raise SystemExit("demo: the scan made no pinned capsule")
    # A test that fails on a certain day makes the better story.
    chosen = next((test for test in pinned if test["cause"] == "clock"), pinned[0])
    capsule = chosen["capsule"]["path"]

    say(f"2. Replay one of them: {chosen['id']}", f"   {chosen['cause']}: {chosen['detail']}")
    printed = next((line for line in output if line.startswith("repro-gate replay") and capsule in line), None)
    if printed is None:
        raise SystemExit(f"demo: the scan printed no command to replay {capsule}")
    must(0, shlex.split(printed), shop)

    say("3. The same for somebody who has no repro-gate: a checkout, Python, pytest, and the unpacked capsule.")
    must(0, ["repro-gate", "capsule", "unpack", capsule, "../capsule"], shop)
    must(0, ["../capsule/repro.sh", "--repo", "."], shop)

    say("4. A pull request says that it fixes one of them. Do its tests fail without it, and pass with it?")
    must(0, ["git", *IDENTITY, "am", "--quiet", str(PULL_REQUEST)], shop)
    reports = ["--summary", "../summary.md", "--report-json", "../check.json", "--capsules", "../capsules"]
    must(0, ["repro-gate", "check", "--base", "HEAD~1", *reports], shop)

    say("5. The proof is a capsule, too. In a colleague's clone: red on base, green on head.")
    gates = json.loads((base / "check.json").read_text(encoding="utf-8"))["gates"]
    proof = next(proof for gate in gates for proof in gate.get("proved", ()) if proof["replay"])
    must(0, ["git", "clone", "--quiet", str(shop), str(base / "clone")], base)
    must(0, [*shlex.split(proof["replay"]), "--times", "2"], base / "clone")

    program = shutil.which("repro-gate", path=ENVIRONMENT["PATH"]) or "repro-gate"
    say(
        f"Done: {len(found)} of {len(report['tests'])} tests depend on something, {len(pinned)} of them replay each time.",
        "examples/shop/README.md says what was hidden in there. Go on with:",
        f"  cd {shlex.quote(str(shop))}",
        f"  {shlex.join([program, 'capsule', 'show', capsule])}",
        f"  less {shlex.quote(str(base / 'report.json'))} {shlex.quote(str(base / 'summary.md'))}",
        f"To remove it all: rm -r {shlex.quote(str(base))}",
    )
    return 0


def say(*lines: str) -> None:
    """Words of the demo, apart from what the commands print."""
    print("", *lines, "", sep="\n", flush=True)


def must(expected: int, command: list[str], directory: Path) -> list[str]:
    """Print a command, run it with its output shown as it comes, and return that output's lines.

    Ends the demo if the command does not exit with ``expected``.
    """
    print(f"$ {shlex.join(command)}", flush=True)
    lines = []
    with subprocess.Popen(command, cwd=directory, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    if process.returncode != expected:
        raise SystemExit(f"demo: exit code {process.returncode} where {expected} was expected: {shlex.join(command)}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
