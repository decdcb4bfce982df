"""A capsule that replayed, as a pull request: the capsule and a test that fails until its failure is gone.

Belongs here: the files and words of that pull request. Does not belong here: opening it (github).
"""

from __future__ import annotations

from pathlib import PurePosixPath

from repro_gate.capsule import Manifest
from repro_gate.github.remote import Proposal
from repro_gate.report.as_markdown import code, escaped

_TEST = '''\
"""A failure that was replayed, until it is mended. Made by repro-gate from the capsule beside it.

The test that fails: {victim}
When it is mended, this passes; keep it as a guard, or delete it with its capsule.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[{depth}]
CAPSULE = Path(__file__).with_name("{capsule}")
SAME_FAILURE = 0  # what repro.sh says by its exit code; 1: another outcome, 3: it could not be tried


def test_the_failure_of_capsule_{identity}_does_not_come_back(tmp_path):
    with zipfile.ZipFile(CAPSULE) as archive:
        archive.extractall(tmp_path)
    replay = ["/bin/sh", str(tmp_path / "repro.sh"), "--repo", str(ROOT), "--times", "2"]
    done = subprocess.run(replay, env={{**os.environ, "PYTHON": sys.executable}}, capture_output=True, text=True)
    assert done.returncode != SAME_FAILURE, done.stdout + done.stderr
    assert done.returncode == 1, "it could not be tried: " + done.stdout + done.stderr
'''


def proposal(manifest: Manifest, data: bytes, *, base: str, run: str) -> Proposal:
    """The pull request for a capsule (its manifest and its bytes) on the branch ``base``;
    ``run`` is where it was replayed.
    """
    folder = PurePosixPath(manifest.project.root) / "tests" / "capsules"
    name = f"capsule-{manifest.id}.zip"
    test = _TEST.format(
        victim=ascii(manifest.victim)[1:-1].replace('"', "'").replace("\\", "/"),
        depth=len(folder.parts) - 1,
        capsule=name,
        identity=manifest.id,
    )
    cause = f"{manifest.cause.axis or 'no axis alone'}: {manifest.cause.detail}"
    body = (
        f"The capsule {code(manifest.id)} was replayed in {run}, and {code(manifest.victim)} failed each time.\n\n"
        f"It depends on {escaped(cause)}.\n\n"
        "The new test replays it and fails until the failure is gone. It needs a checkout with the commit of the capsule's tests.\n"
    )
    return Proposal(
        branch=f"repro-gate/capsule-{manifest.id}",
        base=base,
        title=f"Add a failing test for capsule {manifest.id}",
        body=body,
        files={str(folder / name): data, str(folder / f"test_capsule_{manifest.id}.py"): test.encode()},
    )
