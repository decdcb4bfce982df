import asyncio

import pytest


def test_handlers_in_turn():
    async def main():
        seen = []

        async def handle(name):
            await asyncio.sleep(0)
            seen.append(name)

        await asyncio.gather(*[handle(name) for name in ("log", "mail", "print")])
        return seen

    assert asyncio.run(main()) == ["log", "mail", "print"]


@pytest.mark.parametrize("delay", [0.01], ids=["10 ms [each]"])
def test_equal_timers(delay):
    async def main():
        loop = asyncio.get_running_loop()
        due = loop.time() + delay
        seen = []
        done = loop.create_future()
        for name in ("first", "second"):
            loop.call_at(due, seen.append, name)
        loop.call_at(due + 0.01, done.set_result, None)
        await done
        return seen

    assert asyncio.run(main()) == ["first", "second"]


class TestTasks:
    def test_background_task_has_begun(self):
        async def main():
            begun = []

            async def background():
                begun.append(True)

            task = asyncio.ensure_future(background())
            await asyncio.sleep(0)
            result = list(begun)
            await task
            return result

        assert asyncio.run(main()) == [True]

    def test_last_writer(self):
        async def main():
            state = {}

            async def write(value):
                state["value"] = value

            await asyncio.wait([asyncio.ensure_future(write("old"))])
            tasks = [asyncio.ensure_future(write(value)) for value in ("draft", "final")]
            for task in tasks:
                await task
            return state["value"]

        assert asyncio.run(main()) == "final"


def test_gather_keeps_order():
    async def main():
        async def late(number):
            await asyncio.sleep(0.002 * (3 - number))
            return number

        return await asyncio.gather(*[late(number) for number in range(3)])

    assert asyncio.run(main()) == [0, 1, 2]


def test_queue_is_drained():
    async def main():
        waiting = asyncio.Queue()
        total = []

        async def take():
            while True:
                number = await waiting.get()
                if number is None:
                    return
                total.append(number)

        takers = [asyncio.ensure_future(take()) for _ in range(2)]
        for number in range(10):
            await waiting.put(number)
        await waiting.put(None)
        await waiting.put(None)
        await asyncio.gather(*takers)
        return sum(total)

    assert asyncio.run(main()) == 45


def test_lock_keeps_count():
    async def main():
        lock = asyncio.Lock()
        box = [0]

        async def add():
            async with lock:
                seen = box[0]
                await asyncio.sleep(0)
                box[0] = seen + 1

        await asyncio.gather(*[add() for _ in range(10)])
        return box[0]

    assert asyncio.run(main()) == 10


def test_timeout_is_raised():
    async def main():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.01)

    asyncio.run(main())


def test_sleep_is_long_enough():
    async def main():
        loop = asyncio.get_running_loop()
        start = loop.time()
        await asyncio.sleep(0.02)
        return loop.time() - start

    assert asyncio.run(main()) >= 0.018
