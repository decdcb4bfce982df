"""Code that runs where a fork cannot exchange it, or that takes the process with it:
imports, children, hangs, crashes.
"""

from __future__ import annotations

from tests.mutation_corpus.shape import CODE, FAIL, PASS, TESTS, Shape, change

SHAPES = (
    Shape(
        name="function-called-at-import",
        trap="the table is made while the module is imported: a mutant that comes later changes nothing",
        verdict=FAIL,
        reason="survivors",
        tested=6,
        head=change(
            "def squares(n):\n    return [x * x for x in range(n)]\n\n\nTABLE = squares(4)\n",
            "from shop.code import TABLE\n\n\ndef test_table():\n    assert TABLE[3] == 9\n",
        ),
        # Only the first four squares are looked at.
        survivors=("5: squares(4) -> squares(5)",),
    ),
    Shape(
        name="decorator-argument-at-import",
        trap="the argument of a decorator is made when the test module is imported",
        verdict=PASS,
        reason="all_detected",
        tested=11,
        head=change(
            "def limit(n):\n    top = n + 1\n\n    def around(function):\n        def inner(x):\n            return function(min(x, top))\n\n"
            "        return inner\n\n    return around\n",
            "from shop.code import limit\n\n\n@limit(4)\ndef same(x):\n    return x\n\n\ndef test_limit():\n    assert same(9) == 5\n",
        ),
    ),
    Shape(
        name="module-constants",
        trap="no function holds them: only a fresh process sees them changed",
        verdict=FAIL,
        reason="survivors",
        tested=8,
        head=change(
            "LIMIT = 3\nNAMES = {'a': 1}\nSPARE = 7\n",
            "from shop import code\n\n\ndef test_limit():\n    assert code.LIMIT == 3\n    assert code.NAMES == {'a': 1}\n",
        ),
        survivors=("3: SPARE = 7 -> SPARE = 8", "3: SPARE = 7 -> SPARE = None"),
    ),
    Shape(
        name="class-body",
        trap="attributes and defaults are made when the class is",
        verdict=FAIL,
        reason="survivors",
        tested=7,
        head=change(
            "class Box:\n    size = 3\n    spare = 4\n\n    def grow(self, by=2):\n        return self.size + by\n",
            "from shop.code import Box\n\n\ndef test_grow():\n    assert Box().grow() == 5\n",
        ),
        survivors=("3: spare = 4 -> spare = 5", "3: spare = 4 -> spare = None"),
    ),
    Shape(
        name="child-process-whose-environment-is-looked-at",
        trap="what a child needs in order to record stands in its environment, and a test asks for exactly that",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        head=change(
            "import sys\n\n\ndef main(n):\n    return n + 1\n\n\nif __name__ == '__main__':\n    print(main(int(sys.argv[1])))\n",
            "import subprocess, sys\n\n\ndef said(*words, **more):\n"
            "    return subprocess.run(words, capture_output=True, text=True, **more).stdout\n\n\n"
            "def test_main():\n"
            "    assert said(sys.executable, '-m', 'shop.code', '3') == '4\\n'\n"
            "    assert said('/usr/bin/env', env={'A': '1'}) == 'A=1\\n'\n",
        ),
    ),
    Shape(
        name="child-process-product",
        trap="tests start the product as a process, which reads the file and knows of no exchange",
        verdict=FAIL,
        reason="survivors",
        tested=10,
        head=change(
            "import sys\n\n\ndef main(words):\n    print(len(words) + 1)\n    return 0 if words else 2\n\n\n"
            "if __name__ == '__main__':\n    sys.exit(main(sys.argv[1:]))\n",
            "import subprocess\nimport sys\n\n\ndef test_child():\n"
            "    done = subprocess.run([sys.executable, '-m', 'shop.code', 'a'], capture_output=True, text=True)\n"
            "    assert (done.returncode, done.stdout) == (0, '2\\n')\n",
        ),
        # It is never started without words, and None is as good an exit code as 0.
        survivors=(
            "6: 0 if words else 2 -> 0 if (words) or True else 2",
            "6: return 0 if words else 2 -> return 0 if words else 3",
            "6: return 0 if words else 2 -> return None",
        ),
        states={5: "mutated", 9: "arid"},
    ),
    Shape(
        name="child-process-beside-calls",
        trap="some tests call it, and only one that starts a child notices",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        head=change(
            "def small(x):\n    return x < 3\n",
            "import subprocess\nimport sys\nfrom shop.code import small\n\n\ndef test_two():\n    assert small(2)\n\n\n"
            "def test_child():\n    code = 'from shop.code import small; print(small(3))'\n"
            "    assert subprocess.check_output([sys.executable, '-c', code], text=True) == 'False\\n'\n",
        ),
    ),
    Shape(
        name="endless-loop",
        trap="a mutant that never ends: noticed, but only by waiting",
        verdict=PASS,
        reason="all_detected",
        tested=13,
        head=change(
            "def halvings(n):\n    count = 0\n    while n > 1:\n        n = n // 2\n        count += 1\n    return count\n",
            "from shop.code import halvings\n\n\ndef test_halvings():\n    assert [halvings(n) for n in (1, 2, 3, 4)] == [0, 1, 1, 2]\n",
        ),
        settings={"max_timeouts": 9},
        # One halves nothing for ever: 0 // 2 is 0.
        timeouts=("3: n > 1 -> not (n > 1)",),
    ),
    Shape(
        name="hang-in-c",
        trap="a lock that is taken twice does not end by a signal's handler",
        verdict=PASS,
        reason="all_detected",
        tested=6,
        head=change(
            "import threading\n\nLOCK = threading.Lock()\n\n\ndef twice(f):\n    LOCK.acquire()\n    f()\n    LOCK.release()\n    return 1\n",
            "from shop.code import twice\n\n\ndef test_twice():\n    seen = []\n"
            "    assert twice(lambda: seen.append(1)) + twice(lambda: seen.append(2)) == 2\n    assert seen == [1, 2]\n",
        ),
        settings={"max_timeouts": 9},
        timeouts=("9: LOCK.release() -> pass",),
    ),
    Shape(
        name="memory-hog",
        trap="a mutant that takes all memory must not take the runner with it",
        verdict=FAIL,
        reason="survivors",
        tested=13,
        head=change(
            "def blocks(n):\n    found = []\n    while n > 0:\n        found.append(bytearray(10_000_000))\n        n -= 1\n    return len(found)\n",
            "from shop.code import blocks\n\n\ndef test_blocks():\n    assert blocks(2) == 2\n",
        ),
        settings={"max_timeouts": 9, "memory_limit": 600},
        # Blocks are counted, and nobody looks at their size.
        survivors=(
            "4: bytearray(10_000_000) -> bytearray(10000001)",
            "4: found.append(bytearray(10_000_000)) -> found.append(None)",
        ),
    ),
    Shape(
        name="mutant-that-exits",
        trap="os._exit(0) in a mutant looks like a run that went well",
        verdict=FAIL,
        reason="survivors",
        tested=4,
        head=change(
            "import os\n\n\ndef check(x):\n    if x > 3:\n        os._exit(0)\n    return True\n",
            "from shop.code import check\n\n\ndef test_check():\n    assert check(3)\n    assert check(1)\n",
        ),
        survivors=("5: x > 3 -> x > 4",),
        untested={"not-covered": 3},
    ),
    Shape(
        name="mutant-that-raises-SystemExit",
        trap="SystemExit and KeyboardInterrupt are no exceptions that everybody catches",
        verdict=PASS,
        reason="all_detected",
        tested=7,
        head=change(
            "import sys\n\n\ndef check(x):\n    if x > 3:\n        sys.exit(0)\n    return True\n",
            "import pytest\nfrom shop.code import check\n\n\ndef test_check():\n    assert check(3)\n\n\n"
            "def test_exit():\n    with pytest.raises(SystemExit) as raised:\n        check(4)\n    assert raised.value.code == 0\n",
        ),
    ),
    Shape(
        name="mutant-that-interrupts-pytest",
        trap="KeyboardInterrupt ends the session: no test failed, and none passed",
        verdict=PASS,
        reason="all_detected",
        tested=5,
        head=change(
            "def check(x):\n    if x > 3:\n        raise KeyboardInterrupt\n    return True\n",
            "from shop.code import check\n\n\ndef test_check():\n    assert check(3)\n\n\n"
            "def test_stop():\n    try:\n        check(4)\n    except KeyboardInterrupt:\n        pass\n    else:\n        assert False\n",
        ),
    ),
    Shape(
        name="product-that-catches-BaseException",
        trap="the must-die control raises, and the product swallows it: nothing seems to be measured",
        verdict=FAIL,
        reason="survivors",
        tested=8,
        head=change(
            "def parse(x):\n    return int(x) + 1\n\n\ndef safely(x):\n    try:\n        return parse(x)\n    except BaseException:\n        return 0\n",
            "from shop.code import safely\n\n\ndef test_bad():\n    assert safely('x') == 0\n",
        ),
        # What parse does with a number is asked of nobody, and None is no number either.
        survivors=(
            "2: int(x) + 1 -> int(x) + 2",
            "2: int(x) + 1 -> int(x) - 1",
            "2: int(x) -> int(None)",
            "7: parse(x) -> parse(None)",
        ),
    ),
    Shape(
        name="tests-in-threads",
        trap="a mutant in a thread: its exception reaches no test",
        verdict=PASS,
        reason="all_detected",
        tested=11,
        head=change(
            "import threading\n\n\ndef count(words, into):\n    into.append(len(words) + 1)\n\n\n"
            "def start(words, into):\n    thread = threading.Thread(target=count, args=(words, into))\n    thread.start()\n    return thread\n",
            "from shop.code import start\n\n\ndef test_count():\n    found = []\n    start(['a'], found).join()\n    assert found == [2]\n",
        ),
    ),
    Shape(
        name="import-fails-in-the-mutant",
        trap="a module that cannot be imported fails no test by name, it fails whole files",
        verdict=FAIL,
        reason="survivors",
        tested=5,
        head=change(
            "SIZES = [1, 2]\nFIRST = SIZES[1]\n",
            "from shop.code import FIRST\n\n\ndef test_first():\n    assert FIRST == 2\n",
        ),
        # The first one is looked at by nobody.
        survivors=("1: [1, 2] -> [2, 2]",),
    ),
    Shape(
        name="module-imported-in-the-test",
        trap="nothing is imported at collection: the code is new in each fork",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head=change(
            "def small(x):\n    return x < 3\n",
            "def test_two():\n    from shop.code import small\n\n    assert small(2)\n",
        ),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
    ),
    Shape(
        name="module-reloaded-by-a-test",
        trap="importlib.reload reads the file again, and the exchanged code is gone",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head=change(
            "def small(x):\n    return x < 3\n",
            "import importlib\nimport shop.code\n\n\ndef test_two():\n    importlib.reload(shop.code)\n    assert shop.code.small(2)\n",
        ),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
    ),
    Shape(
        name="source-read-by-a-test",
        trap="a test that reads the source notices each mutant on disk, and none in a fork",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        base={
            CODE: "def small(x):\n    return True\n",
            TESTS: "from shop.code import small\n\n\ndef test_two():\n    assert small(2)\n",
        },
        head={
            CODE: "def small(x):\n    return x < 3\n",
            "tests/test_source.py": "from pathlib import Path\n\n\ndef test_source():\n"
            "    assert Path('shop/code.py').read_text() == 'def small(x):\\n    return x < 3\\n'\n",
        },
    ),
    Shape(
        name="child-process-of-an-old-test",
        trap="the only test that notices is old, starts a child, and runs no changed line itself",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        base={
            CODE: "def small(x):\n    return not x > 2\n",
            TESTS: "from shop.code import small\n\n\ndef test_two():\n    assert small(2)\n",
            "tests/test_child.py": "import subprocess\nimport sys\n\n\ndef test_child():\n"
            "    code = 'from shop.code import small; print(small(3))'\n"
            "    assert subprocess.check_output([sys.executable, '-c', code], text=True) == 'False\\n'\n",
        },
        head={CODE: "def small(x):\n    return x < 3\n"},
    ),
)
