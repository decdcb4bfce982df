import os
import pwd
import subprocess
import sys
import unittest
from pathlib import Path

import pytest

from probe import settings

START = Path.cwd()


def test_region():
    assert settings.region() == "eu"


def test_region_from_environment():
    os.environ["PROBE_SHOP_REGION"] = "us"
    assert settings.region() == "us"


def test_started_here():
    assert Path.cwd() == START


def test_move_to_spool(tmp_path):
    os.chdir(str(tmp_path))
    assert list(Path(".").iterdir()) == []


@pytest.fixture(scope="class")
def events():
    return []


class TestSession:
    def test_login(self, events):
        settings.session.login("ada")
        events.append("login")
        assert settings.session.user == "ada"

    def test_title(self, events):
        events.append("title")
        assert settings.session.title() == "Ada"

    def test_events_are_shared(self, events):
        assert len(events) <= 2


def test_home_is_the_account_home():
    assert Path.home() == Path(pwd.getpwuid(os.getuid()).pw_dir)


def test_timeout_on_a_desk():
    assert settings.timeout() == 5


def test_greeting_by_shell():
    path = Path(__file__).resolve().parent / "data" / "greeting.txt"
    done = subprocess.run("cat %s" % path, shell=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert done.stdout.startswith(b"hello")


def test_timeout_in_ci(monkeypatch):
    monkeypatch.setenv("CI", "true")
    assert settings.timeout() == 60


def test_changed_directory_put_back(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert Path.cwd().samefile(tmp_path)


def test_greeting_by_list():
    path = Path(__file__).resolve().parent / "data" / "greeting.txt"
    assert subprocess.check_output(["cat", str(path)]).startswith(b"hello")


class PathCase(unittest.TestCase):
    def setUp(self):
        self.before = list(sys.path)

    def tearDown(self):
        sys.path[:] = self.before

    def test_insert(self):
        sys.path.insert(0, "/nowhere")
        self.assertEqual(sys.path[0], "/nowhere")

    def test_is_list(self):
        for kind in ("list", "object"):
            with self.subTest(kind=kind):
                self.assertIsInstance(sys.path, (list if kind == "list" else object))
