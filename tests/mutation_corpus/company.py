"""What tests leave for each other, in the order that the suite has, and tests that say nothing until a mutant makes
them fail.
"""

from __future__ import annotations

from tests.mutation_corpus.shape import CODE, FAIL, TESTS, Shape

_CONNECT = "DB = None\n\n\ndef connect():\n    global DB\n    DB = {'a': 1}\n\n\ndef get():\n"
_CONNECTED = "from shop import code\n\n\ndef test_connect():\n    code.connect()\n    assert code.DB == {'a': 1}\n"
_LOG = "LOG = []\n\n\ndef total():\n    return sum(LOG)\n"
_SKIPPED = "import pytest\nfrom shop.code import has\n\n\ndef test_feature():\n    if not has(3):\n        pytest.skip('no')\n    assert False\n"
_PRESENT = "import pytest\nfrom shop.code import HAS\n\n\n@pytest.mark.skipif(not HAS, reason='no')\ndef test_feature():\n    assert False\n"
_SIZES = "import pytest\nfrom shop.code import sizes\n\n\n@pytest.mark.parametrize('size', sizes())\ndef test_fits(size):\n    assert size < 3\n"

SHAPES = (
    Shape(
        name="set-up-by-the-test-before",
        trap="in the suite another test has made the connection: alone, this one fails with the mutant, and there it does not",
        verdict=FAIL,
        reason="survivors",
        tested=1,
        base={CODE: _CONNECT + "    return DB\n", TESTS: _CONNECTED},
        head={
            CODE: _CONNECT + "    if DB is None:\n        connect()\n    return DB\n",
            TESTS: _CONNECTED + "\n\ndef test_get():\n    assert code.get() == {'a': 1}\n",
        },
        survivors=("10: DB is None -> DB is not None",),
        untested={"not-covered": 1},
    ),
    Shape(
        name="old-test-behind-the-new-one",
        trap="the change's test leaves what an older one reads, and stands before it: tried last, it leaves it too late",
        verdict=FAIL,
        reason="survivors",
        tested=4,
        base={
            CODE: _LOG,
            "tests/test_z.py": "from shop.code import total\n\n\ndef test_total():\n    assert total() >= 0\n",
        },
        head={
            CODE: _LOG + "\n\ndef record(x):\n    LOG.append(x - 1)\n",
            "tests/test_a.py": "from shop.code import record\n\n\ndef test_record():\n    record(3)\n",
        },
        # Only None cannot be summed: the others are no less than 0, either.
        survivors=("9: LOG.append(x - 1) -> pass", "9: x - 1 -> x - 2", "9: x - 1 -> x + 1"),
    ),
    Shape(
        name="failure-that-must-come",
        trap="a strictly expected failure: a mutant that mends it makes the suite fail",
        verdict=FAIL,
        reason="survivors",
        tested=5,
        base={
            CODE: "def half(x):\n    return x // 2\n",
            TESTS: "import pytest\nfrom shop.code import half\n\n\n@pytest.mark.xfail(strict=True)\ndef test_known():\n    assert half(4) == 3\n\n\n"
            "def test_type():\n    assert isinstance(half(4), int)\n",
        },
        head={CODE: "def half(x):\n    return x // 2 - 1\n"},
        survivors=("2: x // 2 - 1 -> x // 2 - 2", "2: x // 2 -> x // 3"),
    ),
    Shape(
        name="skipped-until-the-mutant",
        trap="a test that is skipped on head is not skipped with the mutant, and fails",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        base={
            CODE: "def has(level):\n    return False\n",
            TESTS: _SKIPPED + "\n\ndef test_has():\n    has(3)\n",
        },
        head={CODE: "def has(level):\n    return level > 3\n"},
        survivors=("2: level > 3 -> level > 4",),
    ),
    Shape(
        name="skipped-by-a-mark-until-the-mutant",
        trap="the same where the condition is looked at while tests are collected",
        verdict=FAIL,
        reason="survivors",
        tested=5,
        base={
            CODE: "HAS = False\n",
            TESTS: _PRESENT + "\n\ndef test_there():\n    assert HAS in (False, None)\n",
        },
        head={CODE: "LEVEL = 3\nHAS = LEVEL > 3\n"},
        survivors=("2: HAS = LEVEL > 3 -> HAS = None", "2: LEVEL > 3 -> LEVEL > 4"),
    ),
    Shape(
        name="one-more-test-with-the-mutant",
        trap="nothing is gone with it, and a test comes that fails",
        verdict=FAIL,
        reason="survivors",
        tested=7,
        base={CODE: "def sizes():\n    return [1, 2]\n", TESTS: _SIZES},
        head={CODE: "def sizes():\n    return [size for size in range(1, 3)]\n"},
        # Fewer sizes, or one that fits as well.
        survivors=("2: range(1, 3) -> range(1, )", "2: range(1, 3) -> range(2, 3)", "2: range(1, 3) -> range(3)"),
    ),
    Shape(
        name="file-without-a-test-that-asserts",
        trap="nothing is collected there, and pytest makes an error of it where its import fails",
        verdict=FAIL,
        reason="survivors",
        tested=4,
        base={
            CODE: "LEVEL = 1\n",
            "tests/test_smoke.py": "from shop.code import LEVEL\n\nassert LEVEL > 0\n",
            TESTS: "import shop.code\n\n\ndef test_nothing():\n    pass\n",
        },
        head={CODE: "LEVEL = 2 - 1\n"},
        survivors=("1: 2 - 1 -> 2 + 1", "1: 2 - 1 -> 3 - 1"),
    ),
    Shape(
        name="ids-that-never-come-back",
        trap="a test is called otherwise in each process: that others are there says nothing of the mutant",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        base={
            CODE: "def small(x):\n    return x\n",
            TESTS: "import time\n\nimport pytest\nfrom shop.code import small\n\n\n"
            "@pytest.mark.parametrize('x', [1], ids=[str(time.time_ns())])\ndef test_x(x):\n    assert x\n\n\n"
            "def test_two():\n    small(2)\n",
        },
        head={CODE: "def small(x):\n    return x < 3\n"},
        survivors=("2: return x < 3 -> return not (x < 3)", "2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
    ),
)
