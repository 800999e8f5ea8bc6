"""Sources that would use up all time and memory, and the requests that wait for them."""

import json
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.errors import CancelledError, SettingError
from engine.grammar import checked_source, reading
from engine.guarded import asking
from tests.engine.grammar.tokens import places_over

PLACES = places_over((b"a", b"b", b"1", b'"'))
LETTERS = [f"/(?s:.*)a(?s:.{{{count}}})/" for count in range(1, 40)]
PERIODS = [f"/([a-z]{{{count}}})*/" for count in (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)]
ENDINGS = [{"type": "string", "pattern": f"^(?s:.*)a(?s:.{{{count}}})$"} for count in range(1, 30)]
PRODUCT = [{"type": "integer", "multipleOf": value} for value in (97, 101, 103, 107)]
NAMED = "\n".join(f"T{place}: {each}" for place, each in enumerate(LETTERS[:29]))
BOMBS = {
    "periods": ("lark", "start: T\nT: " + " & ".join(PERIODS)),
    "multiple": ("json_schema", '{"type": "integer", "multipleOf": 999983}'),
    "while it is checked": ("json_schema", json.dumps({"allOf": ENDINGS})),
    "stars": ("regex", "x*" * 30_000),
    "intersection": ("lark", "start: T\nT: " + " & ".join(LETTERS)),
    "named": ("lark", f"start: T\n{NAMED}\nT: " + " & ".join(f"T{i}" for i in range(29))),
    "product": ("json_schema", json.dumps({"allOf": PRODUCT})),
    "options": ("regex", "(a?|b?|ab?)" * 5_900),
}
FEW = ("periods", "while it is checked", "stars")


def followed(language: str, source: str) -> int:
    return int(PLACES.at(language, checked_source(language, source), ()).allowed.sum())


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait until the condition holds, for a minute at most."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


@pytest.fixture
def short_of_time(monkeypatch) -> Iterator[None]:
    """Allow a fifth of a second for each source."""
    monkeypatch.setattr(reading, "SECONDS", 0.2)
    monkeypatch.setattr(reading, "QUICK_SECONDS", 0.1)
    monkeypatch.setattr(reading, "_slow", OrderedDict())
    yield


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FEW else pytest.mark.long) for name in BOMBS]
)
def test_bomb_is_refused_with_limit_and_remedy(name, short_of_time):
    with pytest.raises(SettingError, match=r"^constraint takes more than 0\.2 .*; use smaller"):
        followed(*BOMBS[name])
    assert followed("regex", "[ab]1") == 2, "the next one is read"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to the limit")
def test_source_needing_too_much_memory_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "MEGABYTES", 16)
    monkeypatch.setattr(reading._first, "megabytes", 16)
    reading._first.end()
    with pytest.raises(SettingError, match="16 MB of memory"):
        followed(*BOMBS["stars"])
    assert followed("regex", "[ab]1") == 2
    reading._first.end()


def test_person_with_slow_source_is_served_last(short_of_time, monkeypatch):
    monkeypatch.setattr(reading, "MOST_LAST", 3)
    with asking(person="careless"), pytest.raises(SettingError):
        followed(*BOMBS["periods"])
    came = []

    def asks(person: str) -> None:
        with asking(person=person):
            reading.asked("", None, lambda *_: came.append(person))

    with ThreadPoolExecutor(3) as pool:
        assert reading._line.enter(lambda: False)
        try:
            waiting = [pool.submit(asks, "careless")]
            wait_until(lambda: reading._line._last)
            waiting += [pool.submit(asks, "other"), pool.submit(asks, "")]
            wait_until(lambda: len(reading._line._waiting) == 2)
        finally:
            reading._line.leave()
        for each in waiting:
            each.result(60)
    assert came[-1] == "careless" and len(came) == 3


def test_slow_source_is_read_when_no_one_waits(short_of_time, monkeypatch):
    monkeypatch.setattr(reading, "SECONDS", 20.0)
    monkeypatch.setattr(reading, "QUICK_SECONDS", 1e-4)
    with asking(person="slow"):
        assert followed("regex", "(a?|b?|ab?)" * 1_500) == 2
    assert "slow" in reading._slow


def test_known_source_is_followed_during_a_slow_read(monkeypatch):
    monkeypatch.setattr(reading, "QUICK_SECONDS", 60.0)
    monkeypatch.setattr(reading, "MOST_WAITING", 3)
    assert followed("regex", "[ab]1?") == 2
    is_enough = threading.Event()

    def bomb() -> None:
        with asking(gives_up=is_enough.is_set):
            followed(*BOMBS["periods"])

    with ThreadPoolExecutor(4) as pool:
        try:
            first = pool.submit(bomb)
            wait_until(lambda: not reading._line._free)
            assert PLACES.at("regex", "[ab]1?", (0,)).may_end
            waiting = [pool.submit(followed, "regex", f"[ab]1{{{n}}}") for n in range(3)]
            wait_until(lambda: len(reading._line._waiting) == 3)
            with pytest.raises(SettingError, match="cannot be read now"):
                followed("regex", "[ab]{2}")
            assert PLACES.at("regex", "[ab]1?", (1,)).may_end
            assert not any(each.done() for each in (first, *waiting))
        finally:
            is_enough.set()
        with pytest.raises(CancelledError):
            first.result(60)
        assert [each.result(60) for each in waiting] == [2, 2, 2]
    assert followed("regex", "[ab]{2}") == 2
