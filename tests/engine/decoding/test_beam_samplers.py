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
from tests.engine.decoding.words import PATTERN, WORD, allowed

TOKENS = 7
CLOSE = 1e-4
NEVER = -1e6  # transformers pads with texts of -1e9 if there are too few
PROMPT = tiny_models.prompt(0)
CHAINS = {
    "repetition": [RepetitionPenalty(1.5)],
    "n-gram": [NoRepeatNGram(2)],
    "banned": [Banned([[3], [5, 7]]), LogitBias([(9, 2.5)])],
    "temperature": [Temperature(0.5)],
    "several": [RepetitionPenalty(1.3), MinNewTokens(3), Temperature(1.5), TopK(12)],
}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "boolean"}, "b": {"enum": ["x", "yz"]}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def model(text_hf, tokenizer) -> LanguageModel:
    """A tiny model that can end a text."""
    return LanguageModel(text_hf, tokenizer, name="tiny text model")


def searched(model: LanguageModel, prompt, stop_strings=(), **settings) -> BeamSearch:
    how = BeamSettings(**{"max_new_tokens": TOKENS} | settings)
    search = BeamSearch(model, prompt, how, stop_strings=stop_strings)
    for _ in search.run():
        pass
    return search


def generated(
    model: LanguageModel, prompt: list[int], width: int, tokens: int = TOKENS, **how
) -> list[tuple[tuple[int, ...], float]]:
    """(token ids, score) of all texts from transformers, best first."""
    ends = model.eos_ids
    with torch.inference_mode():
        out = model.hf.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            num_beams=width,
            num_return_sequences=width,
            do_sample=False,
            max_new_tokens=tokens,
            eos_token_id=list(ends) or None,
            pad_token_id=0,
            return_dict_in_generate=True,
            output_scores=True,
            **how,
        )
    texts = []
    for row, beams in zip(out.sequences[:, len(prompt) :], out.beam_indices, strict=True):
        texts.append(tuple(row.tolist()[: int((beams >= 0).sum())]))
    found = zip(texts, out.sequences_scores.tolist(), strict=True)
    return [(ids, score) for ids, score in found if score > NEVER]


def assert_same(search: BeamSearch, theirs: list[tuple[tuple[int, ...], float]]) -> None:
    assert [one.token_ids for one in search.hypotheses] == [ids for ids, _ in theirs]
    ours = [one.score for one in search.hypotheses]
    assert ours == pytest.approx([score for _, score in theirs], abs=CLOSE)


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_chain_matches_the_processors_of_transformers(architecture, chain):
    model = tiny_models.shared(architecture)
    context = Context(np.array(PROMPT), len(PROMPT), (model.vocab_size - 1,))
    processors = LogitsProcessorList(stage.processor(context) for stage in chain)
    plain = {(one.token_ids, one.score) for one in searched(model, PROMPT).hypotheses}
    for width, penalty in ((2, 1.0), (4, 0.0)):
        how = {"length_penalty": penalty}
        model.eos_ids = (model.vocab_size - 1,)
        try:
            search = searched(model, PROMPT, width=width, chain=tuple(chain), **how)
            theirs = generated(model, PROMPT, width, logits_processor=processors, **how)
        finally:
            model.eos_ids = ()
        assert_same(search, theirs)
        for one in search.hypotheses:  # the model's own logprob, whatever the samplers did
            assert one.logprob == pytest.approx(alone(model, one.token_ids), abs=1e-3)
    ours = {(one.token_ids, one.score) for one in search.hypotheses}
    assert ours != plain, "the chain changed nothing"
    lone = searched(model, PROMPT, width=1, chain=tuple(chain))
    ids = torch.tensor([PROMPT])
    own = {"do_sample": False, "max_new_tokens": TOKENS, "pad_token_id": 0}
    with torch.inference_mode():
        greedy = model.hf.generate(ids, num_beams=1, logits_processor=processors, **own)
    assert lone.token_ids == greedy[0, len(PROMPT) :].tolist()


def alone(model: LanguageModel, token_ids: tuple[int, ...]) -> float:
    """Log-probability of tokens after the prompt, in one pass without a cache."""
    with torch.inference_mode():
        logits = model.hf(torch.tensor([[*PROMPT, *token_ids]]), use_cache=False).logits[0]
    logprobs = torch.log_softmax(logits.double(), -1)[len(PROMPT) - 1 : -1]
    return float(logprobs.gather(1, torch.tensor(token_ids)[:, None]).sum())


@pytest.mark.parametrize("early_stopping", [False, True, "never"])
@pytest.mark.parametrize("width", [2, 5])
def test_constraint_matches_transformers_with_allowed_tokens(model, width, early_stopping):
    prompt = model.vocabulary.encode("the cat")

    def by_hand(batch: int, ids: torch.Tensor) -> list[int]:
        # A text that transformers pads with may have left the language; it is ignored.
        return allowed(model, ids.tolist()[len(prompt) :]) or list(model.eos_ids)

    for penalty in (0.0, 1.0):
        how = {"length_penalty": penalty, "early_stopping": early_stopping}
        search = searched(model, prompt, width=width, chain=(WORD,), **how)
        theirs = generated(model, prompt, width, prefix_allowed_tokens_fn=by_hand, **how)
        assert_same(search, theirs)
        assert all(re.fullmatch(PATTERN, one.text) for one in search.hypotheses)
        penalties = {one.penalty for step in search.steps for one in step.candidates}
        assert penalties == {0.0}, "what is allowed keeps the model's own log-probability"


def test_grouped_beams_all_satisfy_a_json_schema(model):
    search = searched(
        model,
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
        assert one.is_finished and one.token_ids[-1] in model.eos_ids
        jsonschema.validate(json.loads(one.text), SCHEMA)


def test_rewind_and_fork_repeat_constrained_beams(model):
    chain = (Constraint("json_schema", SCHEMA), RepetitionPenalty(1.2))
    how = {"width": 4, "max_new_tokens": 40, "chain": chain}
    search = searched(model, "the cat", **how)
    once = search.hypotheses
    for length in (len(search.steps) - 1, 5, 0):
        search.rewind(length)
        twin = search.fork()
        list(search.run())
        assert search.hypotheses == once
        list(twin.run())
        assert twin.hypotheses == once


def test_candidates_show_which_tokens_the_samplers_leave(model):
    search = searched(model, "the cat", width=3, chain=(WORD,))
    found = search.candidates(2, 1, model.vocab_size)
    left = sorted(token.token_id for token in found.tokens if token.is_left)
    assert left == sorted(allowed(model, search.beams(2)[1].token_ids))
    assert 0 < len(left) < len(found.tokens) == model.vocab_size


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


def test_search_returns_every_text_when_beams_outnumber_them(model):
    choices = [" cat", " dog", " other"]
    for stop in (False, True, "never"):
        search = searched(
            model,
            "the",
            width=8,
            max_new_tokens=30,
            early_stopping=stop,
            chain=(Constraint("choices", choices),),
        )
        assert {one.text for one in search.hypotheses} == set(choices)
        ranks = [one.score for one in search.hypotheses]
        assert ranks == sorted(ranks, reverse=True)


def test_trace_keeps_the_chain_and_replays_identically(model, tmp_path):
    chain = (RepetitionPenalty(1.2), WORD)
    search = searched(model, "the cat", ("xq",), width=3, chain=chain)
    trace = Trace.load(search.trace().save(tmp_path / "search.json"))
    assert trace == search.trace() and trace.stop_strings == ("xq",)
    assert BeamSettings.from_dict(trace.settings_at(0)) == search.settings
    again = replay(trace, model)
    assert again.identical, again.differences


def test_stop_strings_end_texts_as_in_transformers(model, tokenizer):
    prompt = model.vocabulary.encode("the cat")
    free = searched(model, prompt, width=5).hypotheses
    stop = ["bb", "he"]  # the first inside two tokens, the second inside one
    assert all(any(string in one.text for one in free) for string in stop)
    ended = set()
    for width in (2, 5):
        search = searched(model, prompt, stop, width=width)
        theirs = generated(model, prompt, width, stop_strings=stop, tokenizer=tokenizer)
        assert_same(search, theirs)
        ended |= {any(one in text.text for one in stop) for text in search.hypotheses}
    assert True in ended, "no stop string was ever written"


def test_random_and_unusable_samplers_are_refused(model):
    with pytest.raises(SettingError, match="xtc leaves something to chance, and beam search draws"):
        BeamSettings(chain=(Xtc(),))
    bare = tiny_models.shared("llama")
    with pytest.raises(SettingError, match="constraint needs the text of every token"):
        BeamSearch(bare, PROMPT, BeamSettings(chain=(WORD,)))
    with pytest.raises(SettingError, match="must be non-empty text"):
        BeamSearch(model, "a", stop_strings=[""])
