import glob
import os
import shutil
import stat
import time

import pytest


def test_first_log_read(tmp_path):
    for name in ("001.log", "002.log"):
        (tmp_path / name).write_text(name, encoding="ascii")
    assert os.listdir(tmp_path)[0] == "001.log"


def test_parts_are_joined(tmp_path):
    (tmp_path / "part-1.txt").write_text("one ", encoding="ascii")
    (tmp_path / "part-2.txt").write_text("two", encoding="ascii")
    parts = glob.glob(os.path.join(str(tmp_path), "part-*.txt"))
    text = ""
    for part in parts:
        with open(part, encoding="ascii") as file:
            text += file.read()
    assert text == "one two"


def test_mirror_has_the_same_listing(tmp_path):
    listings = []
    for side in ("left", "right"):
        root = tmp_path / side
        for folder in ("in", "out", "kept"):
            (root / folder).mkdir(parents=True)
            for name in ("a.csv", "b.csv", "c.csv"):
                (root / folder / name).write_text("", encoding="ascii")
        listings.append([(folders, files) for _, folders, files in os.walk(str(root))])
    assert listings[0] == listings[1]


@pytest.mark.parametrize("drafts", [("draft", "final")], ids=["draft -> final"])
def test_last_is_final(tmp_path, drafts):
    for name in drafts:
        (tmp_path / name).mkdir()
    assert {path.name: place for place, path in enumerate(tmp_path.iterdir())}["final"] == 0


def test_ledger_starts_empty(project):
    ledger = project / "var" / "ledger.txt"
    ledger.parent.mkdir(exist_ok=True)
    with open(ledger, "a", encoding="ascii") as file:
        file.write("opened\n")
    assert ledger.read_text(encoding="ascii").count("opened") == 1


def test_shared_file_is_readable_by_all(tmp_path):
    path = tmp_path / "shared.txt"
    path.write_text("for everybody", encoding="ascii")
    assert stat.S_IMODE(path.stat().st_mode) & 0o044 == 0o044


def test_mode_set(tmp_path):
    path = tmp_path / "private.txt"
    path.write_text("for me", encoding="ascii")
    path.chmod(0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_umask_put_back(tmp_path):
    before = os.umask(0o027)
    try:
        path = tmp_path / "group.txt"
        path.touch()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_copy_is_not_older(tmp_path):
    source = tmp_path / "source"
    source.write_text("x", encoding="ascii")
    copy = tmp_path / "copy"
    shutil.copy2(str(source), str(copy))
    os.utime(str(copy), ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns + 10**9))
    assert copy.stat().st_mtime > source.stat().st_mtime


def test_two_writes_in_order(tmp_path):
    first = tmp_path / "first"
    first.touch()
    time.sleep(0.02)
    second = tmp_path / "second"
    second.touch()
    assert first.stat().st_mtime_ns <= second.stat().st_mtime_ns


def test_sorted_listing(tmp_path):
    for name in "cab":
        (tmp_path / name).touch()
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]
    assert {path.name for path in tmp_path.iterdir()} == set("abc")


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    return tmp_path_factory.mktemp("box")


@pytest.mark.parametrize("name", ["a b", "[c]", "d::e"])
def test_odd_file_names(box, name):
    path = box / name
    path.write_text(name, encoding="ascii")
    assert path.read_text(encoding="ascii") == name


def test_greeting_on_disk(project):
    assert (project / "tests" / "data" / "greeting.txt").read_bytes().startswith(b"hello")
