"""The slots of a server, with calls that a test holds up."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from engine.backend.slots import Slots
from engine.errors import CancelledError, ServerError
from engine.runner.job import as_job
from tests.waiting import until


def test_results_keep_their_order_and_slots_their_number():
    lock, meeting = threading.Lock(), threading.Barrier(3)
    working = most = 0

    def call(number):
        nonlocal working, most
        with lock:
            working += 1
            most = max(most, working)
        meeting.wait(30)  # only three together get past it
        with lock:
            working -= 1
        return number

    assert Slots(3).run([partial(call, number) for number in range(9)]) == list(range(9))
    assert most == 3


def test_slots_are_given_in_the_order_of_asking():
    slots, go, begun, order = Slots(1), threading.Event(), [], []

    def row(number):
        begun.append(number)
        go.wait(30)
        order.append(number)

    with ThreadPoolExecutor(2) as threads:
        batch = threads.submit(slots.run, [partial(row, number) for number in range(5)])
        until(lambda: begun)
        step = threads.submit(slots.run, [lambda: order.append("step")])
        until(lambda: not slots._queue.empty())
        go.set()
        batch.result(30)
        step.result(30)
    assert order == [0, "step", 1, 2, 3, 4]


def test_a_failure_ends_calls_that_have_not_begun():
    begun = []

    def call(number):
        begun.append(number)
        if number == 1:
            raise ServerError("{server} has gone.", "it")

    slots = Slots(1)
    with pytest.raises(ServerError, match="it has gone"):
        slots.run([partial(call, number) for number in range(5)])
    assert begun == [0, 1]
    assert slots.run([lambda: "next"]) == ["next"]


def test_a_cancelled_job_does_not_wait_for_an_answer():
    slots, answer, begun = Slots(1), threading.Event(), threading.Event()

    def hanging():
        begun.set()
        answer.wait(30)

    with as_job(begun.is_set), pytest.raises(CancelledError):
        slots.run([hanging])
    assert not answer.is_set()
    answer.set()
    assert slots.run([lambda: "next"]) == ["next"]


def test_threads_end_with_the_slots():
    before, slots = set(threading.enumerate()), Slots(2)
    slots.run([threading.get_ident] * 2)
    added = set(threading.enumerate()) - before
    assert len(added) == 2
    del slots
    gc.collect()
    until(lambda: not any(thread.is_alive() for thread in added))
