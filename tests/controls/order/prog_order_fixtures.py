"""Independent tests with fixtures of every scope: they pass alone and in any order, also mixed with other files."""

import logging
import os
import sys
import warnings

import pytest

SETTINGS = {"level": 1}


@pytest.fixture(scope="module")
def opened():
    resource = {"open": True, "readers": 0}
    yield resource
    assert resource["readers"] == 0
    resource["open"] = False


@pytest.fixture
def reader(opened):
    assert opened["open"]
    opened["readers"] += 1
    yield opened
    opened["readers"] -= 1


@pytest.fixture
def finalised(request):
    log = []

    def check():
        assert log == ["used", "last"]

    request.addfinalizer(check)
    request.addfinalizer(lambda: log.append("last"))
    return log


@pytest.fixture(params=[1, 2, 3], ids=lambda n: f"n{n}")
def number(request):
    return request.param


@pytest.fixture(scope="class")
def tally(request):
    tally = {"total": 0}
    request.cls.tally = tally
    yield tally
    assert tally["total"] >= 0


@pytest.fixture
def settings(monkeypatch):
    monkeypatch.setitem(SETTINGS, "level", 5)
    return SETTINGS


def test_session_resource(book, shelf):
    assert shelf == list(book)


def test_session_parameter(size, book):
    assert size in ("small", "large")
    assert len(book) == 2


def test_session_parameter_and_own(size, number):
    assert (size, number) in {(s, n) for s in ("small", "large") for n in (1, 2, 3)}


def test_module_resource(reader):
    assert reader["readers"] == 1


def test_module_resource_again(reader):
    assert reader["readers"] == 1


def test_module_file(module_file):
    assert module_file.read_text(encoding="utf-8") == __name__


def test_finalizers_run_in_reverse(finalised):
    finalised.append("used")


@pytest.mark.parametrize("left", [1, 2])
@pytest.mark.parametrize("right", [10, 20])
def test_two_parameters(left, right):
    assert left + right in (11, 12, 21, 22)


@pytest.mark.parametrize("number", [7, 8], indirect=True)
def test_indirect_parameter(number):
    assert number in (7, 8)


def test_settings_are_changed(settings):
    assert settings["level"] == 5


def test_settings_are_as_at_import():
    assert SETTINGS == {"level": 1}


def test_basket_is_empty_and_may_be_filled(nothing_left_over):
    assert nothing_left_over == []
    nothing_left_over.append("left over")


def test_basket_is_empty_here_too(nothing_left_over):
    assert nothing_left_over == []
    nothing_left_over.append("left over")


class TestShared:
    @pytest.fixture(autouse=True)
    def prepare(self, tally):
        tally["total"] += 1
        self.own = []

    def test_one(self):
        self.own.append(1)
        assert self.own == [1]
        assert self.tally["total"] >= 1

    def test_two(self):
        assert self.own == []

    @pytest.mark.parametrize("word", ["x", "y"])
    def test_word(self, word):
        self.own.append(word)
        assert self.own == [word]


class TestXunitStyle:
    @classmethod
    def setup_class(cls):
        cls.numbers = (1, 2, 3)

    @classmethod
    def teardown_class(cls):
        del cls.numbers

    def setup_method(self, method):
        self.name = method.__name__

    def test_numbers(self):
        assert self.numbers == (1, 2, 3)
        assert self.name == "test_numbers"

    def test_name(self):
        assert self.name == "test_name"


@pytest.mark.usefixtures("settings", "reader")
def test_used_fixtures():
    assert SETTINGS["level"] == 5


@pytest.mark.skip(reason="always skipped")
def test_skipped():
    raise AssertionError("must not run")


@pytest.mark.skipif(sys.version_info > (3,), reason="never with Python 2")
def test_skipped_by_condition():
    raise AssertionError("must not run")


def test_skips_itself(number):
    if number == 2:
        pytest.skip("two is not supported")
    assert number in (1, 3)


@pytest.mark.xfail(reason="known", strict=True)
def test_expected_failure():
    assert SETTINGS["level"] == 2


@pytest.mark.xfail(raises=ZeroDivisionError, strict=True)
def test_expected_exception():
    SETTINGS["level"] / 0


def test_fails_as_expected_inside():
    pytest.xfail("not yet")


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("cannot be printed")

    __repr__ = __str__


@pytest.mark.xfail(raises=Unprintable, strict=True)
def test_expected_exception_that_cannot_be_printed():
    raise Unprintable


def test_captured_output(capsys, request):
    print(request.node.name)
    assert capsys.readouterr().out == "test_captured_output\n"


def test_captured_log(caplog):
    with caplog.at_level(logging.DEBUG, logger="order"):
        logging.getLogger("order").debug("one")
    assert caplog.record_tuples == [("order", logging.DEBUG, "one")]


def test_no_log_is_left(caplog):
    assert caplog.records == []


def test_monkeypatched_environment(monkeypatch, tmp_path):
    assert "CONTROL_ORDER" not in os.environ
    monkeypatch.setenv("CONTROL_ORDER", "1")
    monkeypatch.chdir(tmp_path)
    assert os.listdir() == []


def test_environment_is_clean():
    assert "CONTROL_ORDER" not in os.environ


def test_temporary_path_is_empty_and_own(tmp_path, request):
    assert list(tmp_path.iterdir()) == []
    assert request.node.name[:20] in tmp_path.name
    (tmp_path / "file").touch()


def test_warning_every_time():
    for _ in range(2):
        with pytest.warns(UserWarning, match="careful"):
            warnings.warn("careful", stacklevel=1)


def test_node_and_markers(request):
    assert request.node.nodeid.endswith("::test_node_and_markers")
    assert request.function is test_node_and_markers
    assert list(request.node.iter_markers("skip")) == []


def test_recorded_properties(record_property, request):
    record_property("key", "value")
    assert ("key", "value") in request.node.user_properties


def test_fixture_by_name(request):
    assert request.getfixturevalue("book")[0] == "first page"
