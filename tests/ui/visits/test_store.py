"""Records on disk: private, bounded, written whole, and never blocking anyone."""

import contextlib
import os
import random
import sqlite3
import stat
import sys
import time

import pytest

from ui.visits import store
from ui.visits.quota import Terms
from ui.visits.store import NAME, Keeper, Owner, keeper_here

TOKEN = "ab" * 16


@pytest.fixture
def keeper(tmp_path) -> Keeper:
    return Keeper(tmp_path / "visits")


def kept(folder, token: str = TOKEN) -> dict:
    return Keeper(folder).records(token)[0]


def test_records_are_read_by_the_next_process(keeper, tmp_path):
    keeper.put(TOKEN, "step", {"text": "ü" * 100})
    keeper.put(TOKEN, "tune", {"a": [1, None, 0.5]})
    assert keeper.records(TOKEN)[0]["step"] == {"text": "ü" * 100}, "before it is written too"
    keeper.write()
    keeper.put(TOKEN, "tune", {"a": 2})
    keeper.close()
    assert kept(tmp_path / "visits") == {"step": {"text": "ü" * 100}, "tune": {"a": 2}}
    assert kept(tmp_path / "visits", "cd" * 16) == {}


def test_file_hides_token_and_is_private(keeper, tmp_path):
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.close()
    folder = tmp_path / "visits"
    for file in folder.iterdir():
        assert TOKEN.encode() not in file.read_bytes()
        if os.name == "posix":
            assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
    if os.name == "posix":
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def small(tmp_path, **terms) -> Keeper:
    return Keeper(tmp_path / "visits", terms=Terms(bytes=10_000, safe=100.0, **terms))


def kept_from(keeper: Keeper, address: str, name: str, length: int = 1000) -> bool:
    """Return whether a new record of about `length` bytes is kept; `name` identifies its person."""
    noise = random.Random(name).randbytes(int(length * 0.87)).hex()
    keeper.put(name, "step", {"text": noise}, Owner(name, address))
    return not keeper.write()


def still(keeper: Keeper, *names: str) -> list[str]:
    return [name for name in names if keeper.records(name)[0]]


def test_flooding_address_displaces_no_other_records(tmp_path, caplog):
    keeper = small(tmp_path)
    assert kept_from(keeper, "school", "victim", 3000)
    keeper._epoch += 200  # no longer young, but at an address that has less
    flood = [f"flood {number}" for number in range(30)]
    took = [name for name in flood if kept_from(keeper, "elsewhere", name)]
    assert took == flood[:4]
    assert "0 old records are deleted, and 1 new ones not kept" in caplog.text
    assert still(keeper, "victim", *flood) == ["victim", *took]
    assert kept_from(keeper, "school", "newcomer")
    assert kept_from(keeper, "school", "victim", 3200), "who has something may add to it"
    assert kept_from(keeper, "elsewhere", took[0], 1200)


def test_old_records_of_largest_address_go_first(tmp_path):
    keeper = small(tmp_path)
    assert kept_from(keeper, "school", "victim")  # the oldest
    flood = [f"flood {number}" for number in range(30)]
    took = [name for name in flood if kept_from(keeper, "elsewhere", name)]
    keeper._epoch += 200
    for name in ("a", "b", "c", "d"):
        assert kept_from(keeper, "third", name)
    left = still(keeper, "victim", *took)
    assert left[0] == "victim" and took[-1] in left and took[0] not in left
    assert kept_from(keeper, "elsewhere", "more") and still(keeper, "victim")


def test_person_beyond_own_share_displaces_own_records(tmp_path):
    keeper = small(tmp_path, of_person=2500)
    for number in range(4):
        keeper.put(f"tab {number}", "step", {"text": os.urandom(1000).hex()}, Owner("me", "home"))
        assert keeper.write() == []
    assert kept_from(keeper, "home", "another")
    assert still(keeper, *(f"tab {number}" for number in range(4))) == ["tab 2", "tab 3"]
    keeper.put("tab 3", "step", {"text": os.urandom(3000).hex()}, Owner("me", "home"))
    assert keeper.write() == [("tab 3", "step")], "more than the share alone"
    assert still(keeper, "tab 2", "tab 3") == ["tab 2", "tab 3"]


def test_expired_records_are_deleted_in_parts(keeper, caplog):
    names = [f"{number}" for number in range(8)]
    for name in names:
        kept_from(keeper, "", name)
    keeper._epoch += store.VISITS.seconds + 1
    for count in (8, 6):
        assert len(still(keeper, *names)) == count, "between two rounds"
        keeper._next_round = 0.0
        kept_from(keeper, "", "new")
    assert still(keeper, *names, "new") == [*names[3:], "new"]
    assert "2 of 8 records of visits.sqlite3 are deleted" in caplog.text


@pytest.mark.parametrize("days", [15, 366, 9000, -1, -9000])
def test_a_clock_that_jumps_deletes_nothing(tmp_path, monkeypatch, days):
    now = time.time()
    names = []

    def written() -> None:
        names.append(f"{len(names)}")
        assert kept_from(keeper, "", names[-1])
        keeper._next_round = 0.0

    for jump in (0, days, 0):  # at the start of the app, and while it runs
        monkeypatch.setattr(store.time, "time", lambda jump=jump: now + jump * 86_400)
        keeper = Keeper(tmp_path)
        written()
        for clock in (days, 0):
            monkeypatch.setattr(store.time, "time", lambda clock=clock: now + clock * 86_400)
            written()
        keeper.close()
    assert still(Keeper(tmp_path), *names) == names


def test_oversized_record_is_omitted_and_reported(keeper, monkeypatch):
    monkeypatch.setattr(store, "MOST_RECORD", 1000)
    said = keeper.put(TOKEN, "step", {"text": os.urandom(2000).hex()})
    assert said.startswith("There is too much on the page step to be kept")
    assert keeper.put(TOKEN, "tune", {"text": "small"}) == ""
    keeper.write()
    assert (keeper.records(TOKEN)[0], keeper.problem) == ({"tune": {"text": "small"}}, "")


@pytest.mark.parametrize("damage", [b"", b"no record", b"x\x9c" + b"\0" * 40])
def test_damaged_record_is_reported(keeper, damage):
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.write()
    with keeper._connection:
        keeper._connection.execute("UPDATE records SET data = ?", (damage,))
    records, problems = keeper.records(TOKEN)
    assert records == {}
    assert problems == ["The saved state of the page step cannot be read, so it starts over."]


def test_damaged_file_is_replaced(keeper, tmp_path, caplog):
    folder = tmp_path / "visits"
    folder.mkdir()
    (folder / NAME).write_bytes(b"this is no database" * 100)
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.write()
    assert "cannot be kept on disk" in caplog.text
    keeper.write()
    assert keeper.problem == ""
    assert keeper.records(TOKEN)[0] == {"step": {"text": "a"}}


def test_file_with_other_columns_is_replaced(keeper, tmp_path):
    file = tmp_path / "visits" / NAME
    file.parent.mkdir()
    with contextlib.closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE records (visit TEXT, page TEXT)")
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.write()
    assert "another program or version" in keeper.problem
    assert file.with_suffix(".damaged").exists()
    keeper.write()
    assert keeper.problem == "" and kept(file.parent) == {"step": {"text": "a"}}


@pytest.mark.skipif(os.name != "posix", reason="links and modes of POSIX")
def test_link_in_place_of_file_is_not_followed(keeper, tmp_path):
    foreign, file = tmp_path / "of another person", tmp_path / "visits" / NAME
    foreign.write_bytes(b"")
    foreign.chmod(0o644)
    file.parent.mkdir()
    file.symlink_to(foreign)
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.write()
    assert keeper.problem
    assert stat.S_IMODE(foreign.stat().st_mode) == 0o644 and not foreign.read_bytes()


def test_locked_file_blocks_nothing_and_is_retried(keeper, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.01)
    monkeypatch.setattr(store, "RETRY_SECONDS", 0.0)
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.write()
    other = sqlite3.connect(tmp_path / "visits" / NAME)
    other.execute("BEGIN EXCLUSIVE")
    for _ in range(3):
        keeper.put(TOKEN, "step", {"text": "b"})
        keeper.write()
    assert "locked" in keeper.problem
    assert caplog.text.count("cannot be kept") == 1
    other.rollback()
    other.close()
    keeper.write()
    assert keeper.problem == ""
    assert keeper.records(TOKEN)[0] == {"step": {"text": "b"}}


@pytest.mark.skipif(sys.platform == "win32", reason="folders are made otherwise there")
def test_uncreatable_folder_is_reported_once(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(store, "RETRY_SECONDS", 0.0)
    (tmp_path / "file").write_text("")
    keeper = Keeper(tmp_path / "file" / "visits")
    for _ in range(3):
        keeper.put(TOKEN, "step", {"text": "a"})
        keeper.write()
        assert keeper.records(TOKEN)[0] == {"step": {"text": "a"}}, "in memory"
    assert "DECODING_VISITS=path/to/folder" in keeper.problem
    assert caplog.text.count("cannot be kept") == 1


def test_failed_connection_is_not_retried_immediately(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    keeper = Keeper(tmp_path / "file" / "visits")
    tried = []
    real = keeper._connected
    monkeypatch.setattr(keeper, "_connected", lambda: tried.append(1) or real())
    for _ in range(5):
        keeper.put(TOKEN, "step", {"text": "a"})
        keeper.write()
    assert tried == [1]


def test_unwritten_records_stay_within_memory_limit(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("no folder")
    keeper = Keeper(tmp_path / "file" / "folder")
    monkeypatch.setattr(store, "MOST_WAITING", 9000)
    kept_from(keeper, "school", "victim", 500)
    for number in range(20):
        kept_from(keeper, "elsewhere", f"{number}", 600)
    kept = [number for number in range(20) if keeper.records(f"{number}")[0]]
    assert 5 < len(kept) < 20
    assert kept == list(range(20 - len(kept), 20)), "the oldest go"
    assert still(keeper, "victim"), "of the address that has most"
    assert "wait no longer to be written" in caplog.text


def test_environment_variable_disables_or_moves_the_store(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv(store.VARIABLE, "off")
    keeper = keeper_here()
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.close()
    assert list(tmp_path.iterdir()) == []
    assert keeper.records(TOKEN)[0] == {"step": {"text": "a"}}
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "mine"))
    keeper = keeper_here()
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.close()
    assert (tmp_path / "mine" / NAME).exists()
    monkeypatch.delenv(store.VARIABLE)
    assert str(keeper_here()._file).startswith(str(tmp_path))
