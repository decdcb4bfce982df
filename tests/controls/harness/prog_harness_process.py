"""Correct programs that look at or change the process they run in, and put it back: descriptors, children, signals."""

import atexit
import contextlib
import errno
import faulthandler
import gc
import inspect
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import pytest

resource = pytest.importorskip("resource")

LONG = 60
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")


@contextlib.contextmanager
def handler(number, function):
    before = signal.signal(number, function)
    try:
        yield
    finally:
        signal.signal(number, before)


def wait_until(condition):
    deadline = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def fork():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@needs_proc
def test_no_descriptor_is_left_open(tmp_path):
    gc.collect()
    before = descriptors()
    for _ in range(20):
        with open(tmp_path / "file", "w", encoding="utf-8") as stream:
            stream.write("x")
        with socket.socket(), tempfile.TemporaryFile():
            assert descriptors() == before + 2
    subprocess.run([sys.executable, "--version"], stdout=subprocess.PIPE, timeout=LONG, check=True)
    assert descriptors() == before


@needs_proc
def test_lowest_descriptor_is_reused(tmp_path):
    first = os.open(tmp_path, os.O_RDONLY)
    os.close(first)
    second = os.open(tmp_path, os.O_RDONLY)
    os.close(second)
    assert first == second
    with pytest.raises(OSError) as caught:  # noqa: PT011
        os.close(second)
    assert caught.value.errno == errno.EBADF


def test_no_thread_is_left_running():
    before = threading.enumerate()
    thread = threading.Thread(target=int)
    thread.start()
    thread.join(LONG)
    assert threading.enumerate() == before
    assert threading.current_thread() is threading.main_thread()


@needs_proc
def test_interpreter_has_only_known_threads():
    assert len(os.listdir("/proc/self/task")) >= threading.active_count() >= 1
    assert os.getpid() == int(os.readlink("/proc/self"))


@needs_fork
def test_wait_for_any_child_finds_the_own_one():
    pid = fork()
    if pid == 0:
        os._exit(3)
    ended, status = os.waitpid(-1, 0)
    assert ended == pid
    assert os.WIFEXITED(status)
    assert os.WEXITSTATUS(status) == 3


@needs_fork
def test_wait_finds_both_children():
    children = set()
    for code in (1, 2):
        pid = fork()
        if pid == 0:
            os._exit(code)
        children.add(pid)
    ended = [os.wait() for _ in children]
    assert {pid for pid, _ in ended} == children
    assert sorted(os.WEXITSTATUS(status) for _, status in ended) == [1, 2]


@needs_fork
def test_child_that_closes_everything():
    read, write = os.pipe()
    pid = fork()
    if pid == 0:
        try:
            os.setsid()
            os.chdir("/")
            os.dup2(write, 3)
            os.closerange(4, 1024)
            for standard in (0, 1, 2):
                with contextlib.suppress(OSError):
                    os.close(standard)
            os.write(3, b"alive")
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"alive"
    assert os.waitpid(pid, 0) == (pid, 0)


@needs_fork
def test_child_that_ends_by_an_exception():
    pid = fork()
    if pid == 0:
        try:
            raise SystemExit(9)
        except SystemExit as end:
            os._exit(end.code)
    assert os.WEXITSTATUS(os.waitpid(pid, 0)[1]) == 9


@needs_fork
def test_killed_child():
    pid = fork()
    if pid == 0:
        time.sleep(LONG)
        os._exit(0)
    os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL


def square(number):
    return number * number


def put_square(queue, number):
    queue.put(number * number)


@needs_fork
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing_pool(method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(square, range(6)) == [0, 1, 4, 9, 16, 25]
            pool.close()
            pool.join()
    assert multiprocessing.active_children() == []


@needs_fork
def test_multiprocessing_process_and_queue():
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        queue = context.Queue()
        child = context.Process(target=put_square, args=(queue, 7))
        child.start()
    assert queue.get(timeout=LONG) == 49
    child.join(LONG)
    assert child.exitcode == 0
    child.close()
    queue.close()
    queue.join_thread()


def test_subprocess_streams():
    code = "import sys; print(sys.stdin.read()); print('error', file=sys.stderr); sys.exit(4)"
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"text", stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LONG
    )
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (4, b"text", b"error")


def test_subprocess_that_writes_where_we_write():
    assert subprocess.call([sys.executable, "-c", "print('from a child')"], timeout=LONG) == 0


def test_hash_seed_is_inherited():
    assert sys.flags.hash_randomization in (0, 1)
    seed = os.environ.get("PYTHONHASHSEED", "random")
    assert seed == "random" or seed.isdigit()
    code = "print(hash('control'))"
    done = [
        subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env, timeout=LONG, check=True).stdout
        for env in (dict(os.environ), dict(os.environ, PYTHONHASHSEED="3"), dict(os.environ, PYTHONHASHSEED="3"))
    ]
    assert done[1] == done[2]
    if seed.isdigit() and not sys.flags.ignore_environment:
        assert int(done[0]) == hash("control")


def test_alarm():
    fired = []
    with handler(signal.SIGALRM, lambda number, frame: fired.append(number)):
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        wait_until(lambda: fired)
    assert fired == [signal.SIGALRM]
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_alarm_that_interrupts():
    class TooLate(Exception):
        pass

    def give_up(number, frame):
        raise TooLate

    with handler(signal.SIGALRM, give_up), pytest.raises(TooLate):
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(LONG)


def test_child_signal():
    seen = []
    with handler(signal.SIGCHLD, lambda number, frame: seen.append(number)):
        subprocess.run([sys.executable, "--version"], stdout=subprocess.PIPE, timeout=LONG, check=True)
        wait_until(lambda: seen)
    assert set(seen) == {signal.SIGCHLD}


def test_interrupt_to_self():
    with handler(signal.SIGINT, signal.default_int_handler):
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(LONG)
        try:
            signal.raise_signal(signal.SIGINT)
            time.sleep(LONG)
        except KeyboardInterrupt:
            caught = True
    assert caught


def test_termination_handler():
    seen = []
    with handler(signal.SIGTERM, lambda number, frame: seen.append(number)):
        os.kill(os.getpid(), signal.SIGTERM)
        wait_until(lambda: seen)
    assert seen == [signal.SIGTERM]


def test_blocked_signal():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    try:
        os.kill(os.getpid(), signal.SIGUSR2)
        assert signal.SIGUSR2 in signal.sigpending()
        assert signal.sigwait([signal.SIGUSR2]) == signal.SIGUSR2
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_ignored_broken_pipe():
    read, write = os.pipe()
    os.close(read)
    with pytest.raises(BrokenPipeError):
        os.write(write, b"x")
    os.close(write)


def test_limit_of_open_files():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    probe = os.open(os.devnull, os.O_RDONLY)
    os.close(probe)
    opened = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (probe + 5, before[1]))
    try:
        with pytest.raises(OSError, match="Too many open files") as caught:
            for _ in range(10):
                opened.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in opened:
            os.close(descriptor)
    assert caught.value.errno == errno.EMFILE
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def test_limit_of_core_files():
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, before[1]))
    try:
        assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)


def test_exit_functions(tmp_path):
    calls = []
    atexit.register(calls.append, "never")
    atexit.unregister(calls.append)
    atexit.register(int)
    code = "import atexit; atexit.register(print, 'second'); atexit.register(print, 'first')"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=LONG, check=True)
    assert done.stdout.split() == [b"first", b"second"]
    assert calls == []


def test_traceback_is_dumped(tmp_path):
    with open(tmp_path / "dump", "w+", encoding="utf-8") as stream:
        faulthandler.dump_traceback(file=stream, all_threads=False)
        stream.seek(0)
        assert inspect.currentframe().f_code.co_name in stream.read()


def test_traceback_on_a_signal(tmp_path):
    with open(tmp_path / "dump", "w+", encoding="utf-8") as stream:
        faulthandler.register(signal.SIGUSR1, file=stream, all_threads=False)
        try:
            os.kill(os.getpid(), signal.SIGUSR1)
            wait_until(lambda: os.fstat(stream.fileno()).st_size)
        finally:
            assert faulthandler.unregister(signal.SIGUSR1)
        stream.seek(0)
        assert "most recent call first" in stream.read()


def test_parent_and_group():
    assert os.getppid() > 0
    assert os.getpgid(0) == os.getpgrp()
    assert os.getsid(0) > 0
