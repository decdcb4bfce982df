#!/usr/bin/env bash
# Install bubblewrap, the sandbox that needs no daemon, where that takes no question; else say what is skipped.
# Never fails: without it the tests of that sandbox are skipped, and no others.
set -euo pipefail

skipped() {
    echo "bubblewrap: $1; tests that need this sandbox are skipped." >&2
    exit 0
}

install() { # prefix command or nothing
    echo "bubblewrap: installing it with apt-get." >&2
    "$@" apt-get install -y -qq --no-install-recommends bubblewrap >/dev/null 2>&1 && return
    "$@" apt-get update -qq >/dev/null 2>&1 || true
    "$@" apt-get install -y -qq --no-install-recommends bubblewrap >/dev/null 2>&1
}

if ! command -v bwrap >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    if ! command -v apt-get >/dev/null; then
        skipped "not installed, and there is no apt-get"
    elif [ "$(id -u)" -eq 0 ]; then
        install env || skipped "apt-get could not install it"
    elif [ "${CI:-}" = true ] && sudo -n true 2>/dev/null; then
        # On a developer's own machine nothing is done with sudo, even if it would not ask.
        install sudo || skipped "apt-get could not install it"
    else
        skipped "not installed (as root: apt-get install bubblewrap)"
    fi
fi

# Installed is not usable: containers and some distributions forbid user namespaces.
bwrap --ro-bind / / --unshare-net true >/dev/null 2>&1 ||
    skipped "installed, but this system does not let it make a network namespace"
