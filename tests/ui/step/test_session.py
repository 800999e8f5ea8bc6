"""The session: every event once, nothing lost, branches instead of overwritten tokens."""

import pytest
from msgspec import structs

from engine.decoder import Decoder
from engine.errors import OutOfMemoryError
from engine.sampling import SamplingSettings
from tests.engine.backend.top_n import TopN
from tests.ui.step.visitor import PROMPT, Visitor
from ui.step.session import Session


@pytest.mark.parametrize("kind", ["step", "run", "back", "reroll", "force"])
def test_late_event_changes_nothing(visitor, session, kind):
    visitor.steps(2)
    late = visitor.event(kind, token_id=300, index=1)
    visitor.do("step")
    before = session.decoder.token_ids
    session.apply(structs.replace(late, number=99))
    assert session.decoder.token_ids == before and len(session.branches) == 1
    assert ("moved on" in session.error) == (kind == "force")


def test_inspected_step_is_shown_until_the_next(visitor, session):
    visitor.steps(4)
    visitor.do("inspect", index=4)
    assert session.is_pending and len(session.decoder.steps) == 4
    visitor.do("inspect", index=1)
    assert (session.index, session.is_pending) == (1, False)
    assert (session.logits() == session.decoder.logits(1)).all()
    visitor.do("step")
    assert session.index == 4


@pytest.mark.parametrize("index", [-1, 3, None])
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


@pytest.mark.parametrize(("token_id", "said"), [(None, ""), (10**7, "outside the vocabulary")])
def test_same_or_unknown_token_makes_no_branch(visitor, session, token_id, said):
    before = visitor.steps(4)
    visitor.do("force", token_id=token_id or before[1], index=1)
    assert said in session.error and bool(said) == bool(session.error)
    assert session.decoder.token_ids == before
    assert len(session.branches) == 1


def test_reroll_at_the_end_replaces_the_last_token(visitor, session):
    before = visitor.steps(3)
    drawn = set()
    for seed in range(100, 110):
        visitor.read()
        visitor.settings = visitor.settings.replace(seed=seed, temperature=2.0, top_p=1.0)
        visitor.do("reroll", index=2)
        drawn.add(session.decoder.token_ids[2])
        assert session.decoder.token_ids[:2] == before[:2]
        header, _ = visitor.read()
        assert (header["first"], len(header["steps"])) == (2, 1), "the length is the same"
    assert len(session.branches) == 1
    assert len(drawn) > 1


def test_reroll_at_a_past_step_makes_a_branch(visitor, session):
    before = visitor.steps(5)
    visitor.settings = visitor.settings.replace(seed=4)
    visitor.do("reroll", index=1)
    assert len(session.branches) == 2
    assert session.branches[1].decoder.token_ids == before
    assert len(session.decoder.steps) == 2


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


def test_start_begins_a_new_run_with_its_limits(visitor, session):
    before, run = visitor.steps(2), session.run
    for kind, fields, said in (
        ("start", {"prompt": ""}, "prompt is empty"),
        ("branch", {"branch": 7}, "branch does not exist"),
    ):
        visitor.do(kind, **fields)
        assert said in session.error
        assert (session.run, session.decoder.token_ids) == (run, before)
    visitor.do("start", prompt="Once", max_tokens=9, stop_strings=("\n",))
    assert session.error == "" and session.run != run
    assert (session.prompt, session.decoder.steps) == ("Once", [])
    assert (session.max_tokens, session.decoder.stop_strings) == (9, ("\n",))


def test_whole_row_is_fetched_for_the_place_on_screen(bundled):
    visitor = Visitor(Session(TopN(bundled, 50), PROMPT, SamplingSettings(top_k=40)))
    visitor.settings = SamplingSettings(top_k=40, seed=3)
    visitor.do("start", prompt=PROMPT)
    ids = visitor.steps(3)
    header, _ = visitor.read(whole=True)
    assert (header["row"]["listed"]["count"], header["row"]["known"]) == (50, 50)
    visitor.do("inspect", index=1)
    rarest = visitor.session.logits().argmin()
    (unlisted,) = visitor.ask("find", query=f"{rarest}")["found"][:1]
    named = {"raw_rank": 0, "logit": None, "unlisted": True, "probability": None}
    assert unlisted.items() >= named.items()
    visitor.do("fetch_row")
    header, _ = visitor.read(whole=True)
    assert "listed" not in header["row"] and header["row"]["known"] == bundled.vocab_size
    assert (visitor.session.index, visitor.session.decoder.token_ids) == (1, ids)
    rare = visitor.session.logits().argmin()
    found = visitor.ask("find", query=f"{rare}")["found"]
    assert [each["raw_rank"] > 50 for each in found if each["id"] == rare] == [True]
