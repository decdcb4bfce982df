#!/usr/bin/env bash
# One step of the action: an environment of its own for repro-gate, made once a job, and then the step itself.
# Everything that the workflow says arrives in variables; nothing of it is ever part of this text.
set -euo pipefail

source="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
step="$1"

refuse() { # sentence, next step
    echo "::error title=repro-gate::$1 $2"
    exit 3
}

[ "$(uname -s)" = Linux ] || refuse "repro-gate runs on Linux only." "Use a runner such as ubuntu-24.04."

# The tests' interpreter may be an older one, or have no pip; ours needs 3.11.
usable() { "$1" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
python=""
for candidate in "${INPUT_PYTHON:-}" python3 python python3.13 python3.12 python3.11; do
    if [ -n "$candidate" ] && command -v "$candidate" >/dev/null && usable "$candidate"; then
        python="$(command -v "$candidate")"
        break
    fi
done
[ -n "$python" ] || refuse "No Python 3.11 or later is on the path." "Add a step with actions/setup-python before this one."

lock="$source/requirements/action.txt"
key="$("$python" -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read() + repr([sys.version, sys.executable]).encode()).hexdigest()[:16])' "$lock")"
# GATE_VENVS: a runner of one's own may keep it from job to job, where no job can write but this step.
place="${GATE_VENVS:-${RUNNER_TEMP:-${TMPDIR:-/tmp}}}/repro-gate-venv-$key"
if [ ! -d "$place" ]; then
    echo "::group::repro-gate: making its environment with $("$python" --version)"
    new="$place.$$"
    rm -rf "$new"
    # Unpacking pip into it would take longer than all the rest: the one that is there installs into it.
    if "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -I -m venv --without-pip "$new"
        installer=("$python" -I -m pip --python "$new/bin/python")
    else
        "$python" -I -m venv "$new" || refuse "$python cannot make a virtual environment." "Install its venv module, or add a step with actions/setup-python."
        installer=("$new/bin/python" -I -m pip)
    fi
    # What is not compiled now is compiled when it is first imported, and most of it never is.
    "${installer[@]}" install --quiet --disable-pip-version-check --no-input --no-deps --no-compile --only-binary=:all: \
        --require-hashes --requirement "$lock" ||
        refuse "The packages of repro-gate could not be installed." "What pip says stands above; a mirror is set by PIP_INDEX_URL."
    # Another job of the same runner may have been faster; half of one is never there.
    mv -T "$new" "$place" 2>/dev/null || rm -rf "$new"
    echo "::endgroup::"
fi

# -P: what lies in the working directory is a stranger's, and is never imported. Our own place is named to this one
# process, and not by PYTHONPATH, which the tests would inherit.
exec "$place/bin/python" -P -c 'import runpy, sys
sys.path[:0] = sys.argv.pop(1).split(":")
runpy.run_module("repro_gate.action", run_name="__main__", alter_sys=True)' "$source/ci_gate:$source/pytest_plugin" "$step"
