"""Memory of a visit's branches: shared, released, limited."""

import numpy as np
import pytest

from engine.errors import OutOfMemoryError
from tests.ui.step.visitor import PROMPT, Visitor
from ui.step import actions, text_on_screen
from ui.step.record import TextRecord, replay, text_record
from ui.step.session import Session


def depart(visitor: Visitor, index: int) -> None:
    """Force a different token at a place, which starts a new branch there."""
    session = visitor.session
    token_id = (session.decoder.token_ids[index] + 1) % session.model.vocab_size
    visitor.do("force", index=index, token_id=token_id)
    assert session.error == ""


def rows_held(session: Session) -> list[int]:
    """Return the number of rows in memory by branch."""
    return [len(branch.decoder._record._recent) for branch in session.branches.values()]


def caches_held(session: Session) -> list[bool]:
    return [branch.decoder._runner.usage.held > 0 for branch in session.branches.values()]


def test_inactive_branch_frees_rows_and_recomputes_them_identically(visitor, session):
    visitor.steps(6)
    rows = [session.decoder.logits(index).copy() for index in range(6)]
    for _ in range(3):
        depart(visitor, 2)
        visitor.steps(4)
    assert rows_held(session) == [0, 0, 0, 7]
    visitor.do("branch", branch=1)
    assert rows_held(session)[1:] == [0, 0, 0]
    assert all(np.array_equal(session.decoder.logits(index), rows[index]) for index in range(6))


def test_oldest_branch_caches_are_released_beyond_the_limit(visitor, session, monkeypatch):
    visitor.steps(4)
    cache = session.branches[1].cache_bytes
    assert cache > 0
    monkeypatch.setattr(text_on_screen, "IDLE_BYTES", 3 * cache - 1)
    for _ in range(4):
        depart(visitor, 3)
    assert caches_held(session) == [False, False, True, True, True]
    visitor.do("branch", branch=2)  # the next step rebuilds its cache
    visitor.steps(1)
    visitor.do("branch", branch=5)
    assert caches_held(session) == [False, True, False, True, True]


def test_replayed_text_holds_rows_of_one_branch(visitor, session, bundled):
    visitor.steps(5)
    for _ in range(3):
        depart(visitor, 1)
        visitor.steps(3)
    record = TextRecord.parse(text_record(session, session.order))
    made = replay(record, bundled)
    assert made.is_same
    held = {n: len(branch.decoder._record._recent) for n, branch in made.branches.items()}
    twin = Session.restored(record, session.record(), bundled)
    assert [count > 0 for count in rows_held(twin)] == [False, False, False, True]
    assert not any(count for number, count in held.items() if number != record.current)


def test_number_of_branches_is_limited(visitor, session, monkeypatch):
    monkeypatch.setattr(actions, "MOST_BRANCHES", 3)
    visitor.steps(3)
    depart(visitor, 1)
    depart(visitor, 1)
    before = session.decoder.token_ids
    visitor.do("force", index=0, token_id=5)
    assert "This text has 3 branches, the maximum; press Start" in session.error
    assert session.decoder.token_ids == before and len(session.branches) == 3
    visitor.steps(1)


@pytest.mark.parametrize("kind", ["step", "run", "force"])
def test_tokens_of_branches_are_limited(visitor, session, monkeypatch, kind):
    visitor.steps(6)
    depart(visitor, 4)  # 6 tokens and 1
    monkeypatch.setattr(actions, "MOST_OWN_TOKENS", 8)
    visitor.steps(1)
    before = session.decoder.token_ids
    visitor.do(kind, **({"token_id": 5} if kind == "force" else {}))
    assert "have 8 tokens of their own, and at most 8 are allowed" in session.error
    visitor.do("force", index=1, token_id=5)
    assert "at most 8 are allowed" in session.error
    assert session.decoder.token_ids == before and len(session.branches) == 2
    visitor.do("start", prompt=PROMPT)
    assert session.error == "", "as the sentence says"
    visitor.steps(10)


def test_total_tokens_are_limited_to_the_record_size(visitor, session, monkeypatch):
    monkeypatch.setattr(actions, "MOST_TOKENS", 12)
    visitor.steps(13)  # without branches, nothing is limited
    visitor.do("start", prompt=PROMPT)
    visitor.steps(6)
    depart(visitor, 5)
    visitor.do("force", index=2, token_id=5)
    assert "have 14 tokens, and at most 12 can be kept; press Start" in session.error
    visitor.do("step")
    assert "have 12 tokens, and at most 12 can be kept" in session.error
    TextRecord.parse(text_record(session, session.order))


def test_text_survives_memory_error_for_an_old_row(visitor, session, bundled, monkeypatch):
    visitor.steps(4)
    ids = session.decoder.token_ids
    session.decoder.release_rows()

    def fails(*args, **kwargs):
        raise OutOfMemoryError("cpu ran out of memory for the logits of a step; use a smaller one.")

    with monkeypatch.context() as patch:
        patch.setattr(bundled, "replay", fails)
        visitor.do("inspect", index=1)
        visitor.read_all()
        assert "ran out of memory" in session.error
        visitor.do("back")
        assert "ran out of memory" in session.error
    assert session.decoder.token_ids == ids
    visitor.steps(2)
    assert session.decoder.token_ids[:4] == ids
