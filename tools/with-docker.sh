#!/usr/bin/env bash
# Run a command with a Docker daemon in reach: the one that answers, or a private one that ends with the command.
# Where there can be none it says why and runs the command without: the tests that need one are skipped, and no others.
set -euo pipefail

without() {
    echo "docker: $1; tests that need it are skipped." >&2
    exec "${command[@]}"
}

answers() { # the address of a socket
    command -v docker >/dev/null && docker --host "$1" version >/dev/null 2>&1
}

install() {
    command -v apt-get >/dev/null || return 1
    echo "docker: installing it with apt-get." >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y -qq --no-install-recommends docker.io >/dev/null 2>&1 && return
    apt-get update -qq >/dev/null 2>&1 || true
    apt-get install -y -qq --no-install-recommends docker.io >/dev/null 2>&1
}

# A second daemon beside another one can take its bridge away, and its containers' network with it.
another_runs() {
    grep --quiet --line-regexp dockerd /proc/[0-9]*/comm 2>/dev/null
}

finish() {
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
    rm -rf "$place"
}

command=("$@")
[ -z "${DOCKER_HOST:-}" ] || exec "${command[@]}"
! answers unix:///var/run/docker.sock || exec "${command[@]}"
[ "$(id -u)" -eq 0 ] || without "no daemon answers, and only root can start one"
! another_runs || without "a daemon runs here already, on a socket of its own (name it with DOCKER_HOST)"
command -v dockerd >/dev/null || install || without "apt-get could not install it"
! answers unix:///var/run/docker.sock || exec "${command[@]}" # installing it may have started it
! another_runs || without "the daemon that was installed does not answer"

place="$(mktemp -d /tmp/docker-XXXXXX)"
DOCKER_HOST="unix://$place/docker.sock"
dockerd --host "$DOCKER_HOST" --data-root "$place/data" --exec-root "$place/exec" --pidfile "$place/pid" \
    >"$place/log" 2>&1 &
daemon=$!
trap finish EXIT
for _ in $(seq 120); do
    ! answers "$DOCKER_HOST" || break
    if ! kill -0 "$daemon" 2>/dev/null; then
        echo "docker: dockerd does not start here ($(tail -n 1 "$place/log")); tests that need it are skipped." >&2
        unset DOCKER_HOST
        break
    fi
    sleep 0.5
done
[ -z "${DOCKER_HOST:-}" ] || export DOCKER_HOST
"${command[@]}"
