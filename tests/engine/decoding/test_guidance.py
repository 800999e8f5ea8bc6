"""Classifier-free guidance: transformers' own is the reference, and the record stays exact."""

import numpy as np
import pytest
import torch
from transformers import UnbatchedClassifierFreeGuidanceLogitsProcessor

from engine.decoder import Decoder
from engine.decoding.guidance import MAX_SCALE, guided_row
from engine.decoding.record import LogitRecord
from engine.errors import (
    ContextFullError,
    OutOfMemoryError,
    PromptError,
    RecordError,
    SettingError,
    TokenizerError,
)
from engine.model import load_model
from engine.trace import Trace
from tests.engine import tiny_models
from tests.engine.runs import GREEDY, assert_same_run, finished, generate, rows, sampling

TOKENS = 24  # with either prompt, far more than a sliding window holds
CLOSE = 1e-3  # largest difference of a guided logit: rounding times the scale
PROMPT = tiny_models.prompt(0)
NEGATIVE = tiny_models.prompt(1, length=11)


def guided(model, settings=GREEDY, *, prompt=PROMPT, negative=NEGATIVE, scale=1.5, **more):
    return Decoder(model, prompt, settings, negative_prompt=negative, guidance_scale=scale, **more)


# Against transformers.


@pytest.mark.parametrize(
    ("architecture", "scale"),
    [
        ("llama", 0.0),
        ("llama", 3.0),
        ("mistral", 0.6),  # sliding windows
        ("gemma2", 1.5),  # soft-capped logits, which are stored as rows
        pytest.param("gpt2", 1.5, marks=pytest.mark.long),  # learned positions
        pytest.param("bloom", 1.5, marks=pytest.mark.long),
    ],
)
def test_greedy_equals_generate(architecture, scale):
    model = tiny_models.shared(architecture)
    decoder = finished(guided(model, scale=scale), TOKENS)

    ids, _ = generate(
        model, PROMPT, TOKENS, guidance_scale=scale, negative_prompt_ids=torch.tensor([NEGATIVE])
    )

    assert len(set(ids)) > 2, "the text is nearly constant and would prove little"
    assert decoder.token_ids == ids, "guided greedy decoding chose another token than generate"


@pytest.mark.parametrize("architecture", ["llama", pytest.param("mistral", marks=pytest.mark.long)])
def test_parity_mode_draws_the_tokens_of_generate(architecture):
    model = tiny_models.shared(architecture)
    decoder = finished(guided(model, sampling(3, parity=True), scale=1.3), TOKENS)

    ids, _ = generate(
        model,
        PROMPT,
        TOKENS,
        3,
        guidance_scale=1.3,
        negative_prompt_ids=torch.tensor([NEGATIVE]),
        temperature=0.8,
        top_k=20,
        top_p=0.9,
        repetition_penalty=1.1,
    )

    assert decoder.token_ids == ids


def test_missing_negative_prompt_defaults_to_last_token():
    model = tiny_models.shared("qwen3")
    decoder = finished(guided(model, negative=None, scale=2.0), TOKENS)
    assert decoder.guidance.negative_prompt_ids == (PROMPT[-1],)
    assert decoder.token_ids == generate(model, PROMPT, TOKENS, guidance_scale=2.0)[0]


@pytest.mark.long
def test_the_bundled_model_equals_generate():
    model = load_model(dtype="float32", device="cpu")
    prompt, negative = "Once upon a time, a sad little", "A happy story. The happy"
    decoder = finished(guided(model, prompt=prompt, negative=negative, scale=1.8), 16)
    ids = torch.tensor([model.vocabulary.encode(negative)])
    expected, _ = generate(
        model, decoder.prompt_ids, 16, guidance_scale=1.8, negative_prompt_ids=ids
    )
    assert decoder.token_ids == expected
    alone = finished(Decoder(model, prompt, GREEDY), 16)
    assert alone.token_ids != decoder.token_ids, "guidance changed nothing, so this proves little"


@pytest.mark.parametrize(
    ("scale", "dtype"),
    [(0.3, torch.float32), (2.5, torch.float32), (99.9, torch.float32), (2.5, torch.bfloat16)],
)
def test_guided_row_equals_the_transformers_processor(scale, dtype):
    prompt, negative = (
        torch.randn(1, 500, generator=torch.Generator().manual_seed(seed)).to(dtype) * 4
        for seed in range(2)
    )
    processor = UnbatchedClassifierFreeGuidanceLogitsProcessor(scale, None)
    processor.get_unconditional_logits = lambda _: negative[:, None]
    expected = processor(None, prompt.float())[0].numpy()
    row = guided_row(prompt[0].float().numpy(), negative[0].float().numpy(), scale, dtype)
    assert np.array_equal(row, expected), "the formula gives other bits than transformers'"


def test_rows_follow_from_two_plain_decoders():
    scale, model = 2.0, tiny_models.shared("llama")
    decoder = finished(guided(model, sampling(4), scale=scale), TOKENS)
    towards, away = Decoder(model, PROMPT, GREEDY), Decoder(model, NEGATIVE, GREEDY)
    for token_id in decoder.token_ids:
        towards.step(token_id), away.step(token_id)

    def log_softmax(logits):
        logits = logits.astype(np.float64)
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))

    p, n = log_softmax(rows(towards)), log_softmax(rows(away))
    np.testing.assert_allclose(rows(decoder), n + scale * (p - n), atol=CLOSE, rtol=0)


def test_token_ruled_out_by_either_row_is_excluded():
    prompt = np.array([1.0, -np.inf, 2.0, -np.inf, 0.0], np.float32)
    negative = np.array([1.0, 2.0, -np.inf, -np.inf, 0.0], np.float32)
    row = guided_row(prompt, negative, 1.5, torch.float32)
    assert np.isneginf(row).tolist() == [False, True, True, True, False]
    assert np.isfinite(row[[0, 4]]).all()
    assert row.flags.writeable is False


def test_nan_logit_makes_the_guided_row_nan():
    row = guided_row(
        np.array([1.0, np.nan, 0.0], np.float32), np.zeros(3, np.float32), 1.5, torch.float32
    )
    assert np.isnan(row).all()


def test_scale_1_turns_guidance_off():
    model = tiny_models.shared("llama")
    plain = finished(Decoder(model, PROMPT, sampling(0)), TOKENS)
    decoder = finished(guided(model, sampling(0), scale=1.0), TOKENS)
    assert decoder.guidance is None
    assert_same_run(decoder, plain.token_ids, rows(plain), "with a negative prompt at scale 1")
    assert {step.negative_forward_ms for step in decoder.steps} == {None}


# The record.


@pytest.mark.parametrize(
    "architecture",
    [
        "llama",
        "gemma2",
        "mamba",
        pytest.param("mistral", marks=pytest.mark.long),
        pytest.param("lfm2", marks=pytest.mark.long),
    ],
)
def test_rewind_fork_and_release_repeat_the_same_bits(architecture):
    model = tiny_models.shared(architecture)
    lone = finished(guided(model, sampling(7)), TOKENS)
    decoder = finished(guided(model, sampling(7)), 14)
    twin = decoder.fork()
    for _ in range(5):
        decoder.step(token_id=1)
    assert_same_run(finished(twin, TOKENS), lone.token_ids, rows(lone), "in a fork")
    for length in (14, 0):
        decoder.rewind(length)
        again = decoder.step()
        assert (again.reused, again.forward_ms, again.negative_forward_ms) == (True, 0.0, None)
        finished(decoder, TOKENS)
        assert_same_run(decoder, lone.token_ids, rows(lone), f"after a rewind to {length}")
    decoder.rewind(14)
    decoder.step()
    assert decoder.release_cache() and decoder.step().is_prefill
    assert finished(decoder, TOKENS).release_rows()
    assert_same_run(decoder, lone.token_ids, rows(lone), "after its rows and cache were released")


def test_distributions_match_the_recorded_draws():
    lone = finished(guided(tiny_models.shared("llama"), sampling(7)), TOKENS)
    for index in (0, 1, TOKENS - 1):
        step, distribution = lone.steps[index], lone.distribution(index)
        assert distribution.probability(step.token_id) == step.probability
        assert distribution.draw(step.u).token_id == step.token_id
        assert step.logit == lone.logits(index)[step.token_id]


def test_a_full_disk_leaves_nothing_half_done(llama, monkeypatch):
    lone = finished(guided(llama, sampling(0)), 10)
    decoder = finished(guided(llama, sampling(0)), 4)
    calls = []
    keep = LogitRecord.keep

    def second_fails(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == 2:
            raise RecordError("no space left")
        return keep(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(LogitRecord, "keep", second_fails)
        with pytest.raises(RecordError):
            decoder.step()
    assert_same_run(finished(decoder, 10), lone.token_ids, rows(lone), "after a full disk")


def test_failed_second_pass_keeps_both_caches_aligned(llama, monkeypatch):
    lone = finished(guided(llama, sampling(0)), 10)
    decoder = finished(guided(llama, sampling(0)), 4)
    forward, calls = llama.forward, []

    def second_fails(*args, **kwargs):
        calls.append(1)
        if len(calls) % 2 == 0:  # also after idle caches were released
            raise OutOfMemoryError("no memory left")
        return forward(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(llama, "forward", second_fails)
        with pytest.raises(OutOfMemoryError):
            decoder.step()
    assert_same_run(finished(decoder, 10), lone.token_ids, rows(lone), "after a failed pass")


# The figures of a step and a trace.


def test_a_step_counts_both_passes_and_both_caches():
    model = tiny_models.shared("llama")
    decoder, plain = guided(model), Decoder(model, PROMPT, GREEDY)
    other = Decoder(model, NEGATIVE, GREEDY)
    for step in (decoder.step(), decoder.step()):
        assert 0 < step.negative_forward_ms < step.forward_ms <= step.total_ms
        both = plain.step(step.token_id).cache_bytes + other.step(step.token_id).cache_bytes
        assert step.cache_bytes == both
        assert step.negative_cache_bytes == other.steps[-1].cache_bytes
        assert step.cache_positions == plain.steps[-1].cache_positions
    assert (plain.steps[0].negative_cache_bytes, plain.steps[0].guidance_scale) == (None, None)
    assert decoder.cache_formula is None


def test_a_trace_keeps_the_guidance(tmp_path, text_model):
    decoder = guided(text_model, prompt="the cat", negative="the dog", scale=1.25)
    decoder.step()
    decoder.guidance_scale = 1.0
    decoder.step()
    trace = Trace.load(decoder.trace().save(tmp_path / "run.json"))
    assert trace == decoder.trace()
    assert (trace.guidance.scale, trace.guidance.negative_prompt) == (1.0, "the dog")
    assert trace.guidance.negative_prompt_ids == tuple(text_model.vocabulary.encode("the dog"))
    assert [step.guidance_scale for step in trace.steps] == [1.25, 1.0]
    plain = Decoder(text_model, "the cat", GREEDY).trace()
    assert plain.guidance is None and "guidance" not in plain.to_dict()


# Inputs.


@pytest.mark.parametrize("scale", [-0.1, MAX_SCALE + 1, float("nan"), "2", None, True])
def test_a_scale_out_of_range_is_refused(scale):
    with pytest.raises(SettingError, match="guidance_scale must be"):
        guided(tiny_models.shared("llama"), scale=scale)
    decoder = guided(tiny_models.shared("llama"))
    with pytest.raises(SettingError, match="guidance_scale must be"):
        decoder.guidance_scale = scale
    assert decoder.guidance_scale == 1.5


@pytest.mark.parametrize("empty", [[], np.array([], np.int64), ""], ids=["list", "array", "text"])
def test_an_empty_negative_prompt_is_refused(text_model, empty):
    for scale in (1.0, 1.5):
        with pytest.raises(SettingError, match="negative_prompt contains no token"):
            guided(text_model, prompt="the cat", negative=empty, scale=scale)


def test_unusable_negative_prompt_is_refused():
    model = tiny_models.shared("llama")
    with pytest.raises(PromptError, match="The negative prompt contains token id 96"):
        guided(model, negative=[1, tiny_models.VOCAB])
    with pytest.raises(PromptError, match="The negative prompt has 160 tokens"):
        guided(model, negative=[1] * tiny_models.CONTEXT)
    with pytest.raises(PromptError, match="The negative prompt must be text"):
        guided(model, negative=3)
    with pytest.raises(TokenizerError):
        guided(model, negative="text")


@pytest.mark.parametrize("lengths", [(7, 150), (150, 7)], ids=["longer negative", "shorter"])
def test_longer_text_ends_the_run_at_the_context(lengths):
    prompt, negative = (tiny_models.prompt(2, length) for length in lengths)
    decoder = guided(tiny_models.shared("llama"), prompt=prompt, negative=negative)
    assert decoder.tokens_left == 10
    assert len(list(decoder.run(50))) == 10
    assert decoder.stop_reason == "context"
    with pytest.raises(ContextFullError):
        decoder.step()
