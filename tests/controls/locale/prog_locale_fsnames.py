"""Correct programs that use file names of any script. They need UTF-8 as the encoding of the file system,
which this axis keeps whatever the encoding of text is."""

import glob
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

NAMES = ["naïve.txt", "größe", "Ελλάδα.md", "日本語", "🙂.py"]


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "ünï cödé"
    root.mkdir()
    for name in NAMES:
        (root / name).write_text(name, encoding="utf-8")
    return root


def test_file_system_encoding():
    assert os.fsencode("é日") == b"\xc3\xa9\xe6\x97\xa5"
    assert os.fsdecode(b"\xc3\xa9") == "é"
    assert os.fsencode(os.fsdecode(b"\xff\xfe")) == b"\xff\xfe"


def test_listings(folder):
    assert sorted(os.listdir(folder)) == sorted(NAMES)
    assert sorted(p.name for p in folder.iterdir()) == sorted(NAMES)
    assert sorted(os.listdir(os.fsencode(folder))) == sorted(os.fsencode(n) for n in NAMES)
    assert sorted(os.path.basename(p) for p in glob.glob(str(folder / "*.*"))) == sorted(n for n in NAMES if "." in n)


def test_reading_and_moving(folder):
    for name in NAMES:
        assert (folder / name).read_text(encoding="utf-8") == name
    (folder / "größe").rename(folder / "größer")
    assert (folder / "größer").exists()
    assert not (folder / "größe").exists()
    shutil.copytree(folder, folder.parent / "kopie ß")
    assert len(list((folder.parent / "kopie ß").iterdir())) == len(NAMES)


def test_name_that_is_not_utf8(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"\xff\xfe")
    try:
        with open(path, "wb") as stream:
            stream.write(b"x")
    except OSError:
        pytest.skip("this file system refuses such names")
    (name,) = os.listdir(tmp_path)
    assert os.fsencode(name) == b"\xff\xfe"
    assert (tmp_path / name).read_bytes() == b"x"


def test_zip_member_names(folder, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in NAMES:
            archive.write(folder / name, name)
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.namelist() == NAMES
        archive.extractall(tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(NAMES)


def test_working_directory(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert Path.cwd().name == "ünï cödé"
    assert Path("größe").read_text(encoding="utf-8") == "größe"
    assert os.getcwdb() == os.fsencode(os.getcwd())


def test_arguments_and_variables_of_a_child():
    code = "import os, sys;sys.stdout.buffer.write(os.fsencode(sys.argv[1]) + b'|' + os.environb[b'CONTROL_NAME'])"
    done = subprocess.run(
        [sys.executable, "-c", code, "日本"],
        env=dict(os.environ, CONTROL_NAME="größe"),
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    assert done.stdout == "日本|größe".encode()


def test_environment(monkeypatch):
    monkeypatch.setenv("CONTROL_NAME", "Ελλάδα")
    assert os.environ["CONTROL_NAME"] == "Ελλάδα"
    assert os.environb[b"CONTROL_NAME"] == "Ελλάδα".encode()


def test_import_from_such_a_folder(tmp_path, monkeypatch):
    source = tmp_path / "ordner ß"
    source.mkdir()
    (source / "control_locale_module.py").write_text("# größe\nNAME = 'é'\n", encoding="utf-8")
    monkeypatch.syspath_prepend(source)
    import control_locale_module

    monkeypatch.delitem(sys.modules, "control_locale_module")
    assert control_locale_module.NAME == "é"
    assert "ordner ß" in control_locale_module.__file__


def test_größe_in_the_name_of_a_test(tmp_path, request):
    assert "größe" in request.node.name
    assert tmp_path.is_dir()
