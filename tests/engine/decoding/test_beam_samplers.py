"""Beam search with samplers, a constraint and stop strings, against transformers' `generate`."""

import json
import re

import jsonschema
import numpy as np
import pytest
import torch
from transformers import LogitsProcessorList

from engine.decoding.beam import BeamSearch, BeamSettings
from engine.decoding.replay import replay
from engine.errors import NoCandidatesError, SettingError
from engine.model import LanguageModel
from engine.sampling.samplers import (
    Banned,
    Constraint,
    Context,
    LogitBias,
    MinNewTokens,
    NoRepeatNGram,
    RepetitionPenalty,
    Temperature,
    TopK,
    Xtc,
)
from engine.trace import Trace
from tests.engine import tiny_models
from tests.engine.decoding.references import CLOSE, generated, logprob_of
from tests.engine.decoding.words import PATTERN, SCHEMA, WORD, allowed

TOKENS = 7
PROMPT = tiny_models.prompt(0)
CHAINS = {
    "repetition": [RepetitionPenalty(1.5)],
    "n-gram": [NoRepeatNGram(2)],
    "banned": [Banned([[3], [5, 7]]), LogitBias([(9, 2.5)])],
    "temperature": [Temperature(0.5)],
    "several": [RepetitionPenalty(1.3), MinNewTokens(3), Temperature(1.5), TopK(12)],
}


def searched(model: LanguageModel, prompt, stop_strings=(), **settings) -> BeamSearch:
    how = BeamSettings(**{"max_new_tokens": TOKENS} | settings)
    search = BeamSearch(model, prompt, how, stop_strings=stop_strings)
    for _ in search.run():
        pass
    return search


def assert_same(search: BeamSearch, theirs: list[tuple[tuple[int, ...], float]]) -> None:
    assert [one.token_ids for one in search.hypotheses] == [ids for ids, _ in theirs]
    ours = [one.score for one in search.hypotheses]
    assert ours == pytest.approx([score for _, score in theirs], abs=CLOSE)


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_chain_matches_the_processors_of_transformers(chain):
    model = tiny_models.shared("llama")
    context = Context(np.array(PROMPT), len(PROMPT), (model.vocab_size - 1,))
    processors = LogitsProcessorList(stage.processor(context) for stage in chain)
    plain = {(one.token_ids, one.score) for one in searched(model, PROMPT).hypotheses}
    for width, penalty in ((2, 1.0), (4, 0.0)):
        how = {"length_penalty": penalty}
        model.eos_ids = (model.vocab_size - 1,)
        try:
            search = searched(model, PROMPT, width=width, chain=tuple(chain), **how)
            theirs = generated(model, PROMPT, width, TOKENS, logits_processor=processors, **how)
        finally:
            model.eos_ids = ()
        assert_same(search, theirs)
        for one in search.hypotheses:  # the model's own logprob, whatever the samplers did
            assert one.logprob == pytest.approx(logprob_of(model, PROMPT, one.token_ids), abs=1e-3)
    ours = {(one.token_ids, one.score) for one in search.hypotheses}
    assert ours != plain, "the chain changed nothing"
    lone = searched(model, PROMPT, width=1, chain=tuple(chain))
    ((greedy, _),) = generated(model, PROMPT, 1, TOKENS, logits_processor=processors)
    assert lone.token_ids == list(greedy)


@pytest.mark.parametrize(("width", "early_stopping"), [(2, False), (5, True), (5, "never")])
def test_constraint_matches_transformers_with_allowed_tokens(ending_model, width, early_stopping):
    prompt = ending_model.vocabulary.encode("the cat")

    def by_hand(batch: int, ids: torch.Tensor) -> list[int]:
        # A text that transformers pads with may have left the language; it is ignored.
        return allowed(ending_model, ids.tolist()[len(prompt) :]) or list(ending_model.eos_ids)

    for penalty in (0.0, 1.0):
        how = {"length_penalty": penalty, "early_stopping": early_stopping}
        search = searched(ending_model, prompt, width=width, chain=(WORD,), **how)
        theirs = generated(
            ending_model, prompt, width, TOKENS, prefix_allowed_tokens_fn=by_hand, **how
        )
        assert_same(search, theirs)
        assert all(re.fullmatch(PATTERN, one.text) for one in search.hypotheses)
        penalties = {one.penalty for step in search.steps for one in step.candidates}
        assert penalties == {0.0}, "what is allowed keeps the ending_model's own log-probability"


def test_grouped_beams_all_satisfy_a_json_schema(ending_model):
    search = searched(
        ending_model,
        "the cat",
        width=6,
        groups=2,
        diversity_penalty=0.5,
        max_new_tokens=200,
        early_stopping=True,
        chain=(Constraint("json_schema", SCHEMA),),
    )
    assert len(search.hypotheses) == 6 and search.stop_reason != "max_tokens"
    for one in search.hypotheses:
        assert one.is_finished and one.token_ids[-1] in ending_model.eos_ids
        jsonschema.validate(json.loads(one.text), SCHEMA)


def test_rewind_fork_and_replay_repeat_constrained_beams(ending_model, tmp_path):
    chain = (Constraint("json_schema", SCHEMA), RepetitionPenalty(1.2))
    search = searched(ending_model, "the cat", ("xq",), width=4, max_new_tokens=40, chain=chain)
    once = search.hypotheses
    for length in (len(search.steps) - 1, 5):
        search.rewind(length)
        twin = search.fork()
        for text in (search, twin):
            list(text.run())
            assert text.hypotheses == once
    trace = Trace.load(search.trace().save(tmp_path / "search.json"))
    assert trace == search.trace() and trace.stop_strings == ("xq",)
    assert BeamSettings.from_dict(trace.settings_at(0)) == search.settings
    again = replay(trace, ending_model)
    assert again.identical, again.differences


def test_candidates_show_which_tokens_the_samplers_leave(ending_model):
    search = searched(ending_model, "the cat", width=3, chain=(WORD,))
    found = search.candidates(2, 1, ending_model.vocab_size)
    left = sorted(token.token_id for token in found.tokens if token.is_left)
    assert left == sorted(allowed(ending_model, search.beams(2)[1].token_ids))
    assert 0 < len(left) < len(found.tokens) == ending_model.vocab_size


def test_dead_end_beams_are_dropped_until_none_remain(text_model):
    """Use a model without an end of text: a complete text can neither continue nor end."""
    chain = (Constraint("choices", ["the", "the cat sat", "and", "other thing"]),)
    search = searched(text_model, "a", width=3, chain=chain, max_new_tokens=3)
    assert search.stop_reason == "max_tokens"
    assert all(len(one.token_ids) == 3 for one in search.hypotheses)
    search = BeamSearch(text_model, "a", BeamSettings(width=3, chain=chain, max_new_tokens=40))
    with pytest.raises(NoCandidatesError, match="is complete and this model has no end-of-text"):
        list(search.run())
    taken = len(search.steps)
    assert taken and search.stop_reason is None
    with pytest.raises(NoCandidatesError):
        search.step()
    assert len(search.steps) == taken
    beam = search.candidates(taken, 0, 5)
    assert not any(token.is_left for token in beam.tokens)


def test_search_returns_every_text_when_beams_outnumber_them(ending_model):
    choices = [" cat", " dog", " other"]
    for stop in (False, True, "never"):
        search = searched(
            ending_model,
            "the",
            width=8,
            max_new_tokens=30,
            early_stopping=stop,
            chain=(Constraint("choices", choices),),
        )
        assert {one.text for one in search.hypotheses} == set(choices)
        ranks = [one.score for one in search.hypotheses]
        assert ranks == sorted(ranks, reverse=True)


def test_stop_strings_end_texts_as_in_transformers(ending_model, tokenizer):
    prompt = ending_model.vocabulary.encode("the cat")
    free = searched(ending_model, prompt, width=5).hypotheses
    stop = ["bb", "he"]  # the first inside two tokens, the second inside one
    assert all(any(string in one.text for one in free) for string in stop)
    ended = set()
    for width in (2, 5):
        search = searched(ending_model, prompt, stop, width=width)
        theirs = generated(
            ending_model, prompt, width, TOKENS, stop_strings=stop, tokenizer=tokenizer
        )
        assert_same(search, theirs)
        ended |= {any(one in text.text for one in stop) for text in search.hypotheses}
    assert True in ended, "no stop string was ever written"


def test_random_and_unusable_samplers_are_refused(ending_model):
    with pytest.raises(SettingError, match=r"xtc .* beam search"):
        BeamSettings(chain=(Xtc(),))
    bare = tiny_models.shared("llama")
    with pytest.raises(SettingError, match="constraint needs"):
        BeamSearch(bare, PROMPT, BeamSettings(chain=(WORD,)))
    with pytest.raises(SettingError, match="must be non-empty text"):
        BeamSearch(ending_model, "a", stop_strings=[""])
