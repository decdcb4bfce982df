"""Correct programs that look at or change the interpreter and pytest itself, and put them back."""

import contextlib
import decimal
import doctest
import importlib
import io
import locale
import logging
import logging.config
import os
import subprocess
import sys
import threading
import traceback
import warnings

import pytest

pytestmark = pytest.mark.control

REGISTRY = []
LINES = (line for line in ["first", "second"])


def test_registers_once():
    assert REGISTRY == []
    REGISTRY.append("registered")


def test_consumes_a_generator_made_at_import():
    assert next(LINES) == "first"


def test_arguments_of_the_program(monkeypatch):
    assert isinstance(sys.argv, list)
    assert sys.argv
    assert all(isinstance(a, str) for a in sys.argv)
    monkeypatch.setattr(sys, "argv", ["program", "--flag", "value"])
    assert sys.argv[1:] == ["--flag", "value"]


def test_main_module():
    assert "__main__" in sys.modules
    assert __name__ == "prog_harness_interpreter"
    assert sys.modules[__name__].test_main_module is test_main_module


def test_configuration_of_pytest(request, pytestconfig):
    config = request.config
    assert config is pytestconfig
    assert "prog_*.py" in config.getini("python_files")
    assert config.getini("control_limit") == "12"
    assert "error" in config.getini("filterwarnings")
    assert config.inipath.name == "pytest.ini"
    assert (config.rootpath / "pytest.ini").is_file()
    assert config.invocation_params.dir.is_dir()
    assert config.pluginmanager.hasplugin("python")
    assert config.control_configured == 1
    assert isinstance(config.getoption("verbose"), int)


def test_option_of_the_project(colour):
    assert colour == "blue"


def test_hooks_of_the_project(request):
    assert ("collected", True) in request.node.user_properties
    assert request.node.control_set_up == 1
    assert [i for i in request.session.items if i.name == request.node.name] == [request.node]
    assert request.session.testscollected == len(request.session.items)


def test_name_in_the_environment(request):
    assert os.environ["PYTEST_CURRENT_TEST"] == f"{request.node.nodeid} (call)"


def test_trace_function_is_put_back():
    before, lines = sys.gettrace(), []

    def trace(frame, event, argument):
        lines.append(event)
        return trace

    def work():
        return 1 + 1

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    assert lines[0] == "call"
    assert "return" in lines
    assert sys.gettrace() is before


def test_profile_function_is_put_back():
    before, events = sys.getprofile(), []
    sys.setprofile(lambda frame, event, argument: events.append(event))
    try:
        len("abc")
    finally:
        sys.setprofile(before)
    assert "c_call" in events
    assert sys.getprofile() is before


@pytest.mark.skipif(sys.version_info < (3, 12), reason="new in 3.12")
def test_monitoring():
    free = [tool for tool in (3, 4, 2, 5) if sys.monitoring.get_tool(tool) is None]
    assert free
    tool, seen = free[0], []
    events = sys.monitoring.events

    def work():
        return 1

    sys.monitoring.use_tool_id(tool, "control")
    try:
        sys.monitoring.register_callback(tool, events.PY_START, lambda code, offset: seen.append(code.co_name))
        sys.monitoring.set_local_events(tool, work.__code__, events.PY_START)
        work()
        sys.monitoring.set_local_events(tool, work.__code__, 0)
        sys.monitoring.register_callback(tool, events.PY_START, None)
    finally:
        sys.monitoring.free_tool_id(tool)
    assert seen == ["work"]


def test_recursion_limit():
    before = sys.getrecursionlimit()

    def depth(number):
        return 0 if number == 0 else 1 + depth(number - 1)

    sys.setrecursionlimit(before + 1000)
    try:
        assert depth(before) == before
    finally:
        sys.setrecursionlimit(before)
    assert sys.getrecursionlimit() == before


def test_endless_recursion_is_caught():
    def endless():
        return endless()

    with pytest.raises(RecursionError):
        endless()
    assert isinstance(repr(endless), str)


def test_warning_is_an_error():
    with pytest.raises(UserWarning, match="careful"):
        warnings.warn("careful", stacklevel=1)
    with pytest.raises(DeprecationWarning):
        warnings.warn("old", DeprecationWarning, stacklevel=1)


@pytest.mark.filterwarnings("ignore:known:UserWarning")
def test_warning_that_is_allowed():
    warnings.warn("known", stacklevel=1)


def test_warnings_are_recorded():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("one", stacklevel=1)
        warnings.warn("one", stacklevel=1)
    assert [str(w.message) for w in caught] == ["one", "one"]


def test_streams_are_replaced():
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        print("out")
        print("error", file=sys.stderr)
        assert (sys.stdout.getvalue(), sys.stderr.getvalue()) == ("out\n", "error\n")
    finally:
        sys.stdout, sys.stderr = before


def test_streams_are_redirected():
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as error:
        print("out")
        print("error", file=sys.stderr)
    assert (out.getvalue(), error.getvalue()) == ("out\n", "error\n")


def test_streams_are_absent(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    print("nobody hears this")


def test_descriptor_is_redirected(tmp_path):
    sys.stdout.flush()
    saved = os.dup(1)
    try:
        with open(tmp_path / "out", "wb") as stream:
            os.dup2(stream.fileno(), 1)
        os.write(1, b"direct\n")
        subprocess.run([sys.executable, "-c", "print('child')"], timeout=60, check=True)
    finally:
        os.dup2(saved, 1)
        os.close(saved)
    assert (tmp_path / "out").read_bytes().split() == [b"direct", b"child"]


def test_big_output():
    line = "x" * 99
    for _ in range(20000):
        print(line)
    for _ in range(20000):
        print(line, file=sys.stderr)


def test_big_direct_output():
    block = b"y" * 65535 + b"\n"
    for descriptor in (1, 2):
        for _ in range(16):
            rest = memoryview(block)
            while rest:
                rest = rest[os.write(descriptor, rest) :]


def test_odd_output():
    print("no end of line", end="")
    print("\x1b[31mred\x1b[0m \x00 \r \x08 ::error::not a command ##[group] \u2028".encode("ascii", "replace"))
    sys.stdout.write("\x1b]0;title\x07\n::stop-commands::x\n")
    sys.stderr.write('{"event": "looks like ours"}\n')


@pytest.fixture
def root_logger():
    root = logging.getLogger()
    handlers, level, disabled = root.handlers[:], root.level, logging.root.manager.disable
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.disable(disabled)


def test_logging_is_configured(root_logger):
    stream = io.StringIO()
    logging.basicConfig(stream=stream, level=logging.INFO, format="%(levelname)s:%(message)s", force=True)
    logging.getLogger("harness").info("one")
    assert stream.getvalue() == "INFO:one\n"


def test_logging_is_configured_by_a_dictionary(root_logger):
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "handlers": {"null": {"class": "logging.NullHandler"}},
            "root": {"handlers": ["null"], "level": "WARNING"},
        }
    )
    assert [type(h) for h in root_logger.handlers] == [logging.NullHandler]


def test_logging_is_disabled(root_logger, caplog):
    logging.disable(logging.CRITICAL)
    logging.getLogger("harness").error("nobody hears this")
    assert caplog.records == []


def test_working_directory_is_changed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert os.path.samefile(os.getcwd(), tmp_path)


def test_working_directory_is_changed_by_hand(tmp_path):
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        with open("relative", "w", encoding="utf-8") as stream:
            stream.write("x")
    finally:
        os.chdir(before)
    assert (tmp_path / "relative").exists()
    assert os.getcwd() == before


def test_working_directory_is_removed(monkeypatch, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(FileNotFoundError):
        os.getcwd()


def test_path_and_modules(monkeypatch, tmp_path):
    (tmp_path / "control_harness_module.py").write_text("VALUE = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("control_harness_module")
    monkeypatch.delitem(sys.modules, "control_harness_module")
    again = importlib.import_module("control_harness_module")
    monkeypatch.delitem(sys.modules, "control_harness_module")
    assert module is not again
    assert module.VALUE == again.VALUE == 1
    assert sys.path[0] == str(tmp_path)


def test_module_is_reloaded():
    import colorsys

    colorsys.ONE_THIRD = "changed"
    assert importlib.reload(colorsys) is colorsys
    assert pytest.approx(1 / 3) == colorsys.ONE_THIRD


def test_modules_are_put_back():
    before = sys.modules.copy()
    sys.modules["control_harness_fake"] = object()
    sys.modules.clear()
    sys.modules.update(before)
    assert "control_harness_fake" not in sys.modules


def test_decimal_contexts():
    before = decimal.getcontext().prec
    with decimal.localcontext() as context:
        context.prec = 5
        context.traps[decimal.Inexact] = True
        with pytest.raises(decimal.Inexact):
            decimal.Decimal(1) / 3
    assert decimal.getcontext().prec == before
    assert decimal.Decimal("0.1") + decimal.Decimal("0.2") == decimal.Decimal("0.3")


def test_locale_of_numbers():
    before = locale.setlocale(locale.LC_NUMERIC)
    assert locale.setlocale(locale.LC_NUMERIC, "C") == "C"
    try:
        assert f"{1.5:n}" == locale.str(1.5) == "1.5"
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


class Weird(Exception):
    def __str__(self):
        raise ValueError("no text")

    __repr__ = __str__

    def __eq__(self, other):
        raise TypeError("no comparison")

    __hash__ = None

    def __bool__(self):
        raise OverflowError("no truth")

    def __getattr__(self, name):
        raise AttributeError(name)


def test_weird_exception_is_caught():
    with pytest.raises(Weird) as caught:
        raise Weird
    assert type(caught.value) is Weird
    try:
        raise Weird from Weird()
    except Weird as error:
        kind = type(error.__cause__)
    assert kind is Weird


@pytest.mark.parametrize("value", [Weird(), Weird, object(), float("nan"), b"\xff", 10**400, "a\nb\0c", None])
def test_weird_parameters(value):
    assert isinstance(value, type) or type(value) is not type


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, BaseException, StopIteration])
def test_base_exceptions_are_caught(kind):
    with pytest.raises(kind):
        raise kind


def test_cyclic_causes():
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    with pytest.raises(ValueError, match="one") as caught:
        raise one
    assert "one" in "".join(traceback.format_exception(type(caught.value), caught.value, None))
    one.__cause__ = two.__cause__ = None


def test_exception_in_a_thread_is_hooked(monkeypatch):
    caught = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: caught.append(arguments.exc_type))
    thread = threading.Thread(target=int, args=("x",))
    thread.start()
    thread.join(60)
    assert caught == [ValueError]


def test_hooks_of_the_interpreter(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "excepthook", lambda *a: seen.append(a[0]))
    monkeypatch.setattr(sys, "displayhook", seen.append)
    sys.excepthook(KeyError, KeyError("x"), None)
    sys.displayhook(3)
    assert seen == [KeyError, 3]


def add(one, two):
    """Add two numbers.

    >>> add(1, 2)
    3
    >>> add("a", 1)
    Traceback (most recent call last):
        ...
    TypeError: can only concatenate str (not "int") to str
    >>> for word in sorted({"b", "a"}):
    ...     print(word)
    a
    b
    """
    return one + two


def test_examples_in_docstrings():
    runner = doctest.DocTestRunner()
    (found,) = doctest.DocTestFinder().find(add, "add", globs={"add": add})
    assert runner.run(found) == (0, 3)


def test_compiled_code():
    scope = {}
    exec(compile("def f():\n    return 42\n", "<control>", "exec"), scope)
    assert scope["f"]() == 42


def test_meta_path_is_extended(monkeypatch):
    class Refuse:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "control_harness_refused":
                raise ImportError("refused")

    monkeypatch.setattr(sys, "meta_path", [Refuse, *sys.meta_path])
    with pytest.raises(ImportError, match="refused"):
        importlib.import_module("control_harness_refused")
