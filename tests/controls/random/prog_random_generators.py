"""Correct programs that draw from `random`: seeded values are as documented, the others are only valid."""

import copy
import pickle
import random
import statistics
from random import Random, shuffle
from unittest import mock

import pytest

MODULE_RNG = Random(7)
FIRST_AT_IMPORT = [MODULE_RNG.random() for _ in range(3)]


def test_module_level_generator_keeps_its_sequence():
    again = Random(7)
    assert [again.random() for _ in range(3)] == FIRST_AT_IMPORT
    copied = copy.deepcopy(MODULE_RNG)
    assert [copied.random() for _ in range(5)] == [again.random() for _ in range(5)]


def test_private_generator_has_the_documented_sequence():
    rng = Random(42)
    assert [rng.random() for _ in range(3)] == [
        0.6394267984578837,
        0.025010755222666936,
        0.27502931836911926,
    ]


def test_seed_fixes_the_global_generator():
    random.seed(1)
    assert [random.random(), random.random()] == [0.13436424411240122, 0.8474337369372327]
    random.seed(1)
    assert random.random() == 0.13436424411240122


def test_seed_agrees_with_a_private_generator():
    random.seed("a word")
    private = Random("a word")
    assert [random.randrange(1000) for _ in range(20)] == [private.randrange(1000) for _ in range(20)]


def test_seed_without_argument_gives_new_values():
    random.seed()
    first = [random.random() for _ in range(4)]
    random.seed()
    assert [random.random() for _ in range(4)] != first


def test_getstate_and_setstate():
    state = random.getstate()
    first = [random.random() for _ in range(10)]
    random.setstate(state)
    assert [random.random() for _ in range(10)] == first


@pytest.fixture
def seeded():
    state = random.getstate()
    random.seed(1234)
    yield
    random.setstate(state)


def test_a_fixture_may_seed(seeded):
    expected = Random(1234)
    assert [random.randint(1, 6) for _ in range(50)] == [expected.randint(1, 6) for _ in range(50)]


def test_unseeded_generators_differ():
    assert Random().random() != Random().random()


def test_pickled_generator_continues():
    rng = Random(3)
    rng.random()
    twin = pickle.loads(pickle.dumps(rng))
    assert [rng.random() for _ in range(5)] == [twin.random() for _ in range(5)]


def test_subclass_of_random():
    class Loaded(Random):
        def random(self):
            return 0.25

    assert Loaded(1).uniform(0, 8) == 2.0
    assert isinstance(Loaded(), random.Random)


def test_shuffle_keeps_the_elements():
    cards = list(range(500))
    shuffle(cards)
    assert sorted(cards) == list(range(500))


def test_draws_are_in_range():
    assert all(1 <= random.randint(1, 6) <= 6 for _ in range(500))
    assert all(0.0 <= random.random() < 1.0 for _ in range(500))
    assert random.choice("abc") in "abc"
    assert len(set(random.sample(range(100), 30))) == 30
    assert set(random.choices([1, 2], k=40)) <= {1, 2}
    assert len(random.Random().getrandbits(64).to_bytes(8, "big")) == 8
    with pytest.raises(IndexError):
        random.choice([])


def test_mean_of_many_draws():
    assert 0.45 < statistics.fmean(random.random() for _ in range(20000)) < 0.55


def test_patched_random_is_restored():
    before = random.random
    with mock.patch("random.random", return_value=0.5) as fake:
        assert random.random() == 0.5
    assert fake.call_count == 1
    assert random.random is before
    assert 0.0 <= random.random() < 1.0


def test_patched_until_teardown(monkeypatch):
    monkeypatch.setattr(random, "randint", lambda low, high: low)
    monkeypatch.setattr(random, "seed", mock.Mock(side_effect=AssertionError("nobody may seed here")))
    assert random.randint(3, 9) == 3
