"""Correct programs that seed a global generator once for many tests: the sequence is the seed's, whoever draws."""

import random
import unittest

import pytest

try:
    import numpy
except ImportError:
    numpy = None

_source = random.Random(5)
SEQUENCE = {_source.random() for _ in range(50)}
NUMPY_SEQUENCE = set() if numpy is None else set(numpy.random.RandomState(6).random_sample(50).tolist())

if numpy is not None:
    numpy.random.seed(6)


@pytest.fixture(scope="module")
def seeded():
    state = random.getstate()
    random.seed(5)
    yield
    random.setstate(state)


@pytest.mark.parametrize("turn", range(3))
def test_draws_of_a_module(seeded, turn):
    assert random.random() in SEQUENCE


class TestClass:
    @classmethod
    def setup_class(cls):
        random.seed(5)

    def test_one(self):
        assert random.random() in SEQUENCE

    def test_other(self):
        assert random.random() in SEQUENCE


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        random.seed(5)

    def test_one(self):
        self.assertIn(random.random(), SEQUENCE)

    def test_other(self):
        self.assertIn(random.random(), SEQUENCE)


@pytest.mark.skipif(numpy is None, reason="no numpy")
@pytest.mark.parametrize("turn", range(3))
def test_numpy_seeded_at_import(turn):
    assert float(numpy.random.random_sample()) in NUMPY_SEQUENCE
