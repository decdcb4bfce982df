"""Correct programs with tasks: they rely on what asyncio documents, never on which ready task runs first."""

import asyncio
import contextvars
import random
import sys
import time

import pytest

LONG = 60
needs_311 = pytest.mark.skipif(sys.version_info < (3, 11), reason="new in 3.11")
needs_312 = pytest.mark.skipif(sys.version_info < (3, 12), reason="new in 3.12")


async def give_back(value, turns=0):
    for _ in range(turns):
        await asyncio.sleep(0)
    return value


def test_gather_keeps_the_order_of_its_arguments():
    async def main():
        return await asyncio.gather(*(give_back(n, turns=10 - n) for n in range(10)))

    assert asyncio.run(main()) == list(range(10))


def test_gather_returns_exceptions():
    async def fail():
        raise KeyError("x")

    async def main():
        results = await asyncio.gather(give_back(1), fail(), give_back(3), return_exceptions=True)
        assert [type(r) for r in results] == [int, KeyError, int]
        with pytest.raises(KeyError):
            await asyncio.gather(fail(), give_back(1))

    asyncio.run(main())


def test_queue_with_join():
    async def main():
        tasks, done = asyncio.Queue(3), []

        async def produce(number):
            for index in range(10):
                await tasks.put((number, index))

        async def consume():
            while True:
                done.append(await tasks.get())
                await asyncio.sleep(0)
                tasks.task_done()

        consumers = [asyncio.create_task(consume()) for _ in range(3)]
        await asyncio.gather(*(produce(n) for n in range(4)))
        await asyncio.wait_for(tasks.join(), LONG)
        for consumer in consumers:
            consumer.cancel()
        await asyncio.gather(*consumers, return_exceptions=True)
        return sorted(done)

    assert asyncio.run(main()) == [(n, i) for n in range(4) for i in range(10)]


def test_queue_is_first_in_first_out():
    async def main():
        tasks = asyncio.Queue(2)

        async def produce():
            for index in range(20):
                await tasks.put(index)

        producer = asyncio.create_task(produce())
        got = [await tasks.get() for _ in range(20)]
        await producer
        with pytest.raises(asyncio.QueueEmpty):
            tasks.get_nowait()
        return got

    assert asyncio.run(main()) == list(range(20))


def test_lock_guards_a_section():
    async def main():
        lock, total = asyncio.Lock(), 0

        async def add():
            nonlocal total
            for _ in range(10):
                async with lock:
                    value = total
                    await asyncio.sleep(0)
                    total = value + 1

        await asyncio.gather(*(add() for _ in range(5)))
        return total

    assert asyncio.run(main()) == 50


def test_lock_is_fair():
    async def main():
        lock, arrived, entered = asyncio.Lock(), [], []

        async def enter(number):
            arrived.append(number)
            async with lock:
                entered.append(number)
                await asyncio.sleep(0)

        async with lock:
            waiting = [asyncio.create_task(enter(n)) for n in range(8)]
            while len(arrived) < 8:
                await asyncio.sleep(0)
        await asyncio.gather(*waiting)
        return arrived, entered

    arrived, entered = asyncio.run(main())
    assert arrived == entered
    assert sorted(arrived) == list(range(8))


def test_semaphore_bounds():
    async def main():
        allowed, inside, most = asyncio.Semaphore(2), 0, 0

        async def enter():
            nonlocal inside, most
            async with allowed:
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0.001)
                inside -= 1

        await asyncio.gather(*(enter() for _ in range(8)))
        return most

    assert 1 <= asyncio.run(main()) <= 2


def test_event_wakes_everybody():
    async def main():
        go, woken = asyncio.Event(), []

        async def wait_for_it(number):
            await go.wait()
            woken.append(number)

        tasks = [asyncio.create_task(wait_for_it(n)) for n in range(5)]
        await asyncio.sleep(0.001)
        assert woken == []
        go.set()
        await asyncio.gather(*tasks)
        return sorted(woken)

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_condition_with_a_predicate():
    async def main():
        condition, state = asyncio.Condition(), []

        async def take_turn(number):
            async with condition:
                await condition.wait_for(lambda: len(state) == number)
                state.append(number)
                condition.notify_all()

        await asyncio.wait_for(asyncio.gather(*(take_turn(n) for n in (3, 1, 4, 0, 2))), LONG)
        return state

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_wait_for_times_out_and_cancels():
    async def main():
        ended = []

        async def slow():
            try:
                await asyncio.sleep(LONG)
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        start = time.monotonic()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(slow(), 0.02)
        assert 0.015 <= time.monotonic() - start < 10
        assert await asyncio.wait_for(give_back("in time"), LONG) == "in time"
        return ended

    assert asyncio.run(main()) == ["cancelled"]


def test_wait_for_the_first():
    async def main():
        never = asyncio.create_task(asyncio.sleep(LONG))
        quick = asyncio.create_task(give_back("quick"))
        done, pending = await asyncio.wait({never, quick}, return_when=asyncio.FIRST_COMPLETED)
        assert (done, pending) == ({quick}, {never})
        never.cancel()
        done, pending = await asyncio.wait({never}, timeout=LONG)
        assert never.cancelled()
        return quick.result()

    assert asyncio.run(main()) == "quick"


def test_as_completed_gives_everything():
    async def main():
        return {await f for f in asyncio.as_completed([give_back(n, turns=n) for n in range(10)], timeout=LONG)}

    assert asyncio.run(main()) == set(range(10))


def test_cancellation_runs_the_cleanup():
    async def main():
        log, inside = [], asyncio.Event()

        async def work():
            try:
                inside.set()
                await asyncio.sleep(LONG)
            finally:
                log.append("cleanup")

        task = asyncio.create_task(work())
        await inside.wait()
        assert task.cancel() is True
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert task.cancel() is False
        return log

    assert asyncio.run(main()) == ["cleanup"]


def test_task_cancelled_before_it_starts():
    async def main():
        ran = []

        async def work():
            ran.append(1)

        task = asyncio.create_task(work())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return ran, task.cancelled()

    assert asyncio.run(main()) == ([], True)


def test_shield():
    async def main():
        go = asyncio.Event()

        async def inner():
            await go.wait()
            return "kept"

        task = asyncio.create_task(inner())
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(task), 0.01)
        assert not task.done()
        go.set()
        return await task

    assert asyncio.run(main()) == "kept"


def test_context_variables_are_per_task():
    variable = contextvars.ContextVar("variable", default="unset")

    async def own(number):
        assert variable.get() == "outer"
        variable.set(number)
        await asyncio.sleep(0)
        return variable.get()

    async def main():
        variable.set("outer")
        got = await asyncio.gather(*(own(n) for n in range(6)))
        return got, variable.get()

    assert asyncio.run(main()) == (list(range(6)), "outer")
    assert variable.get() == "unset"


def test_async_generators():
    async def main():
        closed = []

        async def count(limit):
            try:
                for number in range(limit):
                    await asyncio.sleep(0)
                    yield number
            finally:
                closed.append(limit)

        assert [n async for n in count(5)] == [0, 1, 2, 3, 4]
        partly = count(9)
        assert await partly.__anext__() == 0
        await partly.aclose()
        assert closed == [5, 9]
        return {n: n async for n in count(2)}

    assert asyncio.run(main()) == {0: 0, 1: 1}


def test_ping_pong_by_sleeping_zero():
    async def main():
        ball = ["ping"]

        async def play(mine, other):
            for _ in range(10):
                while ball[-1] != mine:
                    await asyncio.sleep(0)
                ball.append(other)

        await asyncio.wait_for(asyncio.gather(play("ping", "pong"), play("pong", "ping")), LONG)
        return ball

    assert asyncio.run(main()) == ["ping", "pong"] * 10 + ["ping"]


def test_sleep_zero_lets_others_run():
    async def main():
        seen = []
        task = asyncio.create_task(give_back("other"))
        task.add_done_callback(lambda t: seen.append(t.result()))
        for _ in range(100):
            if seen:
                break
            await asyncio.sleep(0)
        return seen

    assert asyncio.run(main()) == ["other"]


def test_tasks_are_known():
    async def main():
        loop = asyncio.get_running_loop()
        assert isinstance(loop, asyncio.AbstractEventLoop)
        task = asyncio.create_task(give_back(1), name="named")
        assert isinstance(task, asyncio.Task)
        assert task.get_name() == "named"
        assert asyncio.all_tasks() == {task, asyncio.current_task()}
        assert task.get_loop() is loop
        await task
        nested = give_back(1)
        with pytest.raises(RuntimeError):
            asyncio.run(nested)
        nested.close()
        return asyncio.all_tasks() == {asyncio.current_task()}

    assert asyncio.run(main()) is True


def test_steps_of_one_task_stay_in_order():
    async def main():
        log = {n: [] for n in range(6)}

        async def step(number):
            for index in range(10):
                log[number].append(index)
                await asyncio.sleep(0)

        await asyncio.gather(*(step(n) for n in log))
        return log

    assert asyncio.run(main()) == {n: list(range(10)) for n in range(6)}


def test_global_generator_is_left_alone():
    async def main():
        random.seed(1)
        await asyncio.gather(*(give_back(n, turns=3) for n in range(6)))
        return random.random()

    assert asyncio.run(main()) == 0.13436424411240122


@needs_311
def test_task_group():
    async def main():
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(give_back(n, turns=5 - n)) for n in range(5)]
        return [t.result() for t in tasks]

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


@needs_311
def test_task_group_cancels_the_others():
    async def main():
        cancelled = []

        async def wait_long(number, inside):
            try:
                inside.set()
                await asyncio.sleep(LONG)
            except asyncio.CancelledError:
                cancelled.append(number)
                raise

        async def fail():
            raise OSError("one")

        insides = [asyncio.Event() for _ in range(3)]
        with pytest.raises(BaseException) as caught:
            async with asyncio.TaskGroup() as group:
                for number, inside in enumerate(insides):
                    group.create_task(wait_long(number, inside))
                for inside in insides:
                    await inside.wait()
                group.create_task(fail())
        assert [type(e) for e in caught.value.exceptions] == [OSError]
        return sorted(cancelled)

    assert asyncio.run(main()) == [0, 1, 2]


@needs_311
def test_timeout_context():
    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await asyncio.sleep(LONG)
        async with asyncio.timeout(LONG) as deadline:
            await asyncio.sleep(0)
        return deadline.expired()

    assert asyncio.run(main()) is False


@needs_311
def test_runner_and_barrier():
    async def meet():
        barrier, met = asyncio.Barrier(3), []

        async def come():
            await barrier.wait()
            met.append(barrier.n_waiting)

        await asyncio.wait_for(asyncio.gather(come(), come(), come()), LONG)
        return len(met)

    with asyncio.Runner() as runner:
        assert runner.run(meet()) == 3
        assert runner.run(give_back("again")) == "again"


@needs_312
def test_eager_tasks():
    async def main():
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        log = []

        async def work(number):
            log.append(number)
            await asyncio.sleep(0)
            log.append(number)

        tasks = [asyncio.create_task(work(n)) for n in range(3)]
        assert log == [0, 1, 2]
        done = asyncio.create_task(give_back("at once"))
        assert done.done()
        await asyncio.gather(*tasks)
        return sorted(log)

    assert asyncio.run(main()) == [0, 0, 1, 1, 2, 2]


def test_task_factory():
    made = []

    def factory(loop, coroutine, **options):
        made.append(coroutine.__name__)
        return asyncio.Task(coroutine, loop=loop, **options)

    async def main():
        asyncio.get_running_loop().set_task_factory(factory)
        assert await asyncio.gather(give_back(1), give_back(2)) == [1, 2]
        return list(made)

    assert asyncio.run(main()) == ["give_back", "give_back"]
