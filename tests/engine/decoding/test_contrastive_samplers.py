"""Contrastive search with samplers and a constraint, against its definition without a cache."""

import json
import re

import jsonschema
import numpy as np
import pytest
import torch

from engine.decoding.contrastive import ContrastiveSearch
from engine.decoding.replay import replay
from engine.errors import NoCandidatesError, SettingError
from engine.model import LanguageModel
from engine.sampling.samplers import (
    Banned,
    Constraint,
    Context,
    NoRepeatNGram,
    RepetitionPenalty,
    Temperature,
    Xtc,
)
from engine.trace import Trace
from tests.engine import tiny_models
from tests.engine.decoding.words import PATTERN, WORD, allowed

TOKENS = 12
CLOSE = 1e-4
PROMPT = tiny_models.prompt(0)
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


def searched(model: LanguageModel, prompt, tokens: int = TOKENS, **how) -> ContrastiveSearch:
    search = ContrastiveSearch(model, prompt, **{"top_k": 4, "penalty_alpha": 0.6} | how)
    for _ in search.run(tokens):
        pass
    return search


def last_states(model, token_ids) -> tuple[torch.Tensor, np.ndarray]:
    """Logits after a text, and (positions, d_model) unit vectors of its last hidden states."""
    with torch.inference_mode():
        out = model.hf(torch.tensor([token_ids]), use_cache=False, output_hidden_states=True)
    states = out.hidden_states[-1][0].double().numpy()
    return out.logits[0, -1].float(), states / np.linalg.norm(states, axis=1, keepdims=True)


def by_definition(model, ids, processed, top_k=4, alpha=0.6) -> dict[int, tuple[float, float]]:
    """Probability and score by candidate, straight from the paper; `processed` edits logits."""
    logits, before = last_states(model, ids)
    probs = torch.softmax(processed(torch.tensor([ids]), logits[None])[0].double(), -1).numpy()
    found = {}
    for token_id in np.argsort(-probs, kind="stable")[:top_k].tolist():
        if probs[token_id] > 0:
            cosines = before @ last_states(model, [*ids, token_id])[1][-1]
            score = (1 - alpha) * probs[token_id] - alpha * cosines.max()
            found[token_id] = probs[token_id], score
    return found


def assert_follows(search: ContrastiveSearch, processed) -> None:
    ids = list(search.prompt_ids)
    for step in search.steps:
        expected = by_definition(search.model, ids, processed)
        assert [one.token_id for one in step.candidates] == list(expected)
        ours = [(one.probability, one.score) for one in step.candidates]
        np.testing.assert_allclose(ours, list(expected.values()), atol=CLOSE)
        assert step.token_id == max(expected, key=lambda one: expected[one][1])
        ids.append(step.token_id)


@pytest.mark.parametrize(
    "chain",
    [[RepetitionPenalty(1.6)], [NoRepeatNGram(1)], [RepetitionPenalty(1.3), Temperature(2.0)]],
    ids=["repetition", "n-gram", "two"],
)
def test_candidates_match_the_processors_of_transformers(chain):
    model = tiny_models.shared("llama")
    search = searched(model, PROMPT, chain=chain)
    context = Context(np.array(PROMPT), len(PROMPT))

    def processed(ids, logits):
        for stage in chain:
            logits = stage.processor(context)(ids, logits)
        return logits

    assert_follows(search, processed)
    plain = [step.candidates for step in searched(model, PROMPT).steps]
    assert [step.candidates for step in search.steps] != plain, "the chain changed nothing"


def test_candidates_are_among_the_allowed_tokens(model):
    search = searched(model, "the cat", chain=[WORD])
    assert re.fullmatch(PATTERN, search.text) and search.stop_reason == "eos"

    def processed(ids, logits):
        left = torch.full_like(logits, -torch.inf)
        may_come = allowed(model, ids[0].tolist()[len(search.prompt_ids) :])
        left[:, may_come] = logits[:, may_come]
        return left

    assert_follows(search, processed)
    assert {len(step.candidates) for step in search.steps} > {4}, "few were never allowed"


def test_rewind_and_fork_repeat_a_json_object(model):
    chain = [RepetitionPenalty(1.2), Constraint("json_schema", SCHEMA)]
    search = searched(model, "a", 300, chain=chain)
    assert search.stop_reason == "eos"
    jsonschema.validate(json.loads(search.text), SCHEMA)
    once = search.token_ids
    for length in (len(once) - 1, 3, 0):
        search.rewind(length)
        twin = search.fork()
        for text in (search, twin):
            list(text.run(300))
            assert text.token_ids == once and text.chain == tuple(chain)


def test_complete_text_without_end_token_raises_and_stays(text_model):
    search = ContrastiveSearch(text_model, "a", chain=[Constraint("choices", ["cat"])])
    for _ in range(2):
        with pytest.raises(NoCandidatesError, match="is complete and this model has no"):
            list(search.run(9))
        assert search.text == "cat"
    search.rewind(1)
    with pytest.raises(NoCandidatesError):
        list(search.run(9))
    assert search.text == "cat"


def test_trace_keeps_the_chain_and_replays_identically(model, tmp_path):
    search = searched(model, "a", 4, chain=[RepetitionPenalty(1.2), WORD])
    trace = Trace.load(search.trace().save(tmp_path / "search.json"))
    assert trace == search.trace()
    again = replay(trace, model)
    assert again.identical, again.differences


def test_replay_follows_samplers_changed_between_steps(model):
    search = searched(model, "a", 3)
    search.chain = [RepetitionPenalty(1.8)]
    list(search.run(6))
    search.rewind(5)
    banned = search.steps[4].token_id
    search.rewind(4)  # the next candidates were proposed under the penalty
    search.chain = [RepetitionPenalty(1.8), Banned([[banned]])]
    list(search.run(8))

    assert [(first, used.chain) for first, used in search.settings_by_step] == [
        (0, ()),
        (3, (RepetitionPenalty(1.8),)),
        (4, search.chain),
    ]
    assert banned not in [one.token_id for one in search.steps[4].candidates]
    again = replay(Trace.from_json(search.trace().to_json()), model)
    assert again.identical, again.sentence
    twin = search.fork()
    twin.chain = ()
    assert twin.step().candidates != search.step().candidates
    search.rewind(4)
    assert [first for first, _ in search.settings_by_step] == [0, 3, 4]


def test_refused_sampler_leaves_the_chain_unchanged(model):
    search = searched(model, "a", 2, chain=[WORD])
    with pytest.raises(SettingError, match="to chance"):
        search.chain = [Xtc()]
    assert search.chain == (WORD,)


def test_random_and_unusable_samplers_are_refused(model):
    with pytest.raises(SettingError, match="to chance, and contrastive search draws"):
        ContrastiveSearch(model, "a", chain=[Xtc()])
    with pytest.raises(SettingError, match="constraint needs the text of every token"):
        ContrastiveSearch(tiny_models.shared("llama"), PROMPT, chain=[WORD])
