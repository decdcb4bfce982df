"""Correct programs whose child processes must draw other values than their parent and their siblings."""

import multiprocessing
import os
import random
import secrets
import subprocess
import sys
import uuid
import warnings

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def draw(_=None):
    return (secrets.token_hex(16), uuid.uuid4().hex, os.urandom(16).hex(), repr(random.random()))


def in_fork(function):
    """What function returns in a forked child, as text."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(read)
            os.write(write, function().encode("ascii"))
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode("ascii")
    assert os.waitpid(pid, 0) == (pid, 0)
    return text


def all_differ(draws):
    return all(len(set(column)) == len(draws) for column in zip(*draws))


def test_forked_children_differ():
    children = [tuple(in_fork(lambda: " ".join(draw())).split()) for _ in range(3)]
    assert all_differ([*children, draw()])


def test_forked_children_differ_after_a_seed():
    random.seed(9)
    children = [in_fork(lambda: repr(random.random())) for _ in range(2)]
    assert children[0] != children[1]
    assert random.random() == random.Random(9).random()


def test_seed_in_a_fork_is_as_documented():
    def seeded():
        random.seed(1)
        return repr(random.random())

    assert in_fork(seeded) == "0.13436424411240122"


def test_fork_of_a_fork_differs():
    def nested():
        return in_fork(lambda: secrets.token_hex(16)) + " " + secrets.token_hex(16)

    grandchild, child = in_fork(nested).split()
    assert len({grandchild, child, secrets.token_hex(16)}) == 3


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing_children_differ(method):
    context = multiprocessing.get_context(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with context.Pool(2) as pool:
            drawn = pool.map(draw, range(4), chunksize=1)
            pool.close()
            pool.join()
    assert all_differ([*drawn, draw()])


def test_subprocesses_differ():
    code = (
        "import os, random, secrets, uuid;"
        "print(secrets.token_hex(16), uuid.uuid4().hex, os.urandom(16).hex(), repr(random.random()))"
    )
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)]
    children = [tuple(p.communicate(timeout=60)[0].decode("ascii").split()) for p in running]
    assert [p.returncode for p in running] == [0, 0]
    assert all_differ([*children, draw()])
