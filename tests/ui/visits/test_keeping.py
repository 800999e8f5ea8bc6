"""Records on disk: private, bounded, written whole, and never in anybody's way."""

import contextlib
import os
import random
import sqlite3
import stat
import sys
import time

import pytest

from ui.visits import keeping
from ui.visits.keeping import NAME, Keeper, keeper_here

TOKEN = "ab" * 16


@pytest.fixture
def keeper(tmp_path) -> Keeper:
    return Keeper(tmp_path / "visits")


def kept(folder, token: str = TOKEN) -> dict:
    return Keeper(folder).records(token)[0]


def test_what_was_written_is_there_for_the_next_process(keeper, tmp_path):
    keeper.put(TOKEN, "step", {"text": "ü" * 100})
    keeper.put(TOKEN, "tune", {"a": [1, None, 0.5]})
    assert keeper.records(TOKEN)[0]["step"] == {"text": "ü" * 100}, "before it is written too"
    keeper.write()
    keeper.put(TOKEN, "tune", {"a": 2})
    keeper.close()
    assert kept(tmp_path / "visits") == {"step": {"text": "ü" * 100}, "tune": {"a": 2}}
    assert kept(tmp_path / "visits", "cd" * 16) == {}


def test_the_token_is_not_in_the_file_and_only_its_owner_may_read_it(keeper, tmp_path):
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.close()
    folder = tmp_path / "visits"
    for file in folder.iterdir():
        assert TOKEN.encode() not in file.read_bytes()
        if os.name == "posix":
            assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
    if os.name == "posix":
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_oldest_go_where_there_is_too_much(keeper, monkeypatch):
    noise = [os.urandom(2000).hex() for _ in range(10)]
    monkeypatch.setattr(keeping, "MOST_BYTES", 9000)
    for number, text in enumerate(noise):
        keeper.put(f"{number:032x}", "step", {"text": text})
        keeper.write()
    there = [n for n in range(10) if keeper.records(f"{n:032x}")[0]]
    assert 0 < len(there) < 5 and there == list(range(10 - len(there), 10))


def test_what_is_old_goes(keeper, monkeypatch):
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.write()
    now = time.time()
    monkeypatch.setattr(keeping.time, "time", lambda: now + keeping.MOST_SECONDS + 1)
    keeper.put("cd" * 16, "step", {"text": "b"})
    keeper.write()
    assert keeper.records(TOKEN) == ({}, [])


def test_a_record_that_is_too_large_is_left_out_and_said(keeper, monkeypatch):
    monkeypatch.setattr(keeping, "MOST_RECORD", 1000)
    said = keeper.put(TOKEN, "step", {"text": os.urandom(2000).hex()})
    assert said.startswith("There is too much on the page step to be kept")
    assert keeper.put(TOKEN, "tune", {"text": "small"}) == ""
    keeper.write()
    assert (keeper.records(TOKEN)[0], keeper.problem) == ({"tune": {"text": "small"}}, "")


@pytest.mark.parametrize("damage", [b"", b"no record", b"x\x9c" + b"\0" * 40])
def test_a_damaged_record_is_a_sentence(keeper, damage):
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.write()
    with keeper._connection:
        keeper._connection.execute("UPDATE records SET data = ?", (damage,))
    records, problems = keeper.records(TOKEN)
    assert records == {}
    assert problems == ["What was kept of the page step cannot be read, so it begins anew."]


def test_a_damaged_file_makes_way(keeper, tmp_path, caplog):
    folder = tmp_path / "visits"
    folder.mkdir()
    (folder / NAME).write_bytes(b"this is no database" * 100)
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.write()
    assert "cannot be kept on disk just now" in caplog.text
    keeper.write()
    assert keeper.problem == ""
    assert keeper.records(TOKEN)[0] == {"step": {"text": "a"}}


def test_a_file_with_other_columns_makes_way(keeper, tmp_path):
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
def test_a_link_in_the_place_of_the_file_is_not_followed(keeper, tmp_path):
    foreign, file = tmp_path / "of another person", tmp_path / "visits" / NAME
    foreign.write_bytes(b"")
    foreign.chmod(0o644)
    file.parent.mkdir()
    file.symlink_to(foreign)
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.write()
    assert keeper.problem
    assert stat.S_IMODE(foreign.stat().st_mode) == 0o644 and not foreign.read_bytes()


def test_a_locked_file_stops_nobody_and_is_tried_again(keeper, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(keeping, "BUSY_SECONDS", 0.01)
    monkeypatch.setattr(keeping, "RETRY_SECONDS", 0.0)
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
def test_a_folder_that_cannot_be_made_is_said_once(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(keeping, "RETRY_SECONDS", 0.0)
    (tmp_path / "file").write_text("")
    keeper = Keeper(tmp_path / "file" / "visits")
    for _ in range(3):
        keeper.put(TOKEN, "step", {"text": "a"})
        keeper.write()
        assert keeper.records(TOKEN)[0] == {"step": {"text": "a"}}, "in memory"
    assert "DECODING_VISITS=path/to/folder" in keeper.problem
    assert caplog.text.count("cannot be kept") == 1


def test_after_a_failure_it_is_not_tried_at_every_look(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    keeper = Keeper(tmp_path / "file" / "visits")
    tried = []
    real = keeper._connected
    monkeypatch.setattr(keeper, "_connected", lambda: tried.append(1) or real())
    for _ in range(5):
        keeper.put(TOKEN, "step", {"text": "a"})
        keeper.write()
    assert tried == [1]


def test_what_cannot_be_written_takes_no_more_memory_than_its_limit(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("no folder")
    keeper = Keeper(tmp_path / "file" / "folder")
    monkeypatch.setattr(keeping, "MOST_WAITING", 9000)
    for number in range(20):
        keeper.put(f"{number}", "step", {"text": random.Random(number).randbytes(500).hex()})
        keeper.write()
    kept = [number for number in range(20) if keeper.records(f"{number}")[0]]
    assert 5 < len(kept) < 20
    assert kept == list(range(20 - len(kept), 20)), "the oldest go"
    assert "wait no longer to be written" in caplog.text


def test_where_nothing_is_to_be_kept_nothing_is(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv(keeping.VARIABLE, "off")
    keeper = keeper_here()
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.close()
    assert list(tmp_path.iterdir()) == []
    assert keeper.records(TOKEN)[0] == {"step": {"text": "a"}}
    monkeypatch.setenv(keeping.VARIABLE, str(tmp_path / "mine"))
    keeper = keeper_here()
    keeper.put(TOKEN, "step", {"text": "a"})
    keeper.close()
    assert (tmp_path / "mine" / NAME).exists()
    monkeypatch.delenv(keeping.VARIABLE)
    assert str(keeper_here()._file).startswith(str(tmp_path))
