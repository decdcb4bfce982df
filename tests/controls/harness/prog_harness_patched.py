"""Correct programs that patch what a harness may need itself, some of it until teardown, when results are reported."""

import builtins
import json
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from unittest import mock

import pytest


def refuse(*args, **options):
    raise AssertionError("the program under test must not call this")


@pytest.mark.parametrize(
    "module, name",
    [
        (json, "dumps"),
        (json, "dump"),
        (json, "loads"),
        (pickle, "dumps"),
        (os, "write"),
        (os, "pipe"),
        (os, "_exit"),
        (os, "kill"),
        (os, "urandom"),
        (os, "listdir"),
        (os, "waitpid"),
        (time, "time"),
        (time, "sleep"),
        (time, "monotonic"),
        (time, "perf_counter"),
        (time, "process_time"),
        (random, "random"),
        (random, "seed"),
        (socket, "socket"),
        (subprocess, "Popen"),
        (threading, "Thread"),
        (threading, "Lock"),
        (signal, "signal"),
        (traceback, "format_exception"),
        (builtins, "print"),
        (builtins, "input"),
        (sys, "exit"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_forbidden_until_teardown(monkeypatch, module, name):
    monkeypatch.setattr(module, name, refuse)
    with pytest.raises(AssertionError, match="must not call"):
        getattr(module, name)()


def test_process_number_is_another_one_until_teardown(monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 4242)
    assert os.getpid() == 4242


def test_clocks_stand_still_until_teardown(monkeypatch):
    for name in ("time", "monotonic", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: 1.0)
    assert time.time() == time.monotonic() == time.perf_counter()


def test_modules_are_replaced_until_teardown(monkeypatch):
    for name in ("json", "select", "random", "tempfile"):
        monkeypatch.setitem(sys.modules, name, mock.MagicMock())
    import json as fake

    assert isinstance(fake, mock.MagicMock)


def test_module_is_forbidden_until_teardown(monkeypatch):
    monkeypatch.setitem(sys.modules, "hashlib", None)
    with pytest.raises(ImportError):
        import hashlib  # noqa: F401


def test_open_is_mocked():
    with mock.patch("builtins.open", mock.mock_open(read_data="text")) as fake:
        with open("anything", encoding="utf-8") as stream:
            assert stream.read() == "text"
    fake.assert_called_once_with("anything", encoding="utf-8")


def test_environment_is_cleared():
    with mock.patch.dict(os.environ, clear=True):
        assert dict(os.environ) == {}


def test_streams_are_mocked_until_teardown(monkeypatch):
    monkeypatch.setattr(sys, "stdout", mock.MagicMock())
    monkeypatch.setattr(sys, "stderr", mock.MagicMock())
    print("into a mock")
    assert sys.stdout.write.called


def test_variables_are_deleted_until_teardown(monkeypatch):
    for name in list(os.environ):
        if name != "PYTEST_CURRENT_TEST":
            monkeypatch.delenv(name)
    assert set(os.environ) <= {"PYTEST_CURRENT_TEST"}


def test_import_is_patched():
    real = builtins.__import__

    def guarded(name, *args, **options):
        if name == "control_harness_forbidden":
            raise ImportError("forbidden")
        return real(name, *args, **options)

    with mock.patch("builtins.__import__", guarded), pytest.raises(ImportError, match="forbidden"):
        __import__("control_harness_forbidden")


def test_everything_is_itself_again():
    assert json.loads(json.dumps([1, "é"])) == [1, "é"]
    assert os.getpid() > 0
    assert time.time() > 1e9
    assert subprocess.Popen is not refuse
