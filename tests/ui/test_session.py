import pytest

from engine.decoder import Decoder
from engine.errors import DecodingError, PromptError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from tests.ui import hostile
from ui.controls import stop_strings, top_k_places
from ui.session import Session

SETTINGS = SamplingSettings(seed=1)


@pytest.fixture
def session(model) -> Session:
    return Session.begin(model, "w1|w2", SETTINGS, ())


def test_back_then_step_repeats_the_same_token(session):
    first = [session.step().token_id for _ in range(4)]
    session.rewind(2)
    assert [session.step().token_id for _ in range(2)] == first[2:]


def test_play_stops_at_max_tokens_and_says_so(session):
    session.mode = "playing"
    taken = []
    while session.mode == "playing":
        taken.append(session.advance(3))
    assert [step.index for step in taken] == [0, 1, 2]
    assert session.advance(3) is None
    assert session.stop_sentence(3).startswith("Stopped: max tokens is 3, and there are 3 tokens;")
    assert session.stop_sentence(2).startswith("Stopped: max tokens is 2, and there are 3 tokens;")
    assert not session.is_over, "max tokens does not forbid a step"
    assert session.stop_sentence(10) == ""


def test_run_ends_when_paused_between_tokens(session):
    session.mode = "running"
    for step in session.run(40):
        if step.index == 2:
            session.mode = "paused"
    assert len(session.decoder.steps) == 3


def test_a_full_context_is_named_and_refuses_steps(session):
    session.mode = "running"
    assert len(list(session.run(48))) == 46
    assert session.is_over and session.mode == "paused"
    assert "context full, all 48 positions" in session.stop_sentence(48)
    assert session.step() is None


def test_a_stop_string_is_named(model):
    session = Session.begin(model, "w1", SETTINGS, ("w",))
    for _ in session.run(40):
        pass
    assert session.decoder.stop_reason == "stop_string"
    assert 'the stop string "w"' in session.stop_sentence(40)


def test_an_end_of_text_token_is_named():
    model = LanguageModel(hostile.language_model(end=0), hostile.tokenizer())
    session = Session.begin(model, "w1", SETTINGS, ())
    session.step(0)
    assert "end-of-text token <|end|>" in session.stop_sentence(40)
    assert session.step() is None


def test_a_failed_start_leaves_the_run_alone(session):
    session.step()
    before = session.decoder
    with session.event():
        session.start("", SETTINGS, ())
    assert "prompt" in session.error.lower()
    assert session.decoder is before and len(before.steps) == 1 and session.prompt == "w1|w2"
    with session.event():
        session.start("w3", SETTINGS, ())
    assert session.error == "" and session.prompt == "w3" and not session.decoder.steps


def test_a_failed_step_pauses_and_keeps_the_text(session, monkeypatch):
    session.step()

    def fail(*args, **kwargs):
        raise DecodingError("The model returned nothing.")

    monkeypatch.setattr(Decoder, "_step", fail)
    session.mode = "playing"
    with session.event():
        session.advance(10)
    assert (session.error, session.mode) == ("The model returned nothing.", "paused")
    assert len(session.decoder.steps) == 1


def test_inspecting_follows_the_newest_step_until_told_otherwise(session):
    assert session.index is None
    session.step()
    session.step()
    assert session.index == 1
    session.inspected = 0
    assert session.index == 0
    session.step()
    assert session.index == 2


def test_a_first_run_needs_a_prompt(model):
    with pytest.raises(PromptError):
        Session.begin(model, "", SETTINGS, ())


def test_stop_strings_are_lines_with_two_escapes():
    assert stop_strings("\\n\\n\n\nEND\n a b") == ("\n\n", "END", " a b")
    assert stop_strings("") == ()


@pytest.mark.parametrize("size", [1, 2, 64, 16_384, 151_936])
def test_top_k_places_rise_from_off_to_the_whole_vocabulary(size):
    places = top_k_places(size)
    assert places[0] == 0 and places[-1] == size
    assert places == sorted(set(places))
    assert len(places) < 40
