"""The session: every event once, nothing lost, branches instead of overwritten tokens."""

import pytest
from msgspec import structs

from engine.decoder import Decoder
from engine.errors import OutOfMemoryError
from engine.sampling import SamplingSettings
from tests.ui.step.visitor import PROMPT, Visitor
from ui.step.session import Session


@pytest.fixture
def visitor(bundled) -> Visitor:
    return Visitor(Session(bundled, PROMPT, SamplingSettings()))


@pytest.fixture
def session(visitor) -> Session:
    return visitor.session


def test_an_event_sent_twice_is_applied_once(visitor, session):
    event = visitor.do("step")
    session.apply(event)
    session.apply(event)
    assert len(session.decoder.steps) == 1
    assert session.acknowledged.to_list() == [["browser", 1]]


def test_stale_step_does_nothing(visitor, session):
    late = visitor.event("step")
    visitor.do("step")
    session.apply(structs.replace(late, number=99))
    assert len(session.decoder.steps) == 1


def test_steps_match_the_engine(visitor, session, bundled):
    ids = visitor.steps(6)
    alone = Decoder(bundled, PROMPT, visitor.settings)
    assert ids == [step.token_id for step in alone.run(6)]


def test_next_token_is_shown_before_the_first_step(session):
    assert session.is_pending
    assert session.index == 0
    assert session.logits().shape == (session.model.vocab_size,)
    assert session.decoder.steps == []


def test_inspect_shows_old_step_until_next_step(visitor, session):
    visitor.steps(4)
    visitor.do("inspect", index=1)
    assert (session.index, session.is_pending) == (1, False)
    assert (session.logits() == session.decoder.logits(1)).all()
    visitor.do("step")
    assert session.index == 4


def test_next_token_can_be_inspected(visitor, session):
    visitor.steps(2)
    visitor.do("inspect", index=2)
    assert session.is_pending
    assert len(session.decoder.steps) == 2


@pytest.mark.parametrize("index", [-1, 3, 10**9, None])
def test_inspecting_a_missing_step_is_refused(visitor, session, index):
    visitor.steps(2)
    visitor.do("inspect", index=index)
    assert "step is not in this text" in session.error
    assert session.index == 1


def test_forcing_at_the_end_appends(visitor, session):
    visitor.steps(2)
    visitor.do("force", token_id=300, index=2)
    assert session.decoder.token_ids[2] == 300
    assert session.decoder.steps[2].forced
    assert len(session.branches) == 1


def test_forcing_at_a_past_step_makes_a_branch(visitor, session):
    before = visitor.steps(8)
    visitor.do("inspect", index=5)
    visitor.do("force", token_id=300, index=5)
    assert session.current == 2
    assert session.decoder.token_ids == [*before[:5], 300]
    branch = session.branches[2]
    assert (branch.parent, branch.departs_at) == (1, 5)

    visitor.do("branch", branch=1)
    assert session.decoder.token_ids == before
    visitor.do("branch", branch=2)
    visitor.steps(1)
    assert session.decoder.token_ids[:6] == [*before[:5], 300]
    assert session.branches[1].decoder.token_ids == before


def test_forcing_the_same_token_changes_nothing(visitor, session):
    before = visitor.steps(5)
    visitor.do("force", token_id=before[2], index=2)
    assert len(session.branches) == 1
    assert session.decoder.token_ids == before


def test_late_force_is_refused_and_changes_nothing(visitor, session):
    visitor.steps(2)
    late = visitor.event("force", token_id=300, index=2)
    visitor.do("step")
    before = session.decoder.token_ids
    session.apply(structs.replace(late, number=99))
    assert "moved on" in session.error
    assert session.decoder.token_ids == before


def test_token_outside_the_vocabulary_makes_no_branch(visitor, session):
    before = visitor.steps(4)
    visitor.do("force", token_id=10**7, index=1)
    assert "token_id is outside the vocabulary" in session.error
    assert session.decoder.token_ids == before
    assert len(session.branches) == 1


def test_reroll_at_the_end_replaces_the_last_token(visitor, session):
    before = visitor.steps(3)
    drawn = set()
    for seed in range(100, 130):
        visitor.settings = visitor.settings.replace(seed=seed, temperature=2.0, top_p=1.0)
        visitor.do("reroll", index=2)
        drawn.add(session.decoder.token_ids[2])
        assert session.decoder.token_ids[:2] == before[:2]
    assert len(session.branches) == 1
    assert len(drawn) > 1


def test_reroll_at_a_past_step_makes_a_branch(visitor, session):
    before = visitor.steps(5)
    visitor.settings = visitor.settings.replace(seed=4)
    visitor.do("reroll", index=1)
    assert len(session.branches) == 2
    assert session.branches[1].decoder.token_ids == before
    assert len(session.decoder.steps) == 2


def test_reroll_sends_the_new_token(visitor, session):
    """The text has as many tokens as before, but not the same ones."""
    visitor.steps(3)
    visitor.read()
    visitor.settings = visitor.settings.replace(seed=4)
    visitor.do("reroll", index=2)
    header, _ = visitor.read()
    assert (header["first"], len(header["steps"])) == (2, 1)


@pytest.mark.parametrize("index", [1, 3])
def test_failed_reroll_changes_nothing(visitor, session, monkeypatch, index):
    before = visitor.steps(4)

    def fail(*_):
        raise OutOfMemoryError("The device ran out of memory.")

    monkeypatch.setattr(Decoder, "step", fail)
    visitor.do("reroll", index=index)
    assert "out of memory" in session.error
    assert session.decoder.token_ids == before
    assert len(session.branches) == 1


def test_labels_are_returned_for_valid_requested_ids(visitor, session):
    labels = visitor.ask("labels", ids=(300, session.model.vocab_size, -1, 5000))["labels"]
    assert [token_id for token_id, _ in labels] == [300, 5000]


def test_back_and_step_repeat_the_token(visitor, session):
    before = visitor.steps(4)
    visitor.do("back")
    assert session.decoder.token_ids == before[:3]
    visitor.do("step")
    assert session.decoder.token_ids == before


def test_manual_mode_shows_next_token_after_each_step(visitor, session):
    visitor.do("propose", manual=True)
    assert session.is_pending
    visitor.do("step", manual=True)
    assert session.is_pending
    assert session.index == 1


def test_play_stops_at_max_tokens_but_step_continues(visitor, session):
    for _ in range(9):
        visitor.do("step", playing=True, max_tokens=5)
    assert len(session.decoder.steps) == 5
    assert "max tokens is 5" in session.stop_sentence
    visitor.do("step", max_tokens=5)
    assert len(session.decoder.steps) == 6


def test_run_to_end_pauses_at_its_time_budget(visitor, session, monkeypatch):
    monkeypatch.setattr("ui.step.actions.RUN_BUDGET_S", 0.0)
    visitor.do("run", playing=True, max_tokens=30)
    assert len(session.decoder.steps) == 1
    monkeypatch.setattr("ui.step.actions.RUN_BUDGET_S", 60.0)
    visitor.do("run", playing=True, max_tokens=30)
    assert session.has_reached_limit


def test_invalid_events_are_refused_and_change_nothing(visitor, session):
    before = visitor.steps(3)
    visitor.do("start", prompt="")
    assert "prompt is empty" in session.error
    visitor.do("step", settings=SamplingSettings(top_k=10**6))
    assert "top_k is above the vocabulary" in session.error
    visitor.do("step", max_tokens=-1)
    assert "max_new_tokens must not be negative" in session.error
    visitor.do("branch", branch=7)
    assert "branch does not exist" in session.error
    assert session.decoder.token_ids == before


def test_start_begins_a_new_run(visitor, session):
    visitor.steps(2)
    run = session.run
    visitor.do("start", prompt="Once upon a time")
    assert session.run != run
    assert session.prompt == "Once upon a time"
    assert session.decoder.steps == []


def test_find_ranks_tokens_in_the_shown_step(visitor, session):
    visitor.steps(1)
    found = visitor.ask("find", query="paris")["found"]
    assert "␣Paris" in [token["label"] for token in found[:2]]
    raw = session.distribution().raw
    assert [token["raw_rank"] for token in found] == [raw.rank(token["id"]) for token in found]
