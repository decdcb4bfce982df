"""Independent unittest classes with set-up for the module, the class and the method, which may run more than once."""

import logging
import os
import shutil
import tempfile
import unittest
from unittest import mock

import pytest

STATE = {}


def setUpModule():
    STATE["module"] = "ready"


def tearDownModule():
    STATE.clear()


class FolderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def setUp(self):
        self.path = os.path.join(self.folder, "file")
        with open(self.path, "w", encoding="utf-8") as stream:
            stream.write("text")

    def tearDown(self):
        os.unlink(self.path)

    def test_file_is_there(self):
        self.assertEqual(os.listdir(self.folder), ["file"])
        self.assertEqual(STATE["module"], "ready")

    def test_file_is_fresh(self):
        with open(self.path, "r+", encoding="utf-8") as stream:
            self.assertEqual(stream.read(), "text")
            stream.write("more")

    def test_file_is_fresh_again(self):
        self.assertEqual(os.path.getsize(self.path), 4)


class MiscTest(unittest.TestCase):
    def setUp(self):
        patcher = mock.patch.dict(os.environ, {"CONTROL_UNITTEST": "1"})
        patcher.start()
        self.addCleanup(patcher.stop)

    def test_environment(self):
        self.assertEqual(os.environ["CONTROL_UNITTEST"], "1")

    def test_several_parts(self):
        for number in range(5):
            with self.subTest(number=number):
                self.assertEqual(number * 2, number + number)

    def test_raises_and_logs(self):
        with self.assertRaisesRegex(ValueError, "invalid literal"):
            int("x")
        with self.assertLogs("unit", "INFO") as logs:
            logging.getLogger("unit").info("hello")
        self.assertEqual(logs.output, ["INFO:unit:hello"])

    @unittest.skip("always")
    def test_skipped(self):
        self.fail("must not run")

    @unittest.expectedFailure
    def test_expected_failure(self):
        self.assertEqual(1, 2)

    @mock.patch("os.getcwd", return_value="/nowhere")
    def test_patched(self, getcwd):
        self.assertEqual(os.getcwd(), "/nowhere")
        getcwd.assert_called_once_with()


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.value = 1

    async def test_value(self):
        self.value += 1
        self.assertEqual(self.value, 2)

    async def test_value_again(self):
        self.assertEqual(self.value, 1)


@pytest.mark.usefixtures("module_file")
class TestMixed(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take(self, book, tmp_path):
        self.book = book
        self.folder = tmp_path

    def test_fixtures_reach_unittest(self):
        self.assertEqual(len(self.book), 2)
        self.assertEqual(list(self.folder.iterdir()), [])
