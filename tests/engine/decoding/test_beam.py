"""Beam search against transformers' own, and the operations on a search."""

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest
import torch

from engine.decoder import Decoder
from engine.decoding.beam import BeamSearch, BeamSettings
from engine.decoding.beam import search as beam
from engine.errors import (
    CancelledError,
    DecodingError,
    OutOfMemoryError,
    PromptError,
    SettingError,
)
from engine.model import LanguageModel
from engine.model.passes import counted_passes
from engine.runner.budget import MemoryBudget
from engine.runner.job import as_job
from engine.trace.beam import FINISHED, FULL_POOL, KEPT, NO_IMPROVEMENT, PRUNED
from tests.engine import tiny_models
from tests.engine.decoding.references import CLOSE, generated, logprob_of
from tests.engine.runs import GREEDY, finished

TOKENS = 6
PROMPT = tiny_models.prompt(0)
LENGTH_PENALTIES = [-1.0, 0.0, 1.0, 2.0]
STOPS = [False, True, "never"]
WIDTHS = (1, 2, 5)
EVERY_WAY = list(product(WIDTHS, LENGTH_PENALTIES, STOPS))
# Any two values of width, penalty and stop rule meet once.
ANY_TWO = [
    (WIDTHS[(row + column) % 3], penalty, stop)
    for row, penalty in enumerate(LENGTH_PENALTIES)
    for column, stop in enumerate(STOPS)
]


@pytest.fixture
def ending():
    """Return a function that sets a model's end-of-text ids; they are cleared afterwards."""
    changed: list[LanguageModel] = []

    def ends(architecture: str, ids: Sequence[int]) -> LanguageModel:
        model = tiny_models.shared(architecture)
        model.eos_ids = tuple(ids)
        changed.append(model)
        return model

    yield ends
    for model in changed:
        model.eos_ids = ()


@cache
def early_ends(architecture: str) -> tuple[int, ...]:
    """Token ids that come early in some of a model's texts, to end them there."""
    free = searched(tiny_models.shared(architecture), width=5).hypotheses
    return tuple({free[0].token_ids[3], free[1].token_ids[5], free[-1].token_ids[1]})


def searched(model: LanguageModel, prompt=PROMPT, **settings) -> BeamSearch:
    search = BeamSearch(model, prompt, BeamSettings(**{"max_new_tokens": TOKENS} | settings))
    for _ in search.run():
        pass
    return search


# --- Against transformers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("architecture", "has_ends"),
    [
        ("llama", False),
        ("llama", True),
        ("gpt2", True),  # learned positions
        ("mistral", True),  # sliding windows
        pytest.param("gemma3", True, marks=pytest.mark.long),  # windows of two kinds
        ("bloom", True),  # alibi
    ],
)
def test_sequences_and_scores_match_transformers(architecture, has_ends, ending):
    model = ending(architecture, early_ends(architecture) if has_ends else ())
    greedy = generated(model, PROMPT, 1, TOKENS)
    lengths = set()
    # Texts of equal length rank the same under every penalty and end under every rule.
    ways = EVERY_WAY if has_ends and architecture in ("llama", "gemma3") else ANY_TWO
    for width, penalty, stop in ways:
        how = {"length_penalty": penalty, "early_stopping": stop}
        theirs = greedy if width == 1 else generated(model, PROMPT, width, TOKENS, **how)
        ours = searched(model, width=width, **how).hypotheses
        assert [one.token_ids for one in ours] == [ids for ids, _ in theirs], (width, how)
        assert all(one.is_finished for one in ours)
        for mine, (_, score) in zip(ours, theirs, strict=True):
            if score is not None:
                assert mine.score == pytest.approx(score, abs=CLOSE), (width, how)
        lengths |= {len(one.token_ids) for one in ours}
    assert (len(lengths) > 2) == has_ends, "the ends were never reached"


def test_search_reports_each_stop_reason(ending):
    model = ending("llama", early_ends("llama"))
    ended = {
        stop: searched(model, width=2, length_penalty=0, early_stopping=stop, max_new_tokens=20)
        for stop in (True, "never")
    }
    assert ended[True].stop_reason == FULL_POOL
    assert ended["never"].stop_reason == NO_IMPROVEMENT
    assert all(len(search.hypotheses) == 2 for search in ended.values())
    model.eos_ids = ()
    assert searched(model).stop_reason == "max_tokens"
    left = 5
    prompt = tiny_models.prompt(3, tiny_models.CONTEXT - left)
    search = searched(model, prompt, width=3)
    assert search.stop_reason == "context" and len(search.steps) == left
    with pytest.raises(DecodingError, match="rewind"):
        search.step()


@pytest.mark.parametrize("architecture", ["llama", "falcon_h1"])
def test_width_1_is_greedy_decoding(architecture):
    model = tiny_models.shared(architecture)
    greedy = finished(Decoder(model, PROMPT, GREEDY), TOKENS)
    search = searched(model, width=1)
    assert search.token_ids == greedy.token_ids
    logprobs = [step.logprob for step in greedy.steps]
    assert search.hypotheses[0].logprob == pytest.approx(sum(logprobs), abs=1e-9)


@pytest.mark.parametrize("architecture", ["mamba", "qwen3_next"])
def test_recurrent_beams_are_read_one_by_one(architecture):
    model = tiny_models.shared(architecture)
    search = searched(model, width=3)
    assert [step.passes for step in search.steps] == [1] + [3] * (TOKENS - 1)
    for one in search.hypotheses:
        assert one.logprob == pytest.approx(logprob_of(model, PROMPT, one.token_ids), abs=1e-3)


# --- A step's record ------------------------------------------------------------------------------


def test_step_records_the_fate_of_every_candidate(ending):
    model = ending("llama", early_ends("llama"))
    search = searched(model, width=5)
    before = [((), 0.0)]
    for step in search.steps:
        looked_at = (1 + len(model.eos_ids)) * 5  # enough to continue if all ends are among them
        assert len(step.candidates) == looked_at
        totals = [one.total for one in step.candidates]
        assert totals == sorted(totals, reverse=True)
        assert [one.rank for one in step.candidates] == list(range(1, looked_at + 1))
        for one in step.candidates:
            assert one.total == pytest.approx(before[one.parent][1] + one.logprob)
            assert one.token_bytes == model.vocabulary.token_bytes(one.token_id)
            is_last = step.index == TOKENS - 1
            assert (one.fate == FINISHED) <= (is_last or one.token_id in model.eos_ids)
        before = [((*before[one.parent][0], one.token_id), one.total) for one in step.kept]
        assert len(before) == (0 if step.stop_reason else 5)
    fates = {one.fate for step in search.steps for one in step.candidates}
    assert fates == {KEPT, PRUNED, FINISHED}
    assert len(search.steps[-1].pool) == 5
    assert search.steps[-1].ids_after == search.hypotheses[0].token_ids


def test_beams_and_finished_texts_are_ranked_together(ending):
    search = BeamSearch(ending("llama", early_ends("llama")), PROMPT, BeamSettings(width=5))
    seen = set()
    for step in search.run(4):
        ranked = search.hypotheses
        assert [one.score for one in ranked] == sorted((o.score for o in ranked), reverse=True)
        assert list(ranked[0].token_ids) == search.token_ids and ranked[0].text == search.text
        assert step.score == ranked[0].score
        seen |= {one.is_finished for one in ranked}
    assert seen == {True, False}


def test_beam_texts_are_decoded_from_token_bytes(text_model):
    search = BeamSearch(text_model, "日本", BeamSettings(width=6, max_new_tokens=6))
    for step in search.run():
        for one in search.hypotheses:
            spelled = b"".join(map(text_model.vocabulary.token_bytes, one.token_ids))
            whole = spelled.decode("utf-8", "replace")
            # Unfinished characters are held back.
            assert whole.startswith(one.text) and len(whole) - len(one.text) <= 3
        assert all(isinstance(one.text, str) for one in step.candidates)


def test_beam_candidates_cover_the_whole_distribution():
    model = tiny_models.shared("llama")
    search = searched(model, width=3)
    for index in (0, 1, 5):
        beams = search.beams(index)
        assert len(beams) == (1 if index == 0 else 3)
        for place, one in enumerate(beams):
            with torch.inference_mode():
                ids = torch.tensor([[*PROMPT, *one.token_ids]])
                logits = model.hf(ids, use_cache=False).logits[0, -1].double()
            logprobs = torch.log_softmax(logits, -1)
            wanted = torch.argsort(-logprobs)[:7].tolist()
            found = search.candidates(index, place, 7)
            assert [token.token_id for token in found.tokens] == wanted
            for token in found.tokens:
                assert token.logprob == pytest.approx(float(logprobs[token.token_id]), abs=CLOSE)
                assert token.total == pytest.approx(one.logprob + token.logprob)
            mass = sum(np.exp(token.logprob) for token in found.tokens)
            assert found.rest == model.vocab_size - 7
            assert found.rest_mass == pytest.approx(1 - mass, abs=1e-9)
    everything = search.candidates(2, 1, 10**6)
    assert len(everything.tokens) == model.vocab_size and everything.rest == 0
    assert everything.rest_mass == pytest.approx(0, abs=1e-12)


def test_released_logits_are_recomputed_bit_for_bit():
    search = searched(tiny_models.shared("mistral"), width=4, max_new_tokens=20)
    before = [search.candidates(index, 2, 96) for index in (1, 9, 19)]
    assert search.release_rows() and not search.release_rows()
    search.release_cache()
    assert [search.candidates(index, 2, 96) for index in (1, 9, 19)] == before


# --- Rewinding, forking, cancelling ---------------------------------------------------------------


def test_rewinding_one_step_needs_no_pass():
    search = searched(tiny_models.shared("llama"))
    search.rewind(TOKENS - 1)
    assert not any(one.is_finished for one in search.hypotheses)
    assert search.step().passes == 0
    search.rewind(TOKENS - 2)
    assert [step.passes for step in search.run()] == [TOKENS - 1, 1]


def test_step_reuses_the_pass_that_listed_candidates():
    search = BeamSearch(tiny_models.shared("llama"), PROMPT, BeamSettings(max_new_tokens=TOKENS))
    list(search.run(2))
    found = search.candidates(2, 1, 3)
    with counted_passes() as passes:
        step = search.step()
    assert passes.total == 0
    assert (step.passes, step.is_prefill) == (1, False) and step.forward_ms > 0, "its cost is lost"
    assert search.candidates(2, 1, 3) == found
    assert searched(tiny_models.shared("llama")).steps[2].candidates == search.steps[2].candidates


def test_cancelled_step_leaves_the_search_unchanged():
    search = BeamSearch(tiny_models.shared("llama"), PROMPT, BeamSettings(max_new_tokens=TOKENS))
    list(search.run(3))
    with as_job(lambda: True), pytest.raises(CancelledError):
        search.step()
    assert len(search.steps) == 3
    list(search.run())
    lone = searched(tiny_models.shared("llama"))
    assert search.hypotheses == lone.hypotheses


# --- Bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"width": 0}, "width must be at least 1, got 0"),
        ({"width": 2.5}, "width must be a whole number"),
        ({"width": 65}, "width must be at most 64"),
        ({"length_penalty": float("nan")}, "length_penalty must be from -10 to 10"),
        ({"length_penalty": "long"}, "length_penalty must be a number"),
        ({"early_stopping": "soon"}, "early_stopping"),
        ({"early_stopping": 1}, "early_stopping"),
        ({"width": 6, "groups": 4}, "groups must divide the width of 6, got 4; use one of 1, 2, 3"),
        ({"groups": 0}, "groups must be at least 1"),
        ({"diversity_penalty": -1, "groups": 2}, "diversity_penalty must be from 0 to 10"),
        ({"diversity_penalty": 0.5}, "diversity_penalty needs more than one group"),
        ({"max_new_tokens": 0}, "max_new_tokens must be at least 1"),
    ],
)
def test_invalid_settings_give_a_clear_error(settings, said):
    with pytest.raises(SettingError, match=said):
        BeamSettings(**settings)


def test_settings_and_prompts_must_fit_the_model(ending):
    model = ending("llama", range(10))
    with pytest.raises(SettingError, match=r"96 tokens .* at most 8"):
        BeamSearch(model, PROMPT, BeamSettings(width=9))
    BeamSearch(model, PROMPT, BeamSettings(width=8))
    with pytest.raises(SettingError, match="must be BeamSettings"):
        BeamSearch(model, PROMPT, 4)
    with pytest.raises(PromptError, match="contains no token"):
        BeamSearch(model, [])


def test_width_beyond_memory_is_refused_before_any_step(monkeypatch):
    small = MemoryBudget(200_000)
    monkeypatch.setattr(beam, "budget_of", lambda device: small)
    model = tiny_models.shared("llama")
    search = BeamSearch(model, PROMPT, BeamSettings(width=32, max_new_tokens=100))
    with pytest.raises(OutOfMemoryError) as caught:
        search.step()
    said = str(caught.value)
    assert "width 32 with 100 new tokens" in said
    assert search.steps == []
    most = int(said.split("at most ")[1].split(",")[0])
    assert len(searched(model, width=most, max_new_tokens=100).steps) == 100


def test_invalid_candidate_requests_are_refused():
    search = searched(tiny_models.shared("llama"))
    for where, said in [
        ((9, 0, 3), "step index .* use 0 to 6"),
        ((1, 4, 3), "beam .* use 0 to 3"),
        ((6, 0, 3), "beam .* use an earlier step"),
        ((1, 0, 0), "count must be at least 1"),
    ]:
        with pytest.raises(SettingError, match=said):
            search.candidates(*where)


def test_small_vocabulary_names_the_widest_search():
    vocab_size, ends = 7, 2
    with pytest.raises(SettingError, match="use at most 2 beams in a group"):
        BeamSettings(width=3).check_vocabulary(vocab_size, ends)
    BeamSettings(width=2).check_vocabulary(vocab_size, ends)
