"""repro.sh: the single entrypoint of a capsule, as text."""

from __future__ import annotations

REPRO_SH = """#!/bin/sh
# Replays this capsule: ./repro.sh --repo CHECKOUT [--times K]
# Needs a checkout of the commit named in manifest.json and a Python that has pytest and the
# project's own dependencies (PYTHON=... names another than python3). Nothing else.
# A proof needs git, and a checkout that has both commits.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
command -v "${PYTHON:-python3}" >/dev/null || {
  echo "not replayed: there is no ${PYTHON:-python3}: PYTHON=... names a Python that has pytest" >&2; exit 3; }
exec "${PYTHON:-python3}" -c 'import sys
sys.path.insert(0, sys.argv[1] + "/plugin")
from repro_gate_pytest import replay
sys.exit(replay.main(sys.argv[1:]))' "$here" "$@"
"""
