"""Contrastive search against its definition, recomputed at every step without a cache."""

import gc
from functools import cache

import numpy as np
import pytest
import torch

from engine.decoder import Decoder
from engine.decoding import contrastive
from engine.decoding.contrastive import ContrastiveSearch
from engine.errors import (
    CancelledError,
    ContextFullError,
    LogitsError,
    NotAModelError,
    OutOfMemoryError,
    PromptError,
    SettingError,
    TokenizerError,
)
from engine.model import LanguageModel, load_model
from engine.model.cache import can_crop
from engine.runner.budget import MemoryBudget
from engine.runner.job import as_job
from tests.engine import tiny_models
from tests.engine.runs import GREEDY, finished

TOKENS = 16  # with the prompt, more than a sliding window holds
CLOSE = 1e-4
PROMPT = tiny_models.prompt(0)
# Plain attention, learned positions, alibi, sliding windows, recurrent states, convolutions.
KINDS = ["llama", "gpt2", "bloom", "mistral", "gemma3", "mamba", "lfm2", "falcon_h1"]
each_kind = pytest.mark.parametrize("architecture", KINDS)


def searched(model, tokens=TOKENS, prompt=PROMPT, top_k=5, penalty_alpha=0.6):
    search = ContrastiveSearch(model, prompt, top_k, penalty_alpha)
    for _ in search.run(tokens):
        pass
    assert len(search.steps) == tokens, f"the search ended early: {search.stop_reason}"
    return search


@cache
def left_alone(architecture: str) -> ContrastiveSearch:
    """An undisturbed search; no test may change it."""
    return searched(tiny_models.shared(architecture))


@cache
def greedy(architecture: str) -> list[int]:
    return finished(Decoder(tiny_models.shared(architecture), PROMPT, GREEDY), TOKENS).token_ids


def plain(step) -> tuple:
    """The part of a step that must repeat: everything except its cost."""
    return (step.index, step.token_id, step.candidates, step.chosen, step.text, step.stop_reason)


def assert_same_choice(one, other) -> None:
    """Check for the same step up to rounding: the shape of a pass changes the order of adding."""
    assert [c.token_id for c in one.candidates] == [c.token_id for c in other.candidates]
    assert (one.index, one.token_id, one.chosen) == (other.index, other.token_id, other.chosen)
    for mine, theirs in zip(one.candidates, other.candidates, strict=True):
        assert mine.nearest == theirs.nearest
        for figure in ("probability", "penalty", "score"):
            assert getattr(mine, figure) == pytest.approx(getattr(theirs, figure), abs=1e-5)


def last_states(model, *texts) -> tuple[np.ndarray, np.ndarray]:
    """(texts, vocab) logits and (texts, positions, d_model) states in float64, without a cache."""
    with torch.inference_mode():
        out = model.hf(torch.tensor(texts), use_cache=False, output_hidden_states=True)
    return out.logits[:, -1].double().numpy(), out.hidden_states[-1].double().numpy()


def by_definition(model, token_ids, top_k, alpha) -> list[tuple[int, float, float, float]]:
    """Candidates of one step as (id, probability, penalty, score), straight from the paper."""
    (logits,), (before,) = last_states(model, token_ids)
    probs = np.exp(logits - logits.max())
    probs /= probs.sum()
    found = []
    best = np.argsort(-probs, kind="stable")[:top_k].tolist()
    _, states = last_states(model, *([*token_ids, token_id] for token_id in best))
    for token_id, state in zip(best, states[:, -1], strict=True):
        cosines = before @ state / (np.linalg.norm(before, axis=1) * np.linalg.norm(state))
        score = (1 - alpha) * probs[token_id] - alpha * cosines.max()
        found.append((token_id, probs[token_id], cosines.max(), score))
    return found


# Against the definition.


@each_kind
@pytest.mark.parametrize("seed", range(2))
def test_every_step_follows_the_definition(architecture, seed):
    model = tiny_models.shared(architecture, seed)
    if seed:
        search = searched(model, prompt=tiny_models.prompt(seed))
    else:
        search = left_alone(architecture)

    text = list(search.prompt_ids)
    for step in search.steps:
        expected = by_definition(model, text, 5, 0.6)
        assert [c.token_id for c in step.candidates] == [c[0] for c in expected]
        actual = [(c.probability, c.penalty, c.score) for c in step.candidates]
        np.testing.assert_allclose(actual, [c[1:] for c in expected], atol=CLOSE, rtol=0)
        assert step.chosen == int(np.argmax([c[3] for c in expected]))
        assert step.token_id == step.candidates[step.chosen].token_id
        text.append(step.token_id)
    assert any(step.chosen for step in search.steps), "the penalty never mattered"


def test_penalty_comes_from_the_nearest_state():
    model, search = tiny_models.shared("llama"), left_alone("llama")
    text = list(search.prompt_ids)
    for step in search.steps:
        _, (states,) = last_states(model, [*text, step.token_id])
        states /= np.linalg.norm(states, axis=1, keepdims=True)
        candidate = step.candidates[step.chosen]
        assert 0 <= candidate.nearest < len(text)
        cosine = states[candidate.nearest] @ states[-1]
        assert cosine == pytest.approx(candidate.penalty, abs=CLOSE)
        text.append(step.token_id)


@each_kind
@pytest.mark.parametrize(("top_k", "alpha"), [(6, 0.0), (1, 0.6), (1, 1.0)])
def test_alpha_0_and_top_k_1_are_greedy(architecture, top_k, alpha):
    model = tiny_models.shared(architecture)
    search = searched(model, top_k=top_k, penalty_alpha=alpha)
    assert search.token_ids == greedy(architecture)
    assert {step.chosen for step in search.steps} == {0}


def test_alpha_1_looks_at_the_penalty_alone():
    for step in searched(tiny_models.shared("llama"), penalty_alpha=1.0).steps:
        penalties = [candidate.penalty for candidate in step.candidates]
        assert step.chosen == int(np.argmin(penalties))


def test_many_candidates_are_run_in_several_passes(monkeypatch):
    model = tiny_models.shared("llama")
    whole = searched(model, 3, top_k=20).steps
    monkeypatch.setattr("engine.decoding.contrastive.ROWS_PER_PASS", 8)
    parts = searched(model, 3, top_k=20).steps
    assert [step.passes for step in parts] == [1 + 3, 3, 3]
    for one, other in zip(whole, parts, strict=True):
        assert_same_choice(one, other)


def test_long_step_reports_progress_and_can_be_cancelled(monkeypatch):
    monkeypatch.setattr("engine.decoding.contrastive.ROWS_PER_PASS", 2)
    monkeypatch.setattr("engine.runner.runner.CHUNK", 4)
    model = tiny_models.shared("llama")
    told = []
    search = ContrastiveSearch(model, tiny_models.prompt(0, 10), 5)
    with as_job(lambda: len(told) == 4, lambda *words: told.append(words)):
        with pytest.raises(CancelledError):
            search.step()
        assert not search.steps
    assert [words for words in told if words[0] == "Reading the prompt"] == [
        ("Reading the prompt", done, 10) for done in (4, 8, 10)
    ]
    assert told[3:] == [("Trying the candidates", 2, 5)]
    other = ContrastiveSearch(model, tiny_models.prompt(0, 10), 5)
    assert_same_choice(search.step(), other.step())


def test_top_k_beyond_the_candidate_limit_is_refused():
    model = LanguageModel(tiny_models.build("llama", vocab_size=200))
    with pytest.raises(SettingError, match="top_k must be at most 64, got 65; use 1 to 64"):
        ContrastiveSearch(model, PROMPT, 65)


def test_contrastive_text_repeats_no_more_than_greedy():
    """Check the method's purpose: a small model's greedy text runs into loops."""
    model = load_model(dtype="float32", device="cpu")
    prompt = "The capital of France is"
    decoder = Decoder(model, prompt, GREEDY)
    list(decoder.run(64))
    search = ContrastiveSearch(model, prompt)
    list(search.run(64))
    text = list(search.prompt_ids)
    for step in search.steps[:6]:
        expected = by_definition(model, text, 4, 0.6)
        assert step.token_id == max(expected, key=lambda candidate: candidate[3])[0]
        text.append(step.token_id)

    def distinct(ids):
        return len(set(zip(ids, ids[1:], ids[2:], strict=False))) / (len(ids) - 2)

    assert distinct(search.token_ids) >= distinct(decoder.token_ids)
    assert search.text == model.tokenizer.decode(search.token_ids, skip_special_tokens=True)


# Rewinding.


@each_kind
def test_rewinding_repeats_the_same_steps(architecture):
    lone, search = left_alone(architecture), searched(tiny_models.shared(architecture))
    for length in (TOKENS - 1, 9, 2, 0):
        search.rewind(length)
        assert search.token_ids == lone.token_ids[:length]
        list(search.run(TOKENS))
        for one, other in zip(search.steps, lone.steps, strict=True):
            assert_same_choice(one, other)
        if can_crop(search._runner.cache):
            assert [plain(s) for s in search.steps] == [plain(s) for s in lone.steps], length
        assert [s.cache_bytes for s in search.steps] == [s.cache_bytes for s in lone.steps]


@each_kind
def test_lost_cache_is_rebuilt(architecture):
    lone, search = left_alone(architecture), searched(tiny_models.shared(architecture), 10)
    assert search.release_cache()
    step = search.step()
    assert step.is_prefill
    assert step.prefill_ms > 0
    list(search.run(TOKENS))
    for one, other in zip(search.steps, lone.steps, strict=True):
        assert_same_choice(one, other)


def test_search_is_deterministic_alongside_other_texts(llama):
    lone = searched(llama)
    search = ContrastiveSearch(llama, PROMPT, 5)
    others = [ContrastiveSearch(llama, tiny_models.prompt(9)), Decoder(llama, PROMPT)]
    for _ in range(TOKENS):
        search.step()
        for other in others:
            other.step()
    assert [s.candidates for s in search.steps] == [s.candidates for s in lone.steps]


def test_rewinding_restores_the_earlier_text(text_model):
    search = ContrastiveSearch(text_model, "the cat", 4, 0.6)
    texts = [search.text]
    for step in search.run(20):
        texts.append(search.text)
        assert search.text == "".join(s.text for s in search.steps)
        assert step.token_bytes == text_model.vocabulary.token_bytes(step.token_id)
    for length in (13, 7, 0):
        search.rewind(length)
        assert search.text == texts[length]
    list(search.run(20))
    assert search.text == texts[-1]


@pytest.mark.parametrize("length", [-1, 4, 1.0, True, None])
def test_rewind_to_an_invalid_length_is_refused(llama, length):
    search = searched(llama, 3)
    with pytest.raises(SettingError, match="length cannot be rewound to"):
        search.rewind(length)
    assert len(search.steps) == 3


# The end of a run, and the figures of a step.


def test_run_ends_for_each_stop_reason(llama):
    search = searched(llama, 6)
    assert search.stop_reason == "max_tokens"
    assert list(search.run(6)) == []
    lone = searched(llama, 12)
    llama.eos_ids = (lone.token_ids[4],)
    first = lone.token_ids.index(lone.token_ids[4])
    ending = ContrastiveSearch(llama, PROMPT, 5)
    assert len(list(ending.run(12))) == first + 1
    assert ending.stop_reason == "eos"
    llama.eos_ids = ()
    full = ContrastiveSearch(llama, tiny_models.prompt(1, tiny_models.CONTEXT - 3), 5)
    assert full.tokens_left == 3
    assert len(list(full.run(50))) == 3
    assert full.stop_reason == "context"
    with pytest.raises(ContextFullError):
        full.step()


def test_step_counts_only_the_text_cache(llama):
    search, decoder = searched(llama, 5), Decoder(llama, PROMPT, GREEDY)
    for step in search.steps:
        assert step.cache_positions == len(PROMPT) + step.index + 1
        decoder.step(step.token_id)
    decoder.step()  # a decoder reads a token one step later
    assert search.steps[-1].cache_bytes == decoder.steps[-1].cache_bytes
    assert [step.is_prefill for step in search.steps] == [True] + [False] * 4
    for step in search.steps:
        assert min(step.forward_ms, step.score_ms) > 0
        assert step.prefill_ms + step.forward_ms + step.score_ms <= step.total_ms


# Failures.


@pytest.mark.parametrize("top_k", [0, -1, 97, 2.0, True, None, "4"])
def test_a_top_k_out_of_range_is_refused(top_k):
    with pytest.raises(SettingError, match="top_k"):
        ContrastiveSearch(tiny_models.shared("llama"), PROMPT, top_k)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan"), float("inf"), True, None, "0.6"])
def test_an_alpha_out_of_range_is_refused(alpha):
    with pytest.raises(SettingError, match=r"penalty_alpha must be .*use 0 to 1"):
        ContrastiveSearch(tiny_models.shared("llama"), PROMPT, 4, alpha)


def test_invalid_prompts_are_refused():
    model = tiny_models.shared("llama")
    with pytest.raises(PromptError):
        ContrastiveSearch(model, [])
    with pytest.raises(PromptError):
        ContrastiveSearch(model, [tiny_models.VOCAB])
    with pytest.raises(TokenizerError):
        ContrastiveSearch(model, "text")


@pytest.mark.parametrize("architecture", ["llama", "mamba"])
def test_failed_pass_leaves_the_text_unchanged(architecture, monkeypatch):
    model = LanguageModel(tiny_models.build(architecture))
    lone, search = searched(model, 10), searched(model, 4)
    forward = model.hf.forward

    def out_of_memory(*args, **kwargs):
        forward(*args, **kwargs)  # the cache has been changed by then
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(model.hf, "forward", out_of_memory)
        for _ in range(2):
            with pytest.raises(OutOfMemoryError, match="ran out of memory"):
                search.step()
    assert len(search.steps) == 4
    list(search.run(10))
    for one, other in zip(search.steps, lone.steps, strict=True):
        assert_same_choice(one, other)


def test_nan_logits_are_refused_and_text_stays(llama):
    lone, search = searched(llama, 10), searched(llama, 4)
    weight = llama.hf.get_output_embeddings().weight
    before = weight.data.clone()
    weight.data[3] = float("nan")
    with pytest.raises(LogitsError):
        search.step()
    weight.data[:] = before
    list(search.run(10))
    assert [s.candidates for s in search.steps] == [s.candidates for s in lone.steps]


def test_a_model_without_hidden_states_is_refused(llama, monkeypatch):
    # Only its output is visible, and that does not name hidden states.
    monkeypatch.setattr(type(llama.hf), "base_model", property(lambda hf: hf))
    with pytest.raises(NotAModelError, match="does not give the hidden states"):
        ContrastiveSearch(llama, PROMPT).step()


def test_hidden_states_of_other_layers_are_not_requested(llama, monkeypatch):
    forward, asked = llama.hf.forward, []

    def watched(*args, **kwargs):
        asked.append(kwargs.get("output_hidden_states"))
        return forward(*args, **kwargs)

    monkeypatch.setattr(llama.hf, "forward", watched)
    ContrastiveSearch(llama, PROMPT).step()
    assert asked and not any(asked)
    assert not llama.hf.base_model._forward_hooks, "it goes on watching"


def test_hidden_states_count_in_budget_and_stay(llama, monkeypatch):
    expected = searched(llama, 6).token_ids
    budget = MemoryBudget(2**40)
    monkeypatch.setattr(contrastive, "budget_of", lambda device: budget)
    search = searched(llama, 4)
    twin = search.fork()
    a_vector = 4 * llama.hf.config.hidden_size  # in float32
    positions = len(search.prompt_ids) + len(search.steps)
    assert 2 * positions * a_vector <= budget.held <= 4 * positions * a_vector
    assert not budget.make_room()
    assert [step.token_id for step in twin.run(6)] == expected[4:]
    del search, twin
    gc.collect()
    assert not budget.held


def test_candidates_exclude_tokens_the_model_rules_out(llama):
    with torch.inference_mode():
        bias = torch.full((tiny_models.VOCAB,), -float("inf"))
        bias[[3, 5]] = 0.0
        llama.hf.get_output_embeddings().bias = torch.nn.Parameter(bias, requires_grad=False)
    (step,) = searched(llama, 1, top_k=5).steps
    assert {candidate.token_id for candidate in step.candidates} == {3, 5}
