"""Rounds of speculative decoding: their ends, their length, and refused input."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from engine.decoder import Decoder
from engine.decoding.replay import replay
from engine.decoding.speculative import SpeculativeDecoder
from engine.decoding.speculative.proposers import continuation
from engine.errors import ContextFullError, LogitsError, SettingError, TraceError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.speculation import SpeculativeSettings
from engine.trace import Trace
from tests.engine import tiny_models
from tests.engine.runs import GREEDY

PROMPT = tiny_models.prompt(2)
FORCED = 6  # tokens accepted in a row when the target drafts for itself


def own_draft(prompt=PROMPT, model: LanguageModel | None = None, **changes) -> SpeculativeDecoder:
    """A decoder whose target drafts for itself, so that rounds are as long as possible."""
    model = model or tiny_models.shared("llama")
    settings = SpeculativeSettings(GREEDY, draft_length=FORCED).replace(**changes)
    return SpeculativeDecoder(model, prompt, model, settings)


def greedy_ids(tokens: int, prompt=PROMPT, model: LanguageModel | None = None, stop=()) -> Decoder:
    decoder = Decoder(model or tiny_models.shared("llama"), prompt, GREEDY, stop_strings=stop)
    list(decoder.run(tokens))
    return decoder


# --- the end of a round ---------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 6, 7, 8, 15])
def test_max_new_tokens_cuts_a_round(most):
    decoder = own_draft(max_new_tokens=most)
    list(decoder.run())
    assert decoder.token_ids == greedy_ids(most).token_ids
    assert decoder.stop_reason == "max_tokens"
    with pytest.raises(SettingError, match="max_new_tokens has already been reached"):
        decoder.step()
    decoder.settings = decoder.settings.replace(max_new_tokens=most + 4)
    list(decoder.run())
    assert decoder.token_ids == greedy_ids(most + 4).token_ids


@pytest.mark.parametrize("at", [0, 2, 6, 7])
def test_end_of_text_token_cuts_a_round(at):
    wanted = greedy_ids(9).token_ids
    first = wanted.index(wanted[at])  # the same token may come sooner
    model = LanguageModel(tiny_models.build("llama"), name="ends")
    model.eos_ids = (wanted[at],)
    decoder = own_draft(model=model)
    list(decoder.run())
    assert decoder.token_ids == wanted[: first + 1] and decoder.stop_reason == "eos"
    last = decoder.steps[-1]
    assert (last.drawn is None) == (last.token_ids[-1:] != (last.drawn and last.drawn.token_id,))
    if last.drawn is None:
        behind = last.proposed[len(last.token_ids) :]
        assert {token.verdict for token in behind} <= {"not looked at"}


def test_stop_string_ends_a_round_midway(text_model):
    model, prompt = text_model, "the cat"
    stop = greedy_ids(20, prompt, model).text[9:15]
    plain = greedy_ids(20, prompt, model, stop)
    settings = SpeculativeSettings(GREEDY, draft_length=16)
    decoder = SpeculativeDecoder(model, prompt, model, settings, stop_strings=stop)
    list(decoder.run())
    assert decoder.token_ids == plain.token_ids and decoder.text == plain.text
    assert (decoder.stop_reason, decoder.steps[-1].stop_string) == ("stop_string", stop)
    assert len(decoder.steps) == 1
    decoder.stop_strings = ()
    decoder.step()
    assert decoder.token_ids[: len(plain.token_ids)] == plain.token_ids


def test_full_context_ends_the_last_round():
    prompt = tiny_models.prompt(3, tiny_models.CONTEXT - 10)
    decoder = own_draft(prompt)
    list(decoder.run())
    assert decoder.stop_reason == "context" and len(decoder.token_ids) == 10
    assert decoder.token_ids == greedy_ids(10, prompt).token_ids
    with pytest.raises(ContextFullError, match="context of 160 tokens is full"):
        decoder.step()


def test_draft_stops_proposing_beyond_its_context():
    target = tiny_models.shared("llama")
    short = LanguageModel(tiny_models.build("llama", 0, max_position_embeddings=16), name="short")
    settings = SpeculativeSettings(GREEDY, draft_length=4, max_new_tokens=20)
    decoder = SpeculativeDecoder(target, PROMPT, short, settings)
    list(decoder.run())
    assert decoder.token_ids == greedy_ids(20).token_ids
    assert decoder.steps[-1].drawn.kind == "plain" and not decoder.steps[-1].proposed
    assert max(step.draft_positions for step in decoder.steps) <= 16


# --- its length -----------------------------------------------------------------------------------


def test_adaptive_length_follows_its_rule_and_repeats():
    target, draft = tiny_models.shared("llama"), tiny_models.shared("llama", 1)
    settings = SpeculativeSettings(GREEDY, draft_length=3, adaptive=True, max_new_tokens=30)
    decoder = SpeculativeDecoder(target, PROMPT, draft, settings)
    steps = list(decoder.run())
    assert steps[0].draft_length == 3 and len({step.draft_length for step in steps}) > 1
    for step, later in pairwise(steps[:-1]):
        grown = step.accepted == len(step.proposed)
        wanted = step.draft_length + 2 if grown else max(1, step.draft_length - 1)
        assert later.draft_length == wanted
    decoder.rewind(2)
    assert decoder.next_draft_length == steps[2].draft_length
    assert [step.token_ids for step in decoder.run()] == [step.token_ids for step in steps[2:]]
    own = own_draft(adaptive=True, draft_length=1, max_new_tokens=40)
    list(own.run())
    assert [step.draft_length for step in own.steps[:4]] == [1, 3, 5, 7]


def test_prompt_lookup_takes_the_longest_and_latest_match():
    ids = np.array([1, 2, 3, 9, 2, 3, 8, 5, 2, 3])
    assert continuation(ids, 3, 2) == [8, 5]  # 2, 3 came last before 8
    assert continuation(np.array([7, 1, 2, 5, 4, 1, 2, 6, 7, 1, 2]), 3, 1) == [5]  # 7, 1, 2
    assert continuation(ids, 1, 9) == [8, 5, 2, 3]
    assert continuation(np.array([1, 2, 3]), 3, 4) == []
    assert continuation(np.array([4]), 3, 4) == []
    assert continuation(np.array([4, 4]), 16, 4) == [4]


def test_round_without_match_takes_a_plain_step():
    decoder = SpeculativeDecoder(
        tiny_models.shared("llama"), [5], None, SpeculativeSettings(SamplingSettings(seed=1))
    )
    step = decoder.step()
    assert (step.proposed, step.drawn.kind, len(step.token_ids)) == ((), "plain", 1)
    plain = Decoder(tiny_models.shared("llama"), [5], SamplingSettings(seed=1))
    assert plain.step().token_id == step.token_ids[0]


# --- drafts ---------------------------------------------------------------------------------------


def of_words(count: int, size: int, *others: str, seed: int = 0) -> LanguageModel:
    """A model of `count` words, with an output layer of `size` rows."""
    words = {f"w{place}": place for place in range(count)}
    words |= {other: count + place for place, other in enumerate(others)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    hf = tiny_models.build("llama", seed=seed, vocab_size=size)
    return LanguageModel(hf, PreTrainedTokenizerFast(tokenizer_object=tokenizer), name=f"V{size}")


@pytest.mark.parametrize(
    ("target", "draft"),
    [
        ((20, 40), (20, 24)),
        ((20, 24), (20, 40)),
        pytest.param((20, 24), (20, 24, "one"), marks=pytest.mark.long),
        pytest.param((20, 24), (19, 22), marks=pytest.mark.long),
    ],
    ids=["fewer ids", "more ids", "one token more", "one token less"],
)
def test_draft_may_have_more_or_fewer_ids(target, draft):
    target, draft = of_words(*target), of_words(*draft, seed=1)
    lone = greedy_ids(12, "w1 w2", target).token_ids
    for proposer in (draft, target):
        decoder = SpeculativeDecoder(target, "w1 w2", proposer, SpeculativeSettings(GREEDY))
        rounds = list(decoder.run(8))
        assert decoder.token_ids[:12] == lone[: len(decoder.token_ids)]
        assert any(step.proposed for step in rounds)
    sampled = SpeculativeSettings(SamplingSettings(seed=3))
    decoder = SpeculativeDecoder(target, "w1 w2", draft, sampled)
    list(decoder.run(6))
    drawn_from = decoder.distribution(0, 0).draft.probs
    assert drawn_from.size == target.vocab_size and not drawn_from[draft.vocab_size :].any()
    trace = Trace.from_json(decoder.trace().to_json())
    again = SpeculativeDecoder.of_trace(trace, target, draft)
    assert replay(trace, target, text=again).identical


def test_unusable_drafts_targets_and_settings_are_refused():
    llama, mamba = tiny_models.shared("llama"), tiny_models.shared("mamba")
    fewer = LanguageModel(tiny_models.build("gpt2", vocab_size=64), name="other")
    target, own = of_words(20, 24), of_words(20, 24)
    others = of_words(18, 24, "one", "two"), LanguageModel(own.hf, None, name="V24")
    for model, draft, settings, said in [
        (llama, fewer, None, "draft .*64 tokens, .*llama has one of 96, got 'other'"),
        (llama, "gpt2", None, "draft must be a language model"),
        *(
            (target, other, None, "draft has a different tokenizer from the target V24")
            for other in others
        ),
        (mamba, None, None, "such a model may still be the draft"),
        (llama, None, SamplingSettings(), "settings must be SpeculativeSettings"),
    ]:
        with pytest.raises(SettingError, match=said):
            SpeculativeDecoder(model, [1], draft, settings)


def test_draft_proposes_nothing_after_an_unknown_token():
    target, draft = of_words(20, 40), of_words(20, 24, seed=1)
    unread = SpeculativeDecoder(target, [1, 30], draft, SpeculativeSettings(GREEDY))
    assert unread.step().proposed == ()
    only = GREEDY.replace(logit_bias={30: 1000}, banned=[[i] for i in range(24)])
    forced = SpeculativeDecoder(target, [1, 2], draft, SpeculativeSettings(only))
    step = forced.step()
    assert (step.proposed, step.token_ids) == ((), (30,)), "it scores no token that may come"


def test_invalid_logits_of_the_draft_leave_the_text_unchanged(monkeypatch):
    target, draft = tiny_models.shared("llama"), tiny_models.shared("llama", 1)
    settings = SpeculativeSettings(SamplingSettings(seed=2))
    decoder, lone = (SpeculativeDecoder(target, PROMPT, draft, settings) for _ in range(2))
    list(lone.run(5))
    list(decoder.run(3))
    before, forward = decoder.token_ids, draft.forward

    def broken(*args, **kwargs):
        found = forward(*args, **kwargs)
        return replace(found, logits=np.full_like(found.logits, np.nan))

    with monkeypatch.context() as patched:
        patched.setattr(draft, "forward", broken)
        with pytest.raises(LogitsError):
            decoder.step()
    assert decoder.token_ids == before and len(decoder.steps) == 3
    list(decoder.run(5))
    assert decoder.token_ids == lone.token_ids


# --- traces ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trace() -> Trace:
    target, draft = tiny_models.shared("llama"), tiny_models.shared("llama", 1)
    decoder = SpeculativeDecoder(target, PROMPT, draft, SpeculativeSettings())
    while not any(0 < step.accepted < len(step.proposed) - 1 for step in decoder.steps[-1:]):
        decoder.step()
    return decoder.trace()


def test_trace_needs_its_in_memory_draft(trace):
    target, draft = tiny_models.shared("llama"), tiny_models.shared("llama", 1)
    with pytest.raises(TraceError, match="The draft llama was made in memory"):
        SpeculativeDecoder.of_trace(trace, target)
    again = SpeculativeDecoder.of_trace(trace, target, draft)
    assert [again.repeat(trace).token_ids for _ in trace.steps] == [
        step.token_ids for step in trace.steps
    ]


def test_a_table_has_a_row_for_every_token(trace):
    frame = trace.to_frame()
    tokens = sum(len(step.proposed) + (step.drawn is not None) for step in trace.steps)
    assert len(frame) == tokens
    kept = frame[~frame["verdict"].isin(["rejected", "not looked at"])]
    assert kept["token_id"].tolist() == trace.token_ids
    empty = replace(trace, steps=()).to_frame()
    assert set(empty.columns) == set(frame.columns)
