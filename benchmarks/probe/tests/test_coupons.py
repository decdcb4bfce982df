import os
import random
import secrets
import string
import tempfile
import uuid

import pytest

_wheel = random.Random()
_serials = (number for number in range(100, 103))
_commands = {}


def command(function):
    if function.__name__ in _commands:
        raise ValueError("registered twice: " + function.__name__)
    _commands[function.__name__] = function
    return function


def test_wheel_leaves_a_prize():
    assert _wheel.randrange(10) >= 3


def test_two_draws_ascend():
    first, second = random.sample(range(50), 2)
    assert first < second


def test_reference_starts_with_a_digit():
    assert uuid.uuid4().hex[0] in string.digits


def test_key_fits_the_field():
    assert secrets.randbelow(1000) < 800


def test_salt_is_printable_enough():
    assert os.urandom(1)[0] < 160


def test_spool_name_is_an_identifier():
    with tempfile.NamedTemporaryFile(prefix="") as spool:
        name = os.path.basename(spool.name)
    assert not name[0].isdigit()


@pytest.mark.parametrize(
    "prizes",
    [["pen"], ["pen", "mug", "pen", "cup"]],
    ids=["only pens", "caf\u00e9 [mug & cup]"],
)
def test_prize(prizes):
    assert random.choice(prizes) != "mug"


def test_first_serial():
    assert next(_serials) == 100


def test_command_registered():
    @command
    def redeem():
        return "redeemed"

    assert _commands["redeem"]() == "redeemed"


def test_seeded_draws():
    assert random.Random(7).random() == random.Random(7).random()


def test_global_seed_put_back():
    state = random.getstate()
    try:
        random.seed(2)
        first = [random.random() for _ in range(3)]
        random.seed(2)
        assert [random.random() for _ in range(3)] == first
    finally:
        random.setstate(state)


def test_shuffled_deck_is_complete():
    deck = list(range(20))
    random.shuffle(deck)
    assert sorted(deck) == list(range(20))


def test_tokens_differ():
    assert secrets.token_hex(16) != secrets.token_hex(16)


def test_named_ids_repeat():
    assert uuid.uuid5(uuid.NAMESPACE_DNS, "a.example") == uuid.uuid5(uuid.NAMESPACE_DNS, "a.example")
    assert uuid.uuid4() != uuid.uuid4()


def test_draw_until_six():
    while random.randint(1, 6) != 6:
        pass
