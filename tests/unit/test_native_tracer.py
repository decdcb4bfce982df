"""coverage.py's tracer in C: trusted only where it tells what is known, and what else a test may do with tracing.

Each case runs in an interpreter of its own, since there is one place for trace functions in a thread.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import coverage
import pytest

from repro_gate.experiment import wiring

HERE = str(Path(coverage.__file__).parent)
PRODUCT = """\
def half(n):
    if n > 3:
        n += 1
    return n


def calls(other):
    other()
    if other:
        return 1
    return 2
"""
ALL = "1,7"  # what importing it runs
HALF_9 = ["2-4", "2>3"]
SCRIPT = """
import json, sys, threading
if hasattr(sys, "monitoring"):
    for n in range(6): sys.monitoring.use_tool_id(n, str(n))
sys.path.insert(0, PLUGIN)
from repro_gate_pytest import lines
watched = lines.Lines(ROOT, {}, ["product.py"], LIBRARIES)
found = {"name": watched.start()}
sys.path.insert(0, ROOT)
found["before"] = watched._engine._get()
import product
found["import"] = watched.end()["ran"]["product.py"]
def test(function):
    watched.begin()
    function()
    return watched.end().get("ran", {}).get("product.py")
def plain(): product.half(9)
"""


def run(tmp_path: Path, script: str, libraries: list[str]) -> dict[str, Any]:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    (root / "product.py").write_text(PRODUCT)
    names = f"PLUGIN, ROOT, LIBRARIES = {str(wiring.plugin_root())!r}, {str(root)!r}, {libraries!r}\n"
    end = "\nfound['modules'] = [name for name in sys.modules if name.startswith('coverage')]\nprint(json.dumps(found))"
    done = subprocess.run(
        # -S: without the packages of this interpreter, among them its own coverage.py.
        [sys.executable, "-S", "-c", names + SCRIPT + script + end],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["import"] == [ALL, ""]
    return found


def test_it_is_used_and_the_project_does_not_see_it(tmp_path: Path) -> None:
    found = run(tmp_path, "found['test'] = test(plain)", [HERE])
    assert (found["name"], found["test"], found["modules"]) == ("tracing in C", HALF_9, [])


@pytest.mark.parametrize("content", [None, b"", b"not a library"])
def test_one_that_is_none_is_left_alone(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        import importlib.machinery

        (tmp_path / f"tracer{importlib.machinery.EXTENSION_SUFFIXES[0]}").write_bytes(content)
    found = run(tmp_path, "found['test'] = test(plain)", [str(tmp_path)])
    assert (found["name"], found["test"]) == ("tracing", HALF_9)


def test_one_whose_numbers_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    script = """
from repro_gate_pytest import native
native._LAYOUTS = (7,)
found["test"] = native.find(LIBRARIES, ROOT) is None and sys.gettrace() is None
"""
    assert run(tmp_path, script, [HERE])["test"] is True


def test_a_file_has_what_ran_during_each_test_and_no_more(tmp_path: Path) -> None:
    script = "found['tests'] = [test(plain), test(lambda: None), test(lambda: product.half(1)), test(plain)]"
    assert run(tmp_path, script, [HERE])["tests"] == [HALF_9, None, ["2,4", "2>4"], HALF_9]


def test_threads_are_traced_too(tmp_path: Path) -> None:
    script = """
def threads():
    for n in range(20):
        thread = threading.Thread(target=product.half, args=(n,)); thread.start(); thread.join()
found["tests"] = [test(threads), test(threads)]
"""
    assert run(tmp_path, script, [HERE])["tests"] == [["2-4", "2>3,2>4"]] * 2


@pytest.mark.parametrize("libraries", [[HERE], []], ids=["in C", "in Python"])
def test_a_tracer_of_the_project_sees_all_and_costs_no_line(tmp_path: Path, libraries: list[str]) -> None:
    script = """
theirs = []
def tracer(frame, event, arg):
    theirs.append((frame.f_code.co_name, event))
    return tracer
def begins(): sys.settrace(tracer)
def ends(): sys.settrace(None)
def both():
    assert sys.gettrace() is None
    product.calls(begins)  # whose rest is to be seen, although another function traces now
    assert sys.gettrace() is tracer
    product.half(9)
    ends()
    product.half(1)
    assert sys.gettrace() is None
found["tests"] = [test(both), test(plain)]
found["theirs"] = ("half", "line") in theirs
found["fast"] = type(watched._engine._get()).__name__
"""
    found = run(tmp_path, script, libraries)
    assert found["tests"] == [["2-4,8-10", "2>3,2>4,9>10"], HALF_9]
    assert found["theirs"] is True
    assert found["fast"] == ("CTracer" if libraries else "method")


def test_greenlets_are_followed_in_python(tmp_path: Path) -> None:
    package = tmp_path / "root" / "greenlet"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    script = """
def loads():
    import greenlet
found["tests"] = [test(plain), test(lambda: product.calls(loads)), test(plain)]
found["fast"] = type(watched._engine._get()).__name__
"""
    found = run(tmp_path, script, [HERE])
    assert found["tests"] == [HALF_9, ["8-10", "9>10"], HALF_9]
    assert found["fast"] == "method"


@pytest.mark.parametrize("libraries", [[HERE], []], ids=["in C", "in Python"])
def test_nothing_is_traced_before_code_of_the_product_can_run_and_after_the_end(
    tmp_path: Path, libraries: list[str]
) -> None:
    script = """
watched.stop()
found["after"] = [test(plain), sys.gettrace()]
"""
    found = run(tmp_path, script, libraries)
    assert (found["before"], found["after"]) == (None, [None, None])
