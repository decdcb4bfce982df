#!/usr/bin/env bash
# Print a Python that can make the development environment: 3.11 or later with the venv module.
#   tools/find-python.sh        the first that will do
#   tools/find-python.sh 3.12   that version, from PATH or from pyenv; exit 1 without a word if there is none
set -euo pipefail

# Running it is the test: a shim of a version manager can exist and not work, and Debian splits off ensurepip.
works() { # interpreter, wanted version or nothing
    "$1" - "${2:-}" >/dev/null 2>&1 <<'PY'
import sys, ensurepip, venv
wanted = sys.argv[1]
ok = sys.version_info >= (3, 11) and wanted in ("", "%d.%d" % sys.version_info[:2])
sys.exit(not ok)
PY
}

wanted="${1:-}"
if [ -n "$wanted" ]; then
    candidates=("python$wanted" python3)
    if command -v pyenv >/dev/null; then
        for found in "$(pyenv root)/versions/$wanted".*/bin/python; do candidates+=("$found"); done
    fi
else
    candidates=(python3 python3.13 python3.12 python3.11)
fi

for candidate in "${candidates[@]}"; do
    if path="$(command -v "$candidate")" && works "$path" "$wanted"; then
        printf '%s\n' "$path"
        exit 0
    fi
done

if [ -z "$wanted" ]; then
    echo "No Python 3.11 or later with the venv module found (tried: ${candidates[*]})." >&2
    echo "Install one (on Debian and Ubuntu: python3 and python3-venv) and run the same command again." >&2
fi
exit 1
