"""Contrastive search against its definition, recomputed at every step without a cache."""

import gc

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
    SettingError,
)
from engine.model import load_model
from engine.model.passes import counted_passes
from engine.runner.budget import MemoryBudget
from engine.runner.job import as_job
from tests.engine import tiny_models
from tests.engine.decoding.references import assert_follows
from tests.engine.runs import GREEDY, finished

TOKENS = 16  # with the prompt, more than a sliding window holds
PROMPT = tiny_models.prompt(0)
# Learned positions, alibi, windows of two kinds, recurrent states, convolutions.
MORE_KINDS = ["gpt2", "bloom", "gemma3", "mamba", "lfm2"]
each_kind = pytest.mark.parametrize(
    "architecture",
    [
        *("llama", "mistral", "falcon_h1"),
        *(pytest.param(other, marks=pytest.mark.long) for other in MORE_KINDS),
    ],
)


def searched(model, tokens=TOKENS, prompt=PROMPT, top_k=5, penalty_alpha=0.6):
    search = ContrastiveSearch(model, prompt, top_k, penalty_alpha)
    for _ in search.run(tokens):
        pass
    assert len(search.steps) == tokens, f"the search ended early: {search.stop_reason}"
    return search


def assert_same_choice(one, other) -> None:
    """Check for the same step up to rounding: the shape of a pass changes the order of adding."""
    assert [c.token_id for c in one.candidates] == [c.token_id for c in other.candidates]
    assert (one.index, one.token_id, one.chosen) == (other.index, other.token_id, other.chosen)
    for mine, theirs in zip(one.candidates, other.candidates, strict=True):
        assert mine.nearest == theirs.nearest
        for figure in ("probability", "penalty", "score"):
            assert getattr(mine, figure) == pytest.approx(getattr(theirs, figure), abs=1e-5)


# Against the definition.


@pytest.mark.parametrize(
    ("architecture", "seed", "alpha"),
    [
        *((architecture, 0, 0.6) for architecture in ("llama", "mistral", "falcon_h1")),
        ("llama", 0, 1.0),  # the penalty alone
        *(pytest.param(one, 0, 0.6, marks=pytest.mark.long) for one in MORE_KINDS),
        *(pytest.param(one, 1, 0.6, marks=pytest.mark.long) for one in ("llama", "gemma3")),
    ],
)
def test_every_step_follows_the_definition(architecture, seed, alpha):
    model = tiny_models.shared(architecture, seed)
    search = searched(model, prompt=tiny_models.prompt(seed), penalty_alpha=alpha)
    assert_follows(search, lambda ids, logits: logits)
    assert any(step.chosen for step in search.steps), "the penalty never mattered"


@pytest.mark.parametrize(
    ("architecture", "top_k", "alpha"),
    [("llama", 6, 0.0), ("llama", 1, 1.0), ("mistral", 6, 0.0), ("falcon_h1", 1, 0.6)],
)
def test_alpha_0_and_top_k_1_are_greedy(architecture, top_k, alpha):
    model = tiny_models.shared(architecture)
    search = searched(model, top_k=top_k, penalty_alpha=alpha)
    assert search.token_ids == finished(Decoder(model, PROMPT, GREEDY), TOKENS).token_ids
    assert {step.chosen for step in search.steps} == {0}


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


@pytest.mark.long
def test_contrastive_text_repeats_no_more_than_greedy():
    """Check the method's purpose: a small model's greedy text runs into loops."""
    model = load_model(dtype="float32", device="cpu")
    prompt = "The capital of France is"
    decoder, search = Decoder(model, prompt, GREEDY), ContrastiveSearch(model, prompt)
    for text in (decoder, search):
        list(text.run(64))

    def distinct(ids):
        return len(set(zip(ids, ids[1:], ids[2:], strict=False))) / (len(ids) - 2)

    assert distinct(search.token_ids) >= distinct(decoder.token_ids)
    assert search.text == model.tokenizer.decode(search.token_ids, skip_special_tokens=True)


# Rewinding.


@each_kind
def test_rewound_and_released_search_repeats_its_steps(architecture):
    model = tiny_models.shared(architecture)
    lone, search = searched(model), searched(model)
    for length in (TOKENS - 1, 9, 0):
        search.rewind(length)
        assert search.token_ids == lone.token_ids[:length]
        search = search.fork()
        list(search.run(TOKENS))
        for one, other in zip(search.steps, lone.steps, strict=True):
            assert_same_choice(one, other)
            if architecture == "llama":  # its cache can be cropped, so no pass changes its shape
                assert one.candidates == other.candidates
            assert one.cache_bytes == other.cache_bytes
    search.rewind(10)
    assert search.release_cache()
    step = search.step()
    assert step.is_prefill and step.prefill_ms > 0
    assert architecture != "llama" or step.passes == 1 + 10 + 1, "prompt, ten steps, the step"
    list(search.run(TOKENS))
    for one, other in zip(search.steps, lone.steps, strict=True):
        assert_same_choice(one, other)


# The end of a run, and the figures of a step.


def test_run_ends_for_each_stop_reason(llama):
    lone = searched(llama, 12)
    assert lone.stop_reason == "max_tokens"
    llama.eos_ids = (lone.token_ids[4],)
    ending = ContrastiveSearch(llama, PROMPT, 5)
    assert len(list(ending.run(12))) == lone.token_ids.index(lone.token_ids[4]) + 1
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


@pytest.mark.parametrize(
    ("top_k", "alpha", "said"),
    [
        (0, 0.6, "top_k"),
        (65, 0.6, "top_k must be at most 64"),
        (2.0, 0.6, "top_k"),
        (True, 0.6, "top_k"),
        (4, -0.1, "penalty_alpha must be from 0 to 1"),
        (4, 1.1, "penalty_alpha must be from 0 to 1"),
        (4, float("nan"), "penalty_alpha must be from 0 to 1"),
        (4, True, "penalty_alpha must be a number"),
        (4, "0.6", "penalty_alpha must be a number"),
    ],
)
def test_settings_out_of_range_are_refused(top_k, alpha, said):
    with pytest.raises(SettingError, match=said):
        ContrastiveSearch(tiny_models.shared("llama"), PROMPT, top_k, alpha)


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
    with pytest.raises(NotAModelError, match="hidden states"):
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


def test_changed_weight_applies_from_the_next_step():
    search = searched(tiny_models.shared("llama"), 6)
    search.penalty_alpha = 0.1
    twin = search.fork()
    twin.penalty_alpha = 0.0
    step = search.step()
    assert [step.penalty_alpha for step in search.steps] == [0.6] * 6 + [0.1]
    other = ContrastiveSearch(search.model, PROMPT + search.token_ids[:-1], 5, 0.1)
    assert step.token_id == other.step().token_id
    for candidate in step.candidates:
        expected = 0.9 * candidate.probability - 0.1 * candidate.penalty
        assert candidate.score == pytest.approx(expected, abs=1e-12)
    with pytest.raises(SettingError, match="penalty_alpha must be from 0 to 1"):
        search.penalty_alpha = 1.5
    assert search.penalty_alpha == 0.1


@pytest.mark.parametrize(("architecture", "passes"), [("llama", [2, 1, 1]), ("mamba", [6, 5, 5])])
def test_step_counts_the_passes_it_runs(architecture, passes):
    search = ContrastiveSearch(tiny_models.shared(architecture), PROMPT, 5)
    for expected in passes:
        with counted_passes() as counted:
            assert search.step().passes == expected
        assert counted.total == expected


def test_step_matches_the_models_entropy_and_ranking():
    search = searched(tiny_models.shared("llama"), 3)
    decoder = Decoder(search.model, PROMPT)
    for step in search.steps:
        row = decoder.next_distribution().raw
        assert step.model_entropy_bits == pytest.approx(row.entropy_bits, abs=1e-4)
        assert row.rank(step.token_id) == step.chosen + 1
        decoder.step(step.token_id)
