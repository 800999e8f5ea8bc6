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
from tests.engine.decoding.references import assert_follows
from tests.engine.decoding.words import PATTERN, SCHEMA, WORD, allowed

TOKENS = 12
PROMPT = tiny_models.prompt(0)


def searched(model: LanguageModel, prompt, tokens: int = TOKENS, **how) -> ContrastiveSearch:
    search = ContrastiveSearch(model, prompt, **{"top_k": 4, "penalty_alpha": 0.6} | how)
    for _ in search.run(tokens):
        pass
    return search


@pytest.mark.parametrize(
    "chain",
    [[NoRepeatNGram(1)], [RepetitionPenalty(1.3), Temperature(2.0)]],
    ids=["n-gram", "two"],
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


def test_candidates_are_among_the_allowed_tokens(ending_model):
    search = searched(ending_model, "the cat", chain=[WORD])
    assert re.fullmatch(PATTERN, search.text) and search.stop_reason == "eos"

    def processed(ids, logits):
        left = torch.full_like(logits, -torch.inf)
        may_come = allowed(ending_model, ids[0].tolist()[len(search.prompt_ids) :])
        left[:, may_come] = logits[:, may_come]
        return left

    assert_follows(search, processed)
    assert {len(step.candidates) for step in search.steps} > {4}, "few were never allowed"


def test_rewind_and_fork_repeat_a_json_object(ending_model):
    chain = [RepetitionPenalty(1.2), Constraint("json_schema", SCHEMA)]
    search = searched(ending_model, "a", 300, chain=chain)
    assert search.stop_reason == "eos"
    jsonschema.validate(json.loads(search.text), SCHEMA)
    once = search.token_ids
    for length in (len(once) - 1, 3):
        search.rewind(length)
        twin = search.fork()
        for text in (search, twin):
            list(text.run(300))
            assert text.token_ids == once and text.chain == tuple(chain)


def test_complete_text_without_end_token_raises_and_stays(text_model):
    search = ContrastiveSearch(text_model, "a", chain=[Constraint("choices", ["cat"])])
    for _ in range(2):
        with pytest.raises(NoCandidatesError, match="is complete"):
            list(search.run(9))
        assert search.text == "cat"
    search.rewind(1)
    with pytest.raises(NoCandidatesError):
        list(search.run(9))
    assert search.text == "cat"


def test_replay_follows_samplers_changed_between_steps(ending_model, tmp_path):
    search = searched(ending_model, "a", 3)
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
    trace = Trace.load(search.trace().save(tmp_path / "search.json"))
    assert trace == search.trace()
    again = replay(trace, ending_model)
    assert again.identical, again.sentence
    twin = search.fork()
    twin.chain = ()
    assert twin.step().candidates != search.step().candidates
    search.rewind(4)
    assert [first for first, _ in search.settings_by_step] == [0, 3, 4]


def test_random_and_unusable_samplers_are_refused(ending_model):
    search = ContrastiveSearch(ending_model, "a", chain=[WORD])
    with pytest.raises(SettingError, match=r"xtc .* contrastive search"):
        search.chain = [Xtc()]
    assert search.chain == (WORD,)
    with pytest.raises(SettingError, match="constraint needs"):
        ContrastiveSearch(tiny_models.shared("llama"), PROMPT, chain=[WORD])
