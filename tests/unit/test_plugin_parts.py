"""The plugin's parts that patch an interpreter, each tried in an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import pytest

from repro_gate_pytest import evidence, replay, runner
from repro_gate_pytest.axes import parallel, threads


def python(program: str, **env: str) -> str:
    """Run a program that asserts; its output."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "TZ": "UTC", **env},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_replaced_builtin_is_replaced_for_whoever_imported_it_before() -> None:
    python("""
        import pickle, time
        from time import time as early
        class Holder: now = time.time
        from repro_gate_pytest import patching
        originals = []
        def make(original):
            originals.append(original)
            return lambda *args: 42.0
        assert patching.replace_function(time, "time", make) is True
        assert time.time is early
        assert (early(), time.time(), Holder().now(), Holder.now()) == (42.0,) * 4
        assert originals[0]() > 1e9
        assert pickle.loads(pickle.dumps(time.time)) is early
    """)


def test_a_replacement_may_raise_and_takes_keywords() -> None:
    python("""
        import posix
        from repro_gate_pytest import patching
        def make(original):
            def listdir(path=".", **kwargs):
                if path == "/nowhere":
                    raise FileNotFoundError(2, "no", path)
                return original(path)
            return listdir
        assert patching.replace_function(posix, "listdir", make)
        import os
        assert os.listdir(path="/") == os.listdir("/") != []
        try:
            os.listdir("/nowhere")
        except FileNotFoundError as e:
            assert e.filename == "/nowhere"
        else:
            raise AssertionError
    """)


def test_a_function_written_in_python_is_replaced_on_its_module() -> None:
    python("""
        import glob
        from repro_gate_pytest import patching
        assert patching.replace_function(glob, "glob", lambda original: lambda *a: "mine") is False
        assert glob.glob("x") == "mine"
    """)


def test_a_class_method_of_c_is_replaced_for_subclasses_too() -> None:
    python("""
        import datetime
        from repro_gate_pytest import patching
        class Mine(datetime.datetime): pass
        def make(descriptor):
            return lambda cls, *a: (cls, descriptor.__get__(None, cls)(*a))
        assert patching.replace_classmethod(datetime.datetime, "now", make)
        cls, real = Mine.now()
        assert cls is Mine and type(real) is Mine
        assert patching.replace_classmethod(datetime.datetime, "no_such", make) is False
    """)


@pytest.mark.parametrize(
    ("value", "readings"),
    [
        ("2028-02-29T12:00:00", ["2028-02-29 12:00"] * 3),
        ("~2028-03-01T00:00:00", ["2028-02-29 23:59", "2028-03-01 00:00", "2028-03-01 00:00"]),
        ("~~2028-03-01T00:00:00", ["2028-02-29 23:59", "2028-02-29 23:59", "2028-03-01 00:00"]),
    ],
)
@pytest.mark.parametrize(
    "read",
    [
        "datetime.datetime.now()",
        "datetime.datetime.utcnow()",
        "datetime.datetime.now(datetime.timezone.utc)",
        "datetime.datetime.fromtimestamp(time.time())",
        "datetime.datetime.fromtimestamp(time.time_ns() / 1e9)",
        "datetime.datetime(*time.localtime()[:6])",
        "datetime.datetime(*time.gmtime()[:6])",
        "datetime.datetime.strptime(time.ctime(), '%a %b %d %H:%M:%S %Y')",
        "datetime.datetime.strptime(time.asctime(), '%a %b %d %H:%M:%S %Y')",
        "datetime.datetime.strptime(time.strftime('%Y %m %d %H %M'), '%Y %m %d %H %M')",
        "datetime.datetime.fromtimestamp(time.clock_gettime(time.CLOCK_REALTIME))",
    ],
)
def test_every_way_to_read_the_clock_is_moved_and_crosses_at_the_right_reading(
    value: str, readings: list[str], read: str
) -> None:
    python(f"""
        import datetime, itertools, time, warnings
        warnings.simplefilter("ignore")
        from repro_gate_pytest import wire
        from repro_gate_pytest.axes import clock
        axis = clock.Clock()
        assert axis.install() == []
        ticks = itertools.count(10**18, 1000)
        axis._real_ns = lambda: next(ticks)  # however slow this machine is
        axis.apply(dict(wire.NEUTRAL, clock={value!r}))
        axis.before_test("a")
        seen = [({read}).strftime("%Y-%m-%d %H:%M") for _ in range(3)]
        assert seen == {readings!r}, seen
        assert axis.touched()
        axis.before_test("b")
        assert not axis.touched()
        assert {read} >= datetime.datetime(2028, 2, 29, 12, tzinfo=({read}).tzinfo)
    """)


def test_time_between_two_readings_passes_as_it_really_does_while_an_instant_is_crossed() -> None:
    python("""
        import time
        from repro_gate_pytest import wire
        from repro_gate_pytest.axes import clock
        axis = clock.Clock(); axis.install()
        for value in ("~2028-03-01T00:00:00", "~~2028-03-01T00:00:00"):
            axis.apply(dict(wire.NEUTRAL, clock=value))
            now = 10**18
            axis._real_ns = lambda: now
            axis.before_test("a")
            now += 5 * 10**9
            seen = []
            for seconds in (0, 0.1, 0.1, 0.1):
                now += int(seconds * 1e9)
                seen.append(time.time_ns())
            steps = [after - before for before, after in zip(seen, seen[1:])]
            assert all(10**8 <= step <= 10**8 + 25 * 10**6 for step in steps), steps
            assert seen[0] < 1835481600 * 10**9 < seen[-1], seen
    """)


def test_membership_of_replaced_builtins_in_sets_of_the_standard_library_holds() -> None:
    python("""
        import os
        from repro_gate_pytest import axes
        before = {name: set(getattr(os, name)) for name in ("supports_fd", "supports_dir_fd")}
        axes.install()
        assert os.listdir in os.supports_fd and os.scandir in os.supports_fd
        assert {name: len(known) for name, known in before.items()} == {name: len(getattr(os, name)) for name in before}
        assert len({os.listdir, os.scandir, os.urandom}) == 3 and os.listdir != os.scandir
    """)


def test_a_moved_clock_runs_on_and_monotonic_clocks_are_not_moved() -> None:
    python("""
        import datetime, time
        from repro_gate_pytest import wire
        from repro_gate_pytest.axes import clock
        before = time.monotonic(), time.perf_counter()
        axis = clock.Clock(); axis.install()
        real = time.time()
        axis.apply(dict(wire.NEUTRAL, clock="2038-01-20T12:00:00"))
        axis.before_test("a")
        one = time.time(); time.sleep(0.02); two = time.time()
        assert 0.02 <= two - one < 5
        assert time.monotonic() - before[0] < 30 and time.perf_counter() - before[1] < 30
        assert datetime.datetime.now().year == datetime.date.today().year == 2038
        assert time.localtime(0).tm_year == 1970 and datetime.datetime.fromtimestamp(0).year == 1970
        axis.apply(wire.NEUTRAL)
        axis.before_test("b")
        assert abs(time.time() - real) < 30
    """)


def test_a_crossing_never_makes_the_clock_run_backwards() -> None:
    python("""
        import time
        from repro_gate_pytest import wire
        from repro_gate_pytest.axes import clock
        axis = clock.Clock(); axis.install()
        axis.apply(dict(wire.NEUTRAL, clock="~~2028-03-01T00:00:00"))
        seen = []
        for test in "abc":
            axis.before_test(test)
            for pause in (0, 0.003, 0, 0, 0.002, 0):
                seen.append(time.time()); time.sleep(pause); seen.append(time.time_ns() / 1e9)
        assert seen == sorted(seen)
    """)


def test_the_audit_hook_sees_tests_and_not_what_is_harmless() -> None:
    python("""
        import os, socket, subprocess, sys, tempfile
        from repro_gate_pytest import evidence
        root = tempfile.mkdtemp()
        evidence.install(); evidence.watch_files(root)
        open(root + "/before", "w").close()
        evidence.begin()
        open("/dev/null").close()
        open(root + "/code.py", "w").close()
        assert evidence.end() is None
        evidence.begin()
        os.chdir(root)
        open("a", "w").close(); open(root + "/a").close(); os.rename("a", "b"); os.mkdir("d"); os.rmdir("d")
        fd = os.open("b", os.O_RDWR); os.close(fd)
        subprocess.run([sys.executable, "-c", ""])
        server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen()
        client = socket.socket(); client.connect(server.getsockname())
        other = socket.socket(); other.bind(("127.0.0.1", 0))
        socket.getaddrinfo("localhost", 80); socket.getaddrinfo("127.0.0.1", 80)
        seen = evidence.end()
        assert not seen.get("network"), seen
        assert f"write {root}/a" in seen["files"] and f"read {root}/a" in seen["files"], seen
        assert f"write {root}/d" in seen["files"] and f"write {root}/b" in seen["files"], seen
        assert seen["children"], seen
        assert not seen.get("binds"), seen
        evidence.begin()
        assert evidence.end() is None
    """)


def test_refused_network_raises_what_a_machine_without_a_route_raises_and_is_seen() -> None:
    python("""
        import errno, socket, urllib.request
        from repro_gate_pytest import evidence
        evidence.install(); evidence.refuse_network(True); evidence.begin()
        for attempt in (
            lambda: socket.create_connection(("192.0.2.1", 80), 1),
            lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("192.0.2.1", 9)),
            lambda: socket.socket(socket.AF_INET6).connect(("2001:db8::1", 80)),
        ):
            try:
                attempt()
            except OSError as refused:
                assert refused.errno == errno.ENETUNREACH, refused
            else:
                raise AssertionError
        for attempt in (lambda: socket.getaddrinfo("example.org", 80), lambda: socket.gethostbyname("example.org")):
            try:
                attempt()
            except socket.gaierror as refused:
                assert refused.errno == socket.EAI_AGAIN
            else:
                raise AssertionError
        assert evidence.network_seen()
        seen = evidence.end()["network"]
        assert seen == ["connect 192.0.2.1:80", "send 192.0.2.1:9", "connect 2001:db8::1:80", "look up example.org"], seen
    """)


def test_evidence_is_capped_and_counts_what_is_left_out() -> None:
    python("""
        import tempfile
        from repro_gate_pytest import evidence
        root = tempfile.mkdtemp()
        evidence.install(); evidence.watch_files(root); evidence.begin()
        for n in range(60):
            for _ in range(2):
                open(f"{root}/{n}", "w").close()
        seen = evidence.end()
        assert len(seen["files"]) == 50 and seen["more"] == 20, (len(seen["files"]), seen["more"])
    """)


def waits(lane: int, run: int) -> list[float]:
    """The waits before the first file operations of a test in this lane."""
    axis = parallel.Parallel()
    axis.apply(runner.conditions_of({"do": "run", "run": run, "lane": lane, "conditions": {"parallel": 2}}))
    evidence.delay_files(None)
    axis.before_test("test_a.py::test")
    return [axis._wait() for _ in range(20)]


def test_lanes_side_by_side_do_not_keep_step_and_meet_again_in_any_process() -> None:
    assert waits(0, 1) == waits(0, 1)
    assert waits(0, 1) != waits(1, 1)
    assert waits(0, 1) != waits(0, 2)


def test_delays_of_threads_are_long_under_some_seeds_only_and_bounded_in_sum() -> None:
    axis = threads.Threads()

    def delays(seed: int, started: int = 40) -> float:
        axis._seed = seed
        axis.before_test("tests/test_a.py::test_a")
        for axis._started in range(1, started + 1):
            axis._delay(threading.Thread())
        return axis._added

    sums = [delays(seed) for seed in range(1, 60)]
    long = [total for total in sums if total > 0.12]  # forty threads cannot wait so long in all without stretching
    assert 8 < len(long) < 35
    assert max(delays(seed, started=2000) for seed in range(1, 20)) <= 0.3
    assert [delays(seed) for seed in range(1, 60)] == sums


@pytest.mark.parametrize(("ended_by", "code"), [(KeyboardInterrupt, 130), (BrokenPipeError, 141)])
def test_a_replay_by_hand_that_is_stopped_shows_no_traceback(
    ended_by: type[BaseException], code: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def stopped(_: object) -> int:
        raise ended_by

    monkeypatch.setattr(replay, "_replayed", stopped)
    kept = os.dup(1)
    try:
        assert replay.main(["capsule"]) == code
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    assert "Traceback" not in "".join(capfd.readouterr())
