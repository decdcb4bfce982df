"""Programs that list an unchanged directory twice and rely on the same order, as every local file system gives it.

A listing may come in any order, but not in another one each time: shuffle by the directory, not by the call.
"""

import glob
import os

import pytest


@pytest.fixture
def folder(tmp_path):
    for index in range(12):
        (tmp_path / f"image{index}").write_bytes(bytes(index))
    return tmp_path


def test_two_listings_agree(folder):
    assert os.listdir(folder) == os.listdir(folder) == os.listdir(str(folder))
    assert list(folder.iterdir()) == list(folder.iterdir())
    assert glob.glob(str(folder / "*")) == glob.glob(str(folder / "*"))


def test_names_and_sizes_belong_together(folder):
    sizes = [os.path.getsize(folder / name) for name in os.listdir(folder)]
    assert {name: size for name, size in zip(os.listdir(folder), sizes)} == {f"image{i}": i for i in range(12)}


def test_listdir_and_scandir_agree(folder):
    with os.scandir(folder) as entries:
        assert [e.name for e in entries] == os.listdir(folder)
    assert [p.name for p in folder.iterdir()] == os.listdir(folder)
    ((_, _, names),) = os.walk(folder)
    assert names == os.listdir(folder)
