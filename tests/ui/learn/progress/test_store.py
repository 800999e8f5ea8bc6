"""Progress by person: it outlives the app, two tabs share one record, nothing is overwritten."""

import secrets
import threading

import pytest

from tests.ui.learn.progress.entries import one_of_each, step, task
from ui.learn.progress.progress import NOTHING, Progress, ProgressError
from ui.learn.progress.store import FILE, KEPT_DAYS, TERMS, ProgressStore
from ui.visits import store as visits_store
from ui.visits.store import Keeper

PERSON = "ab" * 16


def store_in(folder) -> ProgressStore:
    return ProgressStore(Keeper(folder, FILE, TERMS))


def test_progress_survives_a_killed_app_until_forgotten(tmp_path):
    store = store_in(tmp_path)
    assert store.of(PERSON) == NOTHING
    store.add(PERSON, *one_of_each())
    store.add(PERSON, step("next"))
    found = store_in(tmp_path).of(PERSON)
    assert found == Progress.of([*one_of_each(), step("next")])
    assert store_in(tmp_path).of(secrets.token_hex(16)) == NOTHING
    assert PERSON.encode() not in (tmp_path / FILE).read_bytes()
    other = secrets.token_hex(16)
    store.add(other, step())
    store.forget(PERSON)
    assert store.of(PERSON) == store_in(tmp_path).of(PERSON) == NOTHING
    assert len(store.of(other)) == 1


def test_progress_expires_a_year_after_last_change(tmp_path):
    store = store_in(tmp_path)
    store.add(PERSON, step())
    for days, left in ((KEPT_DAYS - 1, 1), (2, 0)):
        store._keeper._epoch += days * 86_400
        store._keeper._next_round = 0.0
        store.add("cd" * 16, step(f"{days}"))
        assert len(store.of(PERSON)) == left


def test_excess_progress_is_refused_and_old_entries_stay(tmp_path):
    store = store_in(tmp_path)
    store.add(PERSON, step("first"))
    many = [step(secrets.token_hex(100)) for _ in range(1999)]
    with pytest.raises(ProgressError, match="no room to keep more"):
        store.add(PERSON, *many)
    assert [one.key for one in store.of(PERSON)] == ["first"]
    store.add(PERSON, step("second"))
    assert len(store_in(tmp_path).of(PERSON)) == 2


def test_concurrent_tabs_lose_nothing(tmp_path):
    store = store_in(tmp_path)
    tabs = [
        threading.Thread(
            target=lambda tab=tab: [store.add(PERSON, step(f"{tab} {n}")) for n in range(8)]
        )
        for tab in range(3)
    ]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert len(store.of(PERSON)) == len(store_in(tmp_path).of(PERSON)) == 24


def test_unreadable_progress_is_refused_and_kept(tmp_path):
    keeper = Keeper(tmp_path, FILE)
    newer = NOTHING.record() | {"version": 99}
    keeper.put(PERSON, "progress", newer)
    keeper.write()
    store = ProgressStore(keeper)
    for attempt in (store.of, lambda person: store.add(person, step())):
        with pytest.raises(ProgressError, match="newer version"):
            attempt(PERSON)
    assert keeper.records(PERSON)[0] == {"progress": newer}
    keeper._connection.execute("UPDATE records SET data = ?", (b"no record",))
    keeper._connection.commit()
    with pytest.raises(ProgressError, match="is damaged"):
        store.of(PERSON)
    store.forget(PERSON)
    assert store.of(PERSON) == NOTHING


def test_unreachable_file_is_not_overwritten(tmp_path, monkeypatch):
    monkeypatch.setattr(visits_store, "RETRY_SECONDS", 0.0)
    store_in(tmp_path / "kept").add(PERSON, task("earlier"))
    hidden = tmp_path / "hidden"
    (tmp_path / "kept").rename(hidden)
    (tmp_path / "kept").write_text("a file where the folder was")
    store = store_in(tmp_path / "kept")
    store.add(PERSON, step("meanwhile"))
    assert [one.key for one in store.of(PERSON)] == ["meanwhile"] and store.problem
    (tmp_path / "kept").unlink()
    hidden.rename(tmp_path / "kept")
    store.add(PERSON, step("after"))
    found = {one.key for one in store_in(tmp_path / "kept").of(PERSON)}
    assert found == {"earlier", "meanwhile", "after"}


def test_progress_without_a_folder_ends_with_the_app():
    store = ProgressStore(Keeper(None))
    store.add(PERSON, step())
    assert len(store.of(PERSON)) == 1 and not store.outlives_app
