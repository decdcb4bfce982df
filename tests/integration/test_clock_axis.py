"""The moved clock beside others: file times by any way, uuid1, databases, and whoever moves the clock as well."""

from __future__ import annotations

import pytest

from repro_gate.model import Mode
from tests.conftest import MakeLab, MakeProject, outcomes

LATER = "2031-05-17T10:20:30"

TIMES = """\
    import os, time, uuid

    def test_an_entry_is_as_old_as_its_file(tmp_path):
        (tmp_path / "new").write_text("x")
        with os.scandir(tmp_path) as found:
            (entry,) = found
        assert os.fspath(entry) == entry.path and entry.is_file() and entry.name == "new"
        assert entry.stat().st_mtime_ns == os.stat(entry).st_mtime_ns == os.stat(tmp_path / "new").st_mtime_ns
        assert abs(time.time() - entry.stat(follow_symlinks=False).st_mtime) < 60

    def test_trees_are_walked_and_removed(tmp_path):
        import shutil
        (tmp_path / "a/b").mkdir(parents=True)
        (tmp_path / "a/b/c").write_text("x")
        assert [files for _, _, files in os.walk(tmp_path)] == [[], [], ["c"]]
        shutil.copytree(tmp_path / "a", tmp_path / "d")
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "b", "c", "c", "d"]
        shutil.rmtree(tmp_path / "a")

    def test_a_uuid_is_of_now():
        seconds = (uuid.uuid1().time - 0x01B21DD213814000) / 1e7
        assert abs(time.time() - seconds) < 60
    """


def test_file_times_and_uuids_follow_the_clock(host_lab: MakeLab, project: MakeProject) -> None:
    lab = host_lab(project({"test_it.py": TIMES}))
    for clock in (LATER, "real", "2019-01-02T03:04:05"):
        result = lab.run(Mode.FORK, clock=clock)
        assert set(outcomes(result).values()) == {"passed"}, [run.output for run in result.runs if run.outcome.bad]


def test_a_database_is_another_clock(host_lab: MakeLab, project: MakeProject) -> None:
    test = "import sqlite3\ndef test_it():\n    sqlite3.connect(':memory:').close()\ndef test_none(): pass\n"
    runs = host_lab(project({"test_it.py": test})).run(Mode.FORK).runs
    assert [run.evidence.clocks if run.evidence else () for run in runs] == [("sqlite3",), ()]


# What time-machine does when it is loaded: it keeps the C functions that it finds.
KEEPS = """\
    import datetime, time, types
    KEPT = [type(vars(datetime.datetime)["now"]), type(vars(datetime.datetime)["utcnow"]), time.time.__self__, time.localtime.__self__]
    """
BESIDE = """\
    import datetime, time, types
    import _time_machine

    def test_it_found_the_real_ones():
        assert _time_machine.KEPT == [types.ClassMethodDescriptorType] * 2 + [time] * 2

    def test_the_clock_is_real():
        assert datetime.datetime.now().year == time.localtime().tm_year < 2031
    """


@pytest.mark.parametrize("mode", Mode, ids=str)
def test_who_moves_the_clock_as_well_finds_the_real_one(host_lab: MakeLab, project: MakeProject, mode: Mode) -> None:
    lab = host_lab(project({"_time_machine.py": KEEPS, "test_it.py": BESIDE}))
    facts = lab.collect()
    assert "the clock is not moved: time-machine is there, which moves it as well" in facts.notes
    result = lab.run(mode, clock=LATER)
    assert set(outcomes(result).values()) == {"passed"}, [run.output for run in result.runs]


def test_a_test_that_is_imported_late_finds_the_real_one(host_lab: MakeLab, project: MakeProject) -> None:
    late = "import datetime\ndef test_it():\n    assert datetime.datetime.now().year == 2031\n    import _time_machine\n    assert datetime.datetime.now().year < 2031\n"
    result = host_lab(project({"_time_machine.py": KEEPS, "test_it.py": late})).run(Mode.FORK, clock=LATER)
    assert outcomes(result) == {"test_it": "passed"}, [run.output for run in result.runs]


FROZEN = """\
    import pytest, _pytest.timing, time

    @pytest.fixture(autouse=True)
    def frozen(monkeypatch):
        huge = iter(range(0, 10**12, 10**9))
        monkeypatch.setattr(_pytest.timing, "perf_counter", lambda: next(huge))
        monkeypatch.setattr(time, "perf_counter", lambda: next(huge))

    def test_it(): pass
    """


def test_how_long_a_test_took_is_measured_though_it_freezes_the_clock(host_lab: MakeLab, project: MakeProject) -> None:
    (run,) = host_lab(project({"test_it.py": FROZEN})).run(Mode.FORK).runs
    assert 0 < run.seconds < 20
