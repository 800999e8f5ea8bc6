"""Shares: the extent of an address, half for one, something left for each newcomer."""

import asyncio
import contextvars
import threading
from concurrent.futures import Future

import pytest
from starlette.datastructures import Headers

from ui.server.shares import ASKER, LONG_SECONDS, Places, SharedPool, has_share
from ui.server.visitor import CONNECTED, Visitor, this_address


@pytest.fixture
def comes_from():
    before = CONNECTED.set(None)
    yield lambda address: CONNECTED.set(Visitor(address, Headers()))
    CONNECTED.reset(before)


@pytest.mark.parametrize(
    ("address", "counts_as"),
    [
        ("203.0.113.9", "203.0.113.9/32"),
        ("::ffff:203.0.113.9", "203.0.113.9/32"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("127.1.2.3", "localhost"),
        ("::1", "localhost"),
        ("unknown", "unknown"),
    ],
)
def test_address_is_grouped_by_network(comes_from, address, counts_as):
    assert this_address() == "localhost", "without a connection"
    comes_from(address)
    assert this_address() == counts_as


def test_each_address_takes_half_of_the_remaining_places():
    places = Places(100)
    took = [sum(places.take(f"{number}") for _ in range(100)) for number in range(5)]
    assert took == [50, 25, 13, 6, 3]
    assert places.take("newcomer")
    places.leave("0")
    assert not places.take("0"), "others have come meanwhile"
    for _ in range(49):
        places.leave("0")
    assert sum(places.take("5") for _ in range(100)) == 26


@pytest.mark.parametrize(
    ("taken", "own", "wanted", "times", "may"),
    [
        (0, 0, 100, 1, True),
        (0, 0, 101, 1, False),
        (60, 40, 1, 1, False),
        (60, 40, 1, 2, True),
        (60, 0, 41, 2, False),  # more than exists
    ],
)
def test_address_gets_its_share_of_bytes(taken, own, wanted, times, may):
    assert has_share(100, taken, own, wanted, times) == may


def test_one_address_holds_half_of_the_threads(comes_from):
    pool, end, begun = SharedPool(4, "test"), threading.Event(), threading.Semaphore(0)

    def work(number: int) -> int:
        begun.release()
        end.wait(20)
        return number

    comes_from("203.0.113.9")
    many = [pool.submit(work, number) for number in range(6)]
    assert begun.acquire(timeout=20) and begun.acquire(timeout=20)
    assert many[5].cancel()
    comes_from("198.51.100.7")
    assert pool.submit(divmod, 7, 2).result(20) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 7, 0).result(20)
    assert not begun.acquire(blocking=False)
    end.set()
    assert [one.result(20) for one in many[:5]] == [0, 1, 2, 3, 4]
    pool.shutdown()
    done_since = [begun.acquire(blocking=False) for _ in range(4)]
    assert done_since == [True, True, True, False], "one was cancelled"


def test_long_works_leave_threads_for_short_ones(comes_from):
    comes_from("203.0.113.9")
    pool, end = SharedPool(8, "test"), threading.Event()
    askers = [asyncio.Lock() for _ in range(5)]

    def asked(asker: asyncio.Lock, call) -> Future:
        return contextvars.copy_context().run(lambda: (ASKER.set(asker), pool.submit(call))[1])

    for asker in askers[:4]:
        pool._took[asker] = LONG_SECONDS + 1
    long = [asked(asker, lambda: end.wait(20)) for asker in askers[:4]]
    asked(askers[4], lambda: None).result(20)
    assert not any(one.done() for one in long)
    end.set()
    assert all(one.result(20) for one in long)
    pool.shutdown()
    assert pool._took[askers[4]] < LONG_SECONDS < 20, "as the last one took"
