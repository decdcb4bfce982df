"""Correct programs whose generators came by a state that the project has set: the sequence is the state's, whoever draws."""

import copy
import pickle
import random

import pytest

try:
    import numpy
except ImportError:
    numpy = None


def sequence(seed):
    source = random.Random(seed)
    return {source.random() for _ in range(60)}


def of_numpy(generator):
    return set(generator.random(60).tolist())


DEEP = copy.deepcopy(random.Random(42))
SHALLOW = copy.copy(random.Random(43))
PICKLED = pickle.loads(pickle.dumps(random.Random(44)))
SET = random.Random()
SET.setstate(random.Random(45).getstate())
SET_LATER = random.Random()

FREE = random.Random()
FREE_COPY = copy.deepcopy(FREE)
FREE_PICKLED = pickle.loads(pickle.dumps(FREE))

if numpy is not None:
    NUMPY = [
        (copy.deepcopy(numpy.random.default_rng(3)), 3),
        (pickle.loads(pickle.dumps(numpy.random.default_rng(4))), 4),
        (numpy.random.default_rng(), 5),
        (numpy.random.Generator(numpy.random.Philox()), 6),
        (numpy.random.Generator(numpy.random.MT19937()), 7),
        (numpy.random.Generator(numpy.random.SFC64()), 8),
    ]
    for generator, seed in NUMPY[2:]:
        kind = type(generator.bit_generator)
        generator.bit_generator.state = kind(seed).state
    OLD = numpy.random.RandomState()
    OLD.set_state(numpy.random.RandomState(9).get_state())
    LATER = numpy.random.default_rng()
    ONE = numpy.random.default_rng()
    TWIN = copy.deepcopy(ONE)
    FIRST_CHILD, SECOND_CHILD = (
        numpy.random.default_rng(each) for each in numpy.random.default_rng().bit_generator.seed_seq.spawn(2)
    )


@pytest.mark.parametrize("generator, seed", [(DEEP, 42), (SHALLOW, 43), (PICKLED, 44), (SET, 45)])
@pytest.mark.parametrize("turn", range(2))
def test_the_state_is_the_projects(generator, seed, turn):
    assert generator.random() in sequence(seed)


@pytest.fixture(scope="module")
def set_later():
    SET_LATER.setstate(random.Random(46).getstate())
    return SET_LATER


@pytest.mark.parametrize("turn", range(3))
def test_a_state_that_a_fixture_sets(set_later, turn):
    assert set_later.random() in sequence(46)


@pytest.mark.parametrize("turn", range(2))
def test_copies_of_one_without_a_seed_agree(turn):
    drawn = FREE.random()
    assert FREE_COPY.random() == drawn
    assert FREE_PICKLED.random() == drawn


@pytest.fixture(scope="class")
def global_state():
    before = random.getstate()
    random.setstate(random.Random(47).getstate())
    yield
    random.setstate(before)


class TestGlobal:
    @pytest.mark.parametrize("turn", range(3))
    def test_draws(self, global_state, turn):
        assert random.random() in sequence(47)


@pytest.fixture(scope="class")
def numpys_state():
    before = numpy.random.get_state()
    numpy.random.set_state(numpy.random.RandomState(48).get_state())
    yield
    numpy.random.set_state(before)


@pytest.fixture(scope="class")
def later():
    LATER.bit_generator.state = numpy.random.PCG64(49).state
    return LATER


@pytest.mark.skipif(numpy is None, reason="no numpy")
class TestNumpy:
    @pytest.mark.parametrize("turn", range(3))
    def test_global(self, numpys_state, turn):
        assert float(numpy.random.random_sample()) in set(numpy.random.RandomState(48).random_sample(60).tolist())

    @pytest.mark.parametrize("number", range(6))
    @pytest.mark.parametrize("turn", range(2))
    def test_generators(self, number, turn):
        generator, seed = NUMPY[number]
        fresh = numpy.random.Generator(type(generator.bit_generator)(seed))
        assert float(generator.random()) in of_numpy(fresh)

    @pytest.mark.parametrize("turn", range(2))
    def test_old_kind(self, turn):
        assert float(OLD.random_sample()) in set(numpy.random.RandomState(9).random_sample(60).tolist())

    @pytest.mark.parametrize("turn", range(3))
    def test_a_state_that_a_fixture_sets(self, later, turn):
        assert float(later.random()) in of_numpy(numpy.random.default_rng(49))

    @pytest.mark.parametrize("turn", range(2))
    def test_copies_of_one_without_a_seed_agree(self, turn):
        assert ONE.random() == TWIN.random()

    def test_children_of_one_without_a_seed_differ(self):
        assert FIRST_CHILD.random() != SECOND_CHILD.random()
