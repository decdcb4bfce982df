"""What lock files pin, for this interpreter, these extras and these groups, in each of the four formats."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro_gate.environment import declare
from repro_gate.environment.locks import Locked, read_lock
from repro_gate.errors import ConfigError

unhurried = settings(deadline=None)  # the first example pays for imports, and machines may be busy

LINUX = {
    "implementation_name": "cpython",
    "implementation_version": "3.11.7",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "6",
    "platform_system": "Linux",
    "platform_version": "#1",
    "python_full_version": "3.11.7",
    "python_version": "3.11",
    "sys_platform": "linux",
}
OLD = {**LINUX, "python_full_version": "3.9.1", "python_version": "3.9", "implementation_version": "3.9.1"}

PYPROJECT = """\
    [project]
    name = "demo"
    version = "1"
    dependencies = ["alpha", "colors; os_name == 'nt'"]
    [project.optional-dependencies]
    test = ["beta[fast]"]
    [dependency-groups]
    dev = ["gamma"]
"""

UV = """\
    version = 1
    requires-python = ">=3.9"
    [[package]]
    name = "demo"
    source = { editable = "." }
    dependencies = [{ name = "alpha" }, { name = "colors", marker = "os_name == 'nt'" }]
    [package.optional-dependencies]
    test = [{ name = "beta", extra = ["fast"] }]
    [package.dev-dependencies]
    dev = [{ name = "gamma" }]
    [[package]]
    name = "alpha"
    version = "1.0"
    source = { registry = "https://index.example/simple" }
    sdist = { url = "https://host.example/alpha.tar.gz", hash = "sha256:a0", size = 1 }
    wheels = [{ url = "https://host.example/alpha.whl", hash = "sha256:a1", size = 1 }]
    [[package]]
    name = "beta"
    version = "2.0"
    source = { url = "https://host.example/beta-2.0-py3-none-any.whl" }
    wheels = [{ url = "https://host.example/beta-2.0-py3-none-any.whl", hash = "sha256:b1" }]
    [package.optional-dependencies]
    fast = [
        { name = "speed", version = "1", source = { registry = "x" }, marker = "python_full_version < '3.10'" },
        { name = "speed", version = "2", source = { registry = "x" }, marker = "python_full_version >= '3.10'" },
    ]
    [[package]]
    name = "gamma"
    version = "3.0"
    source = { git = "https://host.example/gamma?rev=main&subdirectory=py#c0ffee" }
    dependencies = [{ name = "alpha" }, { name = "demo" }, { name = "member" }]
    [[package]]
    name = "member"
    version = "1"
    source = { editable = "packages/member" }
    [[package]]
    name = "speed"
    version = "1"
    source = { registry = "x" }
    [[package]]
    name = "speed"
    version = "2"
    source = { registry = "x" }
    wheels = [{ url = "https://host.example/speed.whl", hash = "sha256:c2" }]
    [[package]]
    name = "colors"
    version = "9"
    source = { registry = "x" }
"""

POETRY = """\
    [[package]]
    name = "alpha"
    version = "1.0"
    optional = false
    python-versions = ">=3.9"
    groups = ["main", "dev"]
    files = [{file = "a.whl", hash = "sha256:a1"}, {file = "a.tar.gz", hash = "sha256:a0"}]
    [[package]]
    name = "beta"
    version = "2.0"
    optional = true
    python-versions = "*"
    groups = ["main"]
    markers = "extra == \\"test\\""
    files = []
    [package.source]
    type = "url"
    url = "https://host.example/beta-2.0-py3-none-any.whl"
    [[package]]
    name = "colors"
    version = "9"
    optional = false
    python-versions = "*"
    groups = ["main", "dev"]
    markers = {main = "os_name == \\"nt\\"", dev = "python_version < \\"3.10\\""}
    files = []
    [[package]]
    name = "gamma"
    version = "3.0"
    optional = false
    python-versions = "*"
    groups = ["dev"]
    files = []
    [package.source]
    type = "git"
    url = "https://host.example/gamma"
    reference = "main"
    resolved_reference = "c0ffee"
    [[package]]
    name = "here"
    version = "0"
    optional = false
    python-versions = "*"
    groups = ["dev"]
    files = []
    [package.source]
    type = "directory"
    url = "../here"
    [metadata]
    lock-version = "2.1"
"""

PDM = """\
    [metadata]
    groups = ["default", "test", "dev"]
    strategy = ["inherit_metadata"]
    [[package]]
    name = "alpha"
    version = "1.0"
    requires_python = ">=3.9"
    groups = ["default", "dev"]
    files = [{file = "a.whl", hash = "sha256:a1"}, {file = "a.tar.gz", hash = "sha256:a0"}]
    [[package]]
    name = "beta"
    version = "2.0"
    extras = ["fast"]
    url = "https://host.example/beta-2.0-py3-none-any.whl"
    groups = ["test"]
    files = [{url = "https://host.example/beta-2.0-py3-none-any.whl", hash = "sha256:b1"}]
    [[package]]
    name = "speed"
    version = "2"
    requires_python = ">=3.10"
    groups = ["test"]
    files = [{file = "s.whl", hash = "sha256:c2"}]
    [[package]]
    name = "colors"
    version = "9"
    groups = ["default"]
    marker = "os_name == 'nt'"
    files = []
    [[package]]
    name = "gamma"
    version = "3.0"
    git = "https://host.example/gamma"
    ref = "main"
    revision = "c0ffee"
    groups = ["dev"]
    [[package]]
    name = "demo"
    version = "1"
    path = "."
    editable = true
    groups = ["dev"]
"""

PYLOCK = """\
    lock-version = "1.0"
    created-by = "x"
    requires-python = ">=3.9"
    extras = ["test"]
    dependency-groups = ["dev"]
    default-groups = []
    [[packages]]
    name = "alpha"
    version = "1.0"
    sdist = {url = "https://host.example/alpha-1.0.tar.gz", hashes = {sha256 = "a0"}}
    wheels = [{url = "https://host.example/alpha-1.0-py3-none-any.whl", hashes = {sha256 = "a1"}}]
    [[packages]]
    name = "beta"
    version = "2.0"
    marker = "'test' in extras"
    archive = {url = "https://host.example/beta-2.0.zip", hashes = {sha256 = "b1"}}
    [[packages]]
    name = "gamma"
    version = "3.0"
    marker = "'dev' in dependency_groups"
    vcs = {type = "git", url = "https://host.example/gamma", commit-id = "c0ffee"}
    [[packages]]
    name = "colors"
    version = "9"
    marker = "os_name == 'nt'"
    wheels = [{url = "https://host.example/colors-9-py3-none-any.whl", hashes = {sha256 = "d1"}}]
    [[packages]]
    name = "demo"
    directory = {path = ".", editable = true}
"""

FORMATS = {"uv.lock": UV, "poetry.lock": POETRY, "pdm.lock": PDM, "pylock.toml": PYLOCK}


def locked(
    name: str,
    text: str,
    environment: Mapping[str, str] = LINUX,
    *,
    extras: Sequence[str] = ("none",),
    groups: Sequence[str] = ("none",),
    pyproject: str = PYPROJECT,
) -> Locked:
    files = {name: textwrap.dedent(text).encode(), "pyproject.toml": textwrap.dedent(pyproject).encode()}
    return read_lock(files[name], declare(files, extras=extras, groups=groups), environment)


def names(found: Locked) -> list[str]:
    return [pin.name for pin in found.pins]


ALPHA = "alpha==1.0 --hash=sha256:a0 --hash=sha256:a1"


@pytest.mark.parametrize("name", FORMATS)
def test_without_extras_and_groups_only_what_the_product_needs_here_is_pinned(name: str) -> None:
    assert [pin.line() for pin in locked(name, FORMATS[name]).pins] == [ALPHA]
    windows = {**LINUX, "os_name": "nt", "sys_platform": "win32"}
    assert names(locked(name, FORMATS[name], windows)) == ["alpha", "colors"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("uv.lock", ["alpha", "beta", "speed"]),
        ("poetry.lock", ["alpha", "beta"]),
        ("pdm.lock", ["alpha", "beta", "speed"]),
        ("pylock.toml", ["alpha", "beta"]),
    ],
)
def test_an_extra_adds_its_packages(name: str, wanted: list[str]) -> None:
    found = locked(name, FORMATS[name], extras=["test"])
    assert names(found) == wanted
    beta = found.pins[1].line()
    assert beta.startswith("beta @ https://host.example/beta-2.0")
    assert ("--hash=sha256:b1" in beta) == (name != "poetry.lock")


@pytest.mark.parametrize("name", FORMATS)
def test_a_group_adds_its_packages_and_a_repository_is_pinned_by_its_commit(name: str) -> None:
    found = locked(name, FORMATS[name], groups=["dev"])
    assert names(found) == ["alpha", "gamma"]
    folder = "#subdirectory=py" if name == "uv.lock" else ""
    assert found.pins[1].line() == f"gamma @ git+https://host.example/gamma@c0ffee{folder}"


def test_local_packages_are_not_installed_and_named() -> None:
    said = "is part of the tree or a local path, and was not installed"
    assert locked("uv.lock", UV, groups=["dev"]).notes == (f"member {said}",)
    assert locked("poetry.lock", POETRY, groups=["dev"]).notes == (f"here {said}",)
    assert f"demo {said}" in locked("pylock.toml", PYLOCK).notes


def test_of_two_versions_the_one_for_the_interpreter_is_pinned() -> None:
    def speed(environment: Mapping[str, str]) -> list[str]:
        return [pin.version for pin in locked("uv.lock", UV, environment, extras=["test"]).pins if pin.name == "speed"]

    assert (speed(LINUX), speed(OLD)) == (["2"], ["1"])
    assert names(locked("pdm.lock", PDM, OLD, extras=["test"])) == ["alpha", "beta"]
    assert names(locked("poetry.lock", POETRY, OLD, groups=["dev"])) == ["alpha", "colors", "gamma"]


OLD_POETRY = """\
    [[package]]
    name = "alpha"
    version = "1.0"
    optional = false
    python-versions = "^3.7"
    [package.dependencies]
    beta = {version = "^2.0", extras = ["fast"]}
    colors = {version = "*", markers = "os_name == 'nt'"}
    [[package]]
    name = "beta"
    version = "2.1"
    python-versions = ">=3.10"
    [package.dependencies]
    speed = {version = "*", optional = true, markers = "extra == 'fast' and os_name == 'posix'"}
    slow = {version = "*", optional = true, markers = "extra == 'slow'"}
    [package.extras]
    fast = ["speed (>=1)"]
    slow = ["slow"]
    [[package]]
    name = "beta"
    version = "2.0"
    python-versions = "<3.10"
    [[package]]
    name = "beta"
    version = "1.0"
    python-versions = "*"
    [[package]]
    name = "speed"
    version = "1"
    python-versions = "*"
    [[package]]
    name = "slow"
    version = "1"
    python-versions = "*"
    [[package]]
    name = "stray"
    version = "1"
    python-versions = "*"
    [metadata]
    lock-version = "1.1"
    [metadata.files]
    alpha = [{file = "a.whl", hash = "sha256:a1"}]
    beta = []
"""


def test_an_old_lock_of_poetry_is_walked_from_the_project() -> None:
    plain = """\
        [tool.poetry]
        name = "demo"
        [tool.poetry.dependencies]
        alpha = "^1.0"
    """
    found = locked("poetry.lock", OLD_POETRY, pyproject=plain)
    assert [pin.line() for pin in found.pins] == ["alpha==1.0 --hash=sha256:a1", "beta==2.1", "speed==1"]
    old = locked("poetry.lock", OLD_POETRY, OLD, pyproject=plain)
    assert [pin.line() for pin in old.pins] == ["alpha==1.0 --hash=sha256:a1", "beta==2.0"]


def test_an_old_lock_of_pdm_is_walked_from_the_project() -> None:
    text = """\
        [[package]]
        name = "alpha"
        version = "1.0"
        dependencies = ["beta[fast]>=2; os_name == 'posix'", "colors; os_name == 'nt'"]
        [[package]]
        name = "beta"
        version = "2.0"
        files = [{file = "b.whl", hash = "sha256:b1"}]
        [[package]]
        name = "beta"
        version = "2.0"
        extras = ["fast"]
        dependencies = ["beta==2.0", "speed"]
        [[package]]
        name = "speed"
        version = "1"
        [[package]]
        name = "stray"
        version = "1"
    """
    found = locked("pdm.lock", text)
    assert [pin.line() for pin in found.pins] == ["alpha==1.0", "beta==2.0 --hash=sha256:b1", "speed==1"]


def test_a_group_that_is_not_locked_is_said() -> None:
    assert "the lock does not hold the group more" in locked("pdm.lock", PDM, groups=["more"]).notes
    missing = locked("pylock.toml", PYLOCK, extras=["test", "web"], groups=["dev", "more"]).notes
    assert [note for note in missing if "does not hold" in note] == [
        "the lock does not hold the extra or group more",
        "the lock does not hold the extra or group web",
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("uv.lock", "a = \n", "uv.lock:1: not valid TOML"),
        ("uv.lock", "version = 1\n", "uv.lock: it does not hold the project itself"),
        ("uv.lock", "package = 3\n", "uv.lock is not a lock file as expected"),
        ("uv.lock", UV.replace('">=3.9"', '">=3.12"'), "uv.lock: it is for Python >=3.12, and this is 3.11.7"),
        ("uv.lock", UV.replace('name = "alpha"\n    version', 'name = "other"\n    version'), "does not hold alpha"),
        ("poetry.lock", "[[package]]\nversion = '1'\n", "poetry.lock is not a lock file as expected"),
        ("poetry.lock", POETRY.replace("python_version <", "python_version ?"), "no environment marker"),
        ("pdm.lock", "[[package]]\nversion = '1'\ngroups = ['default']\n", "pdm.lock is not a lock file as expected"),
        ("pylock.toml", 'lock-version = "9.0"\n', "pylock.toml: it is not valid"),
        ("pylock.toml", PYLOCK.replace('">=3.9"', '">=3.12"'), "pylock.toml: it is for Python >=3.12"),
    ],
)
def test_a_lock_that_cannot_be_used_is_named_with_the_reason(name: str, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        locked(name, text, groups=["dev"])
    assert said in str(caught.value)
    assert caught.value.next_step


def test_two_versions_of_one_package_at_once_are_refused() -> None:
    text = (
        PYLOCK
        + '    [[packages]]\n    name = "alpha"\n    version = "2.0"\n    archive = {url = "x", hashes = {sha256 = "x"}}\n'
    )
    with pytest.raises(ConfigError, match=r"pins alpha to 1\.0 and to 2\.0"):
        locked("pylock.toml", text)


# --- laws ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["uv.lock", "poetry.lock", "pdm.lock"])
@unhurried
@given(data=st.data())
def test_the_order_of_packages_in_a_lock_does_not_matter(name: str, data: st.DataObject) -> None:
    head, *packages = textwrap.dedent(FORMATS[name]).split("[[package]]\n")
    tail = ""
    if name == "poetry.lock":
        packages[-1], _, rest = packages[-1].partition("[metadata]")
        tail = f"[metadata]{rest}"
    shuffled = "".join(f"[[package]]\n{each}" for each in data.draw(st.permutations(packages)))
    found = locked(name, head + shuffled + tail, extras=["test"], groups=["dev"])
    assert found == locked(name, FORMATS[name], extras=["test"], groups=["dev"])
