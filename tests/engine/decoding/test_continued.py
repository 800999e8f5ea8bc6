"""A text that continues from the cache of an earlier one, as a conversation's next turn does."""

import numpy as np
import pytest

from engine import replay
from engine.decoder import Decoder
from engine.errors import TraceError
from engine.model.vocabulary import ChatIds
from engine.sampling import SamplingSettings
from engine.trace import Trace
from tests.bundled import bundled

GREEDY = SamplingSettings(temperature=0.0)


@pytest.fixture(scope="module")
def answered() -> Decoder:
    decoder = Decoder(bundled(), "Once upon a time, there was a little", GREEDY)
    list(decoder.run(12))
    return decoder


def next_turn(answered: Decoder, more: str = " Then she said:") -> list[int]:
    return answered.prompt_ids + answered.token_ids + answered.model.vocabulary.encode(more)


def test_only_new_tokens_are_read(answered):
    ids = next_turn(answered)
    decoder = Decoder(answered.model, ids, GREEDY, after=answered)
    read = len(answered.prompt_ids) + 11  # the last token was drawn, but not read
    assert decoder.from_cache == read
    step = decoder.step()
    assert sum(step.passes) == len(ids) - read and not step.is_prefill
    assert step.cache_positions == len(ids)
    fresh = Decoder(answered.model, ids, GREEDY)
    assert fresh.step().token_id == step.token_id
    np.testing.assert_allclose(decoder.logits(0), fresh.logits(0), atol=0.3)  # bfloat16
    assert answered.step().token_id == answered.fork().token_ids[-1], "the old text was changed"
    answered.rewind(12)


@pytest.mark.parametrize("same", [0, 3])
def test_cache_serves_as_far_as_both_begin_alike(answered, same):
    ids = [*answered.prompt_ids[:same], 300, 301, 302]
    decoder = Decoder(answered.model, ids, GREEDY, after=answered)
    assert decoder.from_cache == same
    assert sum(decoder.step().passes) == 3


def test_cache_is_rebuilt_by_the_same_passes(answered):
    decoder = Decoder(answered.model, next_turn(answered), GREEDY, after=answered)
    decoder.step()
    twin = decoder.fork()
    twin.release_cache()
    for _ in range(3):
        decoder.step(), twin.step()
    assert (decoder.logits(3) == twin.logits(3)).all()
    assert sum(twin.steps[1].passes) > 1


@pytest.mark.parametrize("brief", [False, True])
def test_trace_repeats_the_passes(answered, brief):
    messages = ({"role": "user", "content": "Hi"},)
    prompt = ChatIds(next_turn(answered), messages)
    decoder = Decoder(answered.model, prompt, GREEDY, after=answered)
    list(decoder.run(4))
    trace = Trace.from_dict(decoder.trace().to_dict(brief=brief))
    assert trace.messages == messages
    assert sum(trace.prompt_passes) == len(prompt) and len(trace.prompt_passes) > 5
    if not brief:
        assert replay(trace, answered.model).identical
    again = Decoder.of_trace(trace, answered.model)
    for step in trace.steps:
        again.repeat(trace)
        assert again.steps[-1].token_id == step.token_id
    assert (again.logits(3) == decoder.logits(3)).all()
    assert again.outline().prompt_passes == trace.prompt_passes
    assert again.fork().messages == messages


def test_more_passes_than_prompt_are_refused(answered):
    data = answered.trace().to_dict() | {"prompt_passes": [1000]}
    with pytest.raises(TraceError, match="prompt_passes must have at most"):
        Trace.from_dict(data)


def test_parity_and_guidance_read_for_themselves(answered):
    ids = next_turn(answered)
    in_parity = Decoder(answered.model, ids, SamplingSettings(parity=True), after=answered)
    guided = Decoder(answered.model, ids, GREEDY, guidance_scale=1.5, after=answered)
    assert in_parity.from_cache == guided.from_cache == 0
