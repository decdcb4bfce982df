"""Tests see the caller's environment without secrets, without CI's, and without what an axis sets."""

from __future__ import annotations

import pytest

from repro_gate.experiment import looks_secret, visible_environment


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
        "MY_API_KEY",
        "APIKEY",
        "SSH_PRIVATE",
        "SENTRY_DSN",
        "X_AUTH",
        "AUTH_HEADER",
        "npm_config__auth",
        "SIGNING_KEY",
        "SESSION_ID",
        "passwd",
        "GPG_PASSPHRASE",
        "DB_PASS",
        "SLACK_WEBHOOK_URL",
    ],
)
def test_names_of_secrets_are_withheld_and_named(name: str) -> None:
    assert looks_secret(name)
    visible, withheld = visible_environment({name: "x", "PATH": "/bin"}, user_base="")
    assert (visible, withheld) == ({"PATH": "/bin"}, (name,))


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "AUTHOR",
        "KEYBOARD",
        "MONKEY",
        "DATABASE_URL",
        "PYTHONPATH",
        "CI",
        "LD_LIBRARY_PATH",
        "PASS_THROUGH",
        "COMPASS_X",
        "BYPASS_X",
    ],
)
def test_ordinary_names_are_seen(name: str) -> None:
    assert visible_environment({name: "x"}, user_base="") == ({name: "x"}, ())


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_SHA",
        "ACTIONS_CACHE_URL",
        "RUNNER_TEMP",
        "INPUT_X",
        "PYTHONHASHSEED",
        "PYTHONPYCACHEPREFIX",
        "LC_ALL",
        "LANG",
        "TZ",
        "TMPDIR",
        "PYTEST_CURRENT_TEST",
        "PYTEST_XDIST_WORKER",
        "COVERAGE_PROCESS_START",
        "SSH_AUTH_SOCK",
        "PWD",
        "MAKEFLAGS",
    ],
)
def test_what_ci_tools_and_axes_set_is_left_out(name: str) -> None:
    visible, _ = visible_environment({name: "x"}, user_base="")
    assert visible == {}


def test_a_name_that_is_allowed_is_seen_whatever_it_looks_like() -> None:
    environ = {"MY_TOKEN": "t", "GITHUB_SHA": "s", "OTHER_TOKEN": "o"}
    visible, withheld = visible_environment(environ, user_base="", allow=("MY_TOKEN", "GITHUB_SHA"))
    assert visible == {"MY_TOKEN": "t", "GITHUB_SHA": "s"}
    assert withheld == ("OTHER_TOKEN",)


def test_packages_installed_for_the_user_are_still_found_with_another_home() -> None:
    assert visible_environment({}, user_base="/srv/me/.local")[0] == {"PYTHONUSERBASE": "/srv/me/.local"}
