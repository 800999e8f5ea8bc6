"""Visits: ownership, copies for duplicated tabs, release from memory, records on disk."""

import secrets
import threading
import time

import pytest

from ui.visits import visits as module
from ui.visits.quota import Terms
from ui.visits.store import Keeper
from ui.visits.visits import TooManyVisits, Visits, is_secret


class Notes:
    """A page's state."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.is_busy = False
        self.released = 0

    @property
    def version(self) -> str:
        return f"v{self.text}"

    def record(self):
        return None if self.is_busy else {"text": self.text}

    def release(self) -> None:
        self.released += 1


class Copied(Notes):
    def copy(self) -> "Copied":
        return Copied(self.text + " copied")


def secret() -> str:
    return secrets.token_hex(16)


def restored(record: dict) -> Notes:
    return Notes(record["text"])


@pytest.fixture
def keeper(tmp_path) -> Keeper:
    return Keeper(tmp_path)


@pytest.fixture
def visits(keeper, monkeypatch) -> Visits:
    monkeypatch.setattr(Visits, "_begin", lambda self: None)  # looks only when the test says so
    return Visits(keeper)


def gone() -> bool:
    return False


def test_reload_keeps_visit_and_duplicate_gets_copy(visits):
    token = secret()
    first = visits.open(token, secret(), "one", gone)
    assert visits.open(token, secret(), "two", gone) is first, "nobody else is there"
    tab = secret()
    assert visits.open(token, tab, "three") is first
    other = visits.open(token, secret(), "four")
    assert other is not first and other.token != token and is_secret(other.token)
    assert visits.open(token, tab, "five") is first
    assert first.present("notes") is None
    assert first.page("notes", Notes) is first.page("notes", Notes) is first.present("notes")


def test_a_copy_has_all_pages_and_is_independent(visits):
    token = secret()
    first = visits.open(token, secret(), "one")
    first.page("notes", lambda: Notes("mine"))
    first.page("copied", lambda: Copied("mine"))
    tab = secret()
    other = visits.open(token, tab, "two")
    assert visits.open(token, tab, "three") is other, "the same tab, by the token that it knows"
    assert visits.open(other.token, tab, "four") is other
    assert other.record_of("notes") == {"text": "mine"}
    notes = other.page("notes", Notes, restored)
    assert notes is not first.present("notes") and notes.text == "mine"
    assert other.page("copied", Notes, restored).text == "mine copied"


def test_copying_does_not_block_other_visits(visits):
    """The state is copied on request, which may wait for a current step."""
    token, held = secret(), threading.Event()

    class Slow(Notes):
        def copy(self):
            held.wait(20)
            return Notes("late")

    visits.open(token, secret(), "one").page("notes", Slow)
    other = visits.open(token, secret(), "two")
    thread = threading.Thread(target=lambda: other.page("notes", Notes))
    thread.start()
    assert visits.open(secret(), secret(), "three")
    held.set()
    thread.join()
    assert other.present("notes").text == "late"


def test_changed_state_is_written_once_unless_busy(visits, keeper, monkeypatch):
    token = secret()
    notes = visits.open(token, secret(), "one").page("notes", lambda: Notes("a"))
    written, put = [], keeper.put
    monkeypatch.setattr(keeper, "put", lambda *record: written.append(record[2]) or put(*record))
    for _ in range(3):
        visits.look()
    assert written == [{"text": "a"}]
    notes.text, notes.is_busy = "b", True
    visits.look()
    assert keeper.records(token) == ({"notes": {"text": "a"}}, [])
    notes.is_busy = False
    visits.look()
    assert written[1:] == [{"text": "b"}]
    assert keeper.records(token) == ({"notes": {"text": "b"}}, [])


def test_failing_state_does_not_affect_other_records(visits, keeper, caplog):
    class Broken(Notes):
        def record(self):
            raise ZeroDivisionError

    token = secret()
    visit = visits.open(token, secret(), "one")
    visit.page("broken", Broken)
    visit.page("notes", lambda: Notes("a"))
    visits.look()
    assert keeper.records(token)[0] == {"notes": {"text": "a"}}
    assert "broken" in caplog.text


def test_oversized_state_is_reported_once_to_its_visitor(visits, monkeypatch):
    monkeypatch.setattr("ui.visits.store.MOST_RECORD", 500)
    visit, other = (visits.open(secret(), secret(), "one") for _ in range(2))
    notes = visit.page("notes", lambda: Notes(secrets.token_hex(2000)))
    visits.look()
    notes.text = secrets.token_hex(2000)
    visits.look()
    assert len(visit.notices) == 1 and "too much on the page notes" in visit.notices[0]
    assert other.notices == []


def test_visit_leaves_memory_once_written_and_abandoned(visits, monkeypatch):
    token, tab = secret(), secret()
    visit = visits.open(token, tab, "one")
    notes = visit.page("notes", lambda: Notes("a"))
    monkeypatch.setattr(module, "LEAVE_SECONDS", 0.0)
    visits.look()
    assert len(visits) == 1, "its page is connected"
    visit.leave(tab, "one")
    notes.text, notes.is_busy = "b", True
    visits.look()
    assert len(visits) == 1, "its last change is not written"
    notes.is_busy = False
    monkeypatch.setattr(module, "LEAVE_SECONDS", 60.0)
    visits.look()
    assert (len(visits), notes.released) == (1, 0), "the network may come back"
    monkeypatch.setattr(module, "LEAVE_SECONDS", 0.0)
    visits.look()
    assert (len(visits), notes.released) == (0, 1)
    again = visits.open(token, secret(), "two").page("notes", Notes, restored)
    assert again is not notes and again.text == "b"


def test_number_of_visits_in_memory_is_limited(visits, monkeypatch):
    monkeypatch.setattr(module, "MOST_IN_MEMORY", 3)
    kept = visits.open(secret(), secret(), "one", address="a")
    left = visits.open(secret(), secret(), "two", gone, address="b")
    left.page("notes", lambda: Notes("a"))
    third = visits.open(secret(), secret(), "three", address="b")
    fourth = visits.open(secret(), secret(), "four", address="c")
    assert len(visits) == 3
    with pytest.raises(TooManyVisits):
        visits.open(secret(), secret(), "five", address="d")
    again = visits.open(kept.token, next(iter(kept._users)), "six", address="a")
    assert again is kept and {third.token, fourth.token} < visits._visits.keys()


def test_one_address_gets_at_most_half_the_room(visits, monkeypatch):
    monkeypatch.setattr(module, "MOST_IN_MEMORY", 8)
    for _ in range(6):
        visits.open(secret(), secret(), "left", gone, address="flood")
    for _ in range(4):
        visits.open(secret(), secret(), "stays", address="flood")
    with pytest.raises(TooManyVisits):
        visits.open(secret(), secret(), "fifth", address="flood")
    mine = visits.open(secret(), secret(), "mine", address="school")
    other = visits.open(secret(), secret(), "another", address="school")
    assert mine.token in visits._visits and other.token in visits._visits


def test_missing_room_is_reported_once_to_the_visitor(visits, monkeypatch):
    keeper = visits._keeper
    monkeypatch.setattr(keeper, "_terms", Terms(bytes=2500))
    visit, other = (visits.open(secret(), secret(), "one", address="here") for _ in range(2))
    other.page("notes", lambda: Notes(secrets.token_hex(800)))
    visits.look()
    notes = visit.page("notes", lambda: Notes(secrets.token_hex(1500)))
    for _ in range(2):
        visits.look()
        notes.text = secrets.token_hex(1500)
    assert len(visit.notices) == 1 and "no room to keep the changes" in visit.notices[0]
    assert other.notices == []


def test_state_is_made_once_for_many_threads(visits):
    visit, made = visits.open(secret(), secret(), "one"), []

    def make() -> Notes:
        time.sleep(0.05)
        made.append(1)
        return Notes()

    threads = [threading.Thread(target=lambda: visit.page("notes", make)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_failed_restoration_keeps_the_record(visits, keeper):
    token = secret()
    keeper.put(token, "notes", {"text": "a"})
    visit = visits.open(token, secret(), "one")

    def broken(record):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        visit.page("notes", Notes, broken)
    assert visit.page("notes", Notes, restored).text == "a"


@pytest.mark.parametrize("text", ["", "x", "A" * 32, "0" * 31, "0" * 33, None, 3, "0" * 32 + "\n"])
def test_visit_needs_a_valid_secret(visits, text):
    assert not is_secret(text)
    with pytest.raises(ValueError):
        visits.open(text, secret(), "one")
    with pytest.raises(ValueError):
        visits.open(secret(), text, "one")
