"""Batches against lone decoders: every row equals its twin, whatever the other rows do."""

import threading
from itertools import pairwise

import numpy as np
import pytest
import torch

from engine.decoder import Decoder
from engine.decoding.batch import Batch, Row
from engine.errors import PromptError, SettingError
from engine.model import LanguageModel
from engine.model.growing_cache import room_for
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Mirostat, Xtc
from tests.engine import tiny_models
from tests.engine.runs import GREEDY, sampling
from tests.engine.tiny_models import ARCHITECTURES, RECURRENT
from tests.engine.twins import finished, is_twin, lone

TOKENS = 14  # after either prompt, past the window of the sliding architectures
PROMPT, OTHER = tiny_models.prompt(0, 7), tiny_models.prompt(1, 12)


def mixed_rows(tokens: int = TOKENS) -> list[Row]:
    """Two prompts of different lengths, several chains, seeds and limits, in mixed order."""
    return [
        Row(PROMPT, sampling(1), tokens),
        Row(OTHER, sampling(1), tokens),
        Row(PROMPT, GREEDY, tokens),
        Row(PROMPT, sampling(1, temperature=1.5, top_k=0, top_p=1.0), tokens - 7),
        Row(OTHER, sampling(2, min_p=0.05, repetition_penalty=1.5), 1),
        Row(PROMPT, SamplingSettings(seed=3), tokens),
    ]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_row_equals_a_lone_decoder(architecture):
    model = tiny_models.shared(architecture)
    rows = mixed_rows()

    batch = finished(model, rows)

    for row, text in zip(rows, batch.texts, strict=True):
        assert is_twin(text, lone(model, row)), f"{row.settings} gave another text"
    if architecture in RECURRENT:
        assert batch.rows_together == 1
        assert len(batch.notices) == 1 and "one by one" in batch.notices[0]
    else:
        assert batch.rows_together == 6 and not batch.notices


def test_rows_of_many_seeds_match_lone_decoders():
    model = tiny_models.shared("qwen3", 3)
    rows = [Row(PROMPT, sampling(seed, top_k=0, top_p=0.97), 12) for seed in range(60)]

    batch = finished(model, rows)

    same = [is_twin(text, lone(model, row)) for row, text in zip(rows, batch.texts, strict=True)]
    assert sum(same) >= 59, "more texts part from their twins than rounding explains"
    assert len({tuple(text.token_ids) for text in batch.texts}) > 55, "the seeds do not matter"


@pytest.mark.parametrize(
    "stages",
    [
        {"xtc": Xtc(threshold=0.05, probability=0.5)},
        {"mirostat": Mirostat(tau=3.0)},
        {"min_new_tokens": 9},
        {"repetition_penalty": 1.3, "frequency_penalty": 0.5, "no_repeat_ngram": 2},
    ],
    ids=lambda stages: next(iter(stages)),
)
def test_samplers_see_step_and_text_in_a_batch(llama, stages):
    llama.eos_ids = tuple(range(0, tiny_models.VOCAB, 8))
    rows = [Row(PROMPT, SamplingSettings(**stages, seed=seed), 15) for seed in range(8)]
    plain = [Row(PROMPT, SamplingSettings(seed=seed), 15) for seed in range(8)]
    texts = finished(llama, rows, max_rows=5).texts
    assert all(is_twin(text, lone(llama, row)) for row, text in zip(rows, texts, strict=True))
    unshaped = finished(llama, plain).texts
    assert any(a.token_ids != b.token_ids for a, b in zip(texts, unshaped, strict=True))


def test_a_row_does_not_depend_on_the_others(llama):
    rows = mixed_rows()
    together = finished(llama, rows).texts
    for row, text in zip(rows, together, strict=True):
        alone = finished(llama, [row]).text(0)
        assert alone.token_ids == text.token_ids
    reverse = finished(llama, rows[::-1]).texts[::-1]
    assert [text.token_ids for text in reverse] == [text.token_ids for text in together]


def test_single_row_matches_its_decoder_exactly(llama):
    row = Row(PROMPT, sampling(5), TOKENS)
    text, decoder = finished(llama, [row]).text(0), lone(llama, row)
    assert text.token_ids == decoder.token_ids
    assert text.records["logprob"].tolist() == [step.logprob for step in decoder.steps]
    assert text.records["probability"].tolist() == [step.probability for step in decoder.steps]


def test_a_missing_seed_is_chosen_and_recorded(llama):
    rows = [Row(PROMPT, sampling(0).replace(seed=None), 8)] * 3
    texts = finished(llama, rows).texts
    assert len({text.settings.seed for text in texts}) == 3
    for text in texts:
        assert is_twin(text, lone(llama, Row(PROMPT, text.settings, 8)))


# Reasons to end a row.


def test_rows_end_by_different_rules_in_one_batch(text_hf, tokenizer):
    model = LanguageModel(text_hf, tokenizer)
    model.eos_ids = ()
    free = finished(model, [Row("the cat", sampling(seed, top_k=0), 40) for seed in range(12)])
    ids = [text.token_ids for text in free.texts]
    model.eos_ids = (next(i for i in ids[0][5:] if i not in ids[0][:5]),)
    string = free.text(1).text[8:11]
    rows = [Row("the cat", sampling(seed, top_k=0), 40 - seed) for seed in range(12)]

    batch = finished(model, rows, stop_strings=[string, "\0never"])

    for row, text in zip(rows, batch.texts, strict=True):
        assert is_twin(text, lone(model, row, [string, "\0never"]))
    assert {"eos", "stop_string", "max_tokens"} == {text.stop_reason for text in batch.texts}


@pytest.mark.parametrize("architecture", ["llama", "opt", "mistral", "gpt2"])
def test_row_ends_when_the_context_is_full(architecture):
    changes = {"n_positions": 24} if architecture == "gpt2" else {"max_position_embeddings": 24}
    model = LanguageModel(tiny_models.build(architecture, **changes))
    rows = [Row(PROMPT, sampling(seed), 100) for seed in range(3)] + [Row(OTHER, GREEDY, 5)]
    texts = finished(model, rows).texts
    assert [text.stop_reason for text in texts] == ["context"] * 3 + ["max_tokens"]
    assert [len(text.records) for text in texts] == [17] * 3 + [5]
    assert all(is_twin(text, lone(model, row)) for row, text in zip(rows, texts, strict=True))


def test_finished_rows_drop_out_of_later_passes(llama):
    sizes = []
    llama.hf.get_input_embeddings().register_forward_hook(
        lambda module, inputs, output: sizes.append(tuple(inputs[0].shape))
    )
    limits = [1, 3, 3, 6, 8]
    finished(llama, [Row(PROMPT, sampling(i), limit) for i, limit in enumerate(limits)])
    assert sizes == [(1, 7), (4, 1), (4, 1), (2, 1), (2, 1), (2, 1), (1, 1), (1, 1)]


# Rows of several prompts.


def test_longer_prompt_joins_when_others_reach_its_length(llama):
    passes = []
    llama.hf.get_input_embeddings().register_forward_hook(
        lambda module, inputs, output: passes.append(tuple(inputs[0].shape))
    )
    rows = [Row(OTHER, sampling(1), 3), Row(PROMPT, sampling(2), 7), Row(PROMPT, sampling(3), 2)]
    batch = finished(llama, rows)
    assert passes == [(1, 7), (2, 1), *[(1, 1)] * 4, (1, 12), (2, 1), (1, 1)]
    assert batch.rows_together == 2
    assert all(is_twin(text, lone(llama, row)) for row, text in zip(rows, batch.texts, strict=True))


def test_prompts_of_very_different_lengths_run_in_turn(llama):
    rows = [Row(PROMPT, sampling(1), 3), Row(tiny_models.prompt(2, 40), sampling(2), 3)]
    batch = finished(llama, rows)
    assert batch.rows_together == 1 and not batch.notices
    assert all(is_twin(text, lone(llama, row)) for row, text in zip(rows, batch.texts, strict=True))


def test_unjoinable_caches_are_read_in_turn(llama, monkeypatch):
    monkeypatch.setattr("engine.model.cache.can_join", lambda cache, other: False)
    rows = mixed_rows()
    batch = finished(llama, rows)
    assert batch.rows_together == 6
    assert all(is_twin(text, lone(llama, row)) for row, text in zip(rows, batch.texts, strict=True))


def test_prompt_waits_when_memory_is_short(llama, monkeypatch):
    rows = [Row(PROMPT, sampling(1), 8), Row(OTHER, sampling(2), 8), Row(PROMPT, sampling(3), 8)]
    twins = [lone(llama, row) for row in rows]
    forward, failed = llama.hf.forward, []

    def fail(*args, **kwargs):
        if kwargs["input_ids"].shape[1] == len(OTHER) and len(failed) < 2:
            failed.append(1)  # and again after idle caches were released
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(*args, **kwargs)

    monkeypatch.setattr(llama.hf, "forward", fail)
    batch = finished(llama, rows)
    assert failed and batch.rows_together == 2
    assert all(map(is_twin, batch.texts, twins))


# Parts, memory, failures.


@pytest.mark.parametrize("most", [1, 2, 3])
def test_rows_beyond_max_rows_run_in_parts(llama, most):
    rows = [Row(PROMPT, sampling(seed), 10) for seed in range(7)]
    batch = finished(llama, rows, max_rows=most)
    assert batch.rows_together == most
    assert all(is_twin(text, lone(llama, row)) for row, text in zip(rows, batch.texts, strict=True))


def bytes_per_row(llama: LanguageModel) -> int:
    """Bytes allowed for a text of 7 + 10 tokens: twice the cache with its room, and its logits."""
    held = 2 * 2 * 2 * 8 * 4 * room_for(17)  # layers, K and V, heads, dim, fp32, positions
    return 2 * held + 16 * llama.vocab_size


def test_cache_memory_limits_a_pass_with_a_notice(llama, budget):
    rows = [Row(PROMPT, sampling(seed), 10) for seed in range(6)]
    per_row = bytes_per_row(llama)
    budget.limit = 4 * per_row + per_row // 2
    batch = finished(llama, rows)
    assert batch.rows_together == 4
    assert len(batch.notices) == 1 and "holds 4 texts of 10 new tokens" in batch.notices[0]
    budget.limit = 1
    assert finished(llama, rows).rows_together == 1, "one text is always tried"


def test_concurrent_batches_share_the_cache_memory(llama, budget):
    def batch(seeds: range) -> Batch:
        return Batch(llama, [Row(PROMPT, sampling(seed), 10) for seed in seeds])

    per_row = bytes_per_row(llama)
    budget.limit = 5 * per_row
    first, second, third = batch(range(3)), batch(range(6)), batch(range(6))
    runs = [first.run(), second.run(), third.run()]
    for run in runs:
        next(run), next(run)
    widths = [one.rows_together for one in (first, second, third)]
    assert widths == [3, 2, 1], "each takes of the limit what those before it have left"
    for run in runs:
        run.close()
    assert finished(llama, [Row(PROMPT, sampling(s), 10) for s in range(9)]).rows_together == 5


def break_passes(model: LanguageModel, wider_than: int, after: int = 0) -> None:
    """After `after` passes, fail those over more than `wider_than` rows, as on a full GPU."""
    passes = []

    def fail(module, inputs, output):
        passes.append(inputs[0].shape[0])
        if inputs[0].shape[0] > wider_than and len(passes) > after:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB")

    # After the first layer: its cache has been updated by then, the second layer's has not.
    model.hf.model.layers[0].register_forward_hook(fail)


@pytest.mark.parametrize("after", [0, 6], ids=["at once", "in the middle"])
def test_out_of_memory_halves_rows_per_pass(llama, after):
    rows = [Row(PROMPT, sampling(seed), 10) for seed in range(9)]
    twins = [lone(llama, row) for row in rows]
    break_passes(llama, 3, after)

    batch = finished(llama, rows)

    assert all(map(is_twin, batch.texts, twins)), "splitting changed a text"
    assert [notice.split(" with ", 1)[1] for notice in batch.notices] == [
        "9 texts at once, so they went on with 4 at a time.",
        "4 texts at once, so they went on with 2 at a time.",
    ]
    assert all("out of memory" in notice for notice in batch.notices)


def test_row_too_large_for_memory_keeps_its_tokens(llama):
    rows = [Row(PROMPT, sampling(0), 5)]
    break_passes(llama, 0, after=3)  # the prefill and two tokens succeed
    text = finished(llama, rows).text(0)
    assert text.stop_reason is None and "out of memory" in str(text.error)
    assert len(text.records) == 3


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory."),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."),
        MemoryError(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("ends", [True, False], ids=["others end early", "others run on"])
@pytest.mark.parametrize("is_shorter", [True, False], ids=["it begins", "it joins"])
def test_progress_counts_rows_that_run_out_of_memory(llama, monkeypatch, error, ends, is_shorter):
    first, other = PROMPT, tiny_models.prompt(3, 20)  # the shorter one is read first
    if not is_shorter:
        first, other = other, first
    rows = [Row(first, sampling(seed), 8) for seed in range(3)]
    rows += [Row(other, sampling(seed), 8) for seed in range(3)]
    if ends:
        llama.eos_ids = tuple({lone(llama, row).token_ids[2] for row in rows[3:]})
    twins = [lone(llama, row) for row in rows[3:]]
    forward = llama.hf.forward

    def fail(*args, **kwargs):
        if kwargs["input_ids"].shape[1] == len(first):
            raise error
        return forward(*args, **kwargs)

    monkeypatch.setattr(llama.hf, "forward", fail)
    batch = Batch(llama, rows)
    for progress in batch.run():
        assert 0 <= progress.tokens_done <= progress.tokens_at_most
        assert progress.seconds_left is None or progress.seconds_left >= 0
        assert 0 <= progress.rows_done <= progress.rows == 6
    assert progress.rows_done == 6 and batch.is_done
    assert progress.tokens_done == progress.tokens_at_most
    for place in range(3):
        assert "ran out of memory" in str(batch.text(place).error)
    assert all(map(is_twin, batch.texts[3:], twins))


def test_other_failures_are_not_reported_as_memory_errors(llama):
    def fail(module, inputs, output):
        if inputs[0].shape[0] > 1:
            raise RuntimeError("sizes do not match")

    llama.hf.model.layers[0].register_forward_hook(fail)
    with pytest.raises(RuntimeError, match="sizes do not match"):
        finished(llama, [Row(PROMPT, sampling(seed), 5) for seed in range(2)])


def test_nan_row_ends_without_affecting_others(llama):
    rows = [Row(PROMPT, sampling(seed), 8) for seed in range(4)]
    twins = [lone(llama, row) for row in rows]

    def spoil(module, inputs, output):
        if len(output) == 4:
            output[2] = torch.nan
        return output

    llama.hf.get_output_embeddings().register_forward_hook(spoil)
    batch = finished(llama, rows)

    assert "NaN" in str(batch.text(2).error) and len(batch.text(2).records) == 1
    assert len(batch.notices) == 1 and "NaN" in batch.notices[0]
    for place in (0, 1, 3):
        assert is_twin(batch.text(place), twins[place]), "a spoilt row changed another one"


# Progress and cancelling.


@pytest.mark.parametrize("most", [2, 128])
@pytest.mark.parametrize("architecture", ["llama", "mistral", "mamba"])
def test_cancelled_batch_keeps_its_tokens_and_resumes(architecture, most):
    model = tiny_models.shared(architecture)
    rows = mixed_rows(20)  # so that four cancels leave something to do
    batch = Batch(model, rows, max_rows=most)
    cancel = threading.Event()
    for _ in range(4):
        cancel.clear()
        done = []
        for progress in batch.run(cancel):
            assert not cancel.is_set(), "it went on after the cancel"
            done.append(progress.tokens_done)
            if len(done) == 6:
                cancel.set()
        so_far = [len(text.records) for text in batch.texts]
        assert sum(so_far) == done[-1]
    assert 0 < done[-1] < sum(row.max_tokens for row in rows)
    before = [text.token_ids for text in batch.texts]
    run = batch.run()
    next(run), next(run)
    run.close()  # the other way to cancel
    for _ in batch.run():
        pass
    for row, text, start in zip(rows, batch.texts, before, strict=True):
        assert text.token_ids[: len(start)] == start
        assert is_twin(text, lone(model, row)), "cancelling changed a text"


def test_unfinished_text_is_a_prefix_without_stop_reason(llama):
    batch = Batch(llama, [Row(PROMPT, sampling(0), 10)])
    run = batch.run()
    for _ in range(4):
        next(run)
    half = batch.text(0)
    run.close()
    whole = finished(llama, [Row(PROMPT, sampling(0), 10)]).text(0)
    assert half.stop_reason is None and not half.has_ended and len(half.records) == 3
    np.testing.assert_array_equal(half.records, whole.records[:3])


def test_progress_counts_rows_and_tokens(llama):
    rows = mixed_rows()
    progress = list(Batch(llama, rows).run())
    assert (progress[0].rows_done, progress[0].tokens_done) == (0, 0)
    assert progress[0].rows == len(rows) and progress[0].tokens_at_most == 5 * TOKENS - 7 + 1
    assert progress[-1].rows_done == len(rows)
    assert progress[-1].tokens_done == progress[-1].tokens_at_most
    assert progress[0].seconds_left is None and progress[-1].seconds_left == 0
    for earlier, later in pairwise(progress):
        assert 0 < later.tokens_done - earlier.tokens_done <= len(rows)
        assert later.seconds >= earlier.seconds


def test_early_ends_lower_the_remaining_estimate(llama):
    llama.eos_ids = tuple(range(0, tiny_models.VOCAB, 5))
    rows = [Row(PROMPT, sampling(seed), 100) for seed in range(60)]
    progress = list(Batch(llama, rows, max_rows=20).run())
    half = next(p for p in progress if p.rows_done >= 30)
    total = progress[-1].tokens_done
    assert total < half.tokens_at_most / 5, "too few texts end early to prove anything"
    assert half.tokens_at_most < progress[0].tokens_at_most
    rate = half.seconds / half.tokens_done
    assert half.seconds_left == pytest.approx(rate * (half.tokens_at_most - half.tokens_done))


def test_batch_allows_one_run_at_a_time(llama):
    batch = Batch(llama, [Row(PROMPT, sampling(0), 10)])
    run = batch.run()
    next(run)
    with pytest.raises(RuntimeError, match="already running"):
        next(batch.run())
    run.close()
    for _ in batch.run():
        pass
    assert batch.is_done and next(batch.run()).rows_done == 1, "nothing is left to do"


def test_other_decoders_step_during_a_batch(llama):
    rows = [Row(PROMPT, sampling(seed), 10) for seed in range(3)]
    twins = [lone(llama, row) for row in rows]
    batch, decoder = Batch(llama, rows), Decoder(llama, OTHER, sampling(9))
    for _ in batch.run():
        if len(decoder.steps) < 10:
            decoder.step()
    assert all(map(is_twin, batch.texts, twins))
    assert decoder.token_ids == lone(llama, Row(OTHER, sampling(9), 10)).token_ids


# Input refused before anything runs.


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        (Row(PROMPT, sampling(0, parity=True)), SettingError, "parity"),
        (Row(PROMPT, sampling(0, top_k=97)), SettingError, "top_k"),
        (Row(PROMPT, sampling(0), 0), SettingError, "max_tokens must be at least 1"),
        (Row(PROMPT, sampling(0), 2.5), SettingError, "whole number"),
        (Row(PROMPT, sampling(0), 10**9), SettingError, "longest run"),
        (Row(PROMPT, {"temperature": 1}), SettingError, "SamplingSettings"),
        (Row([], sampling(0)), PromptError, "no token"),
        (Row([1, 96], sampling(0)), PromptError, "ids 0 to 95"),
        (Row(5, sampling(0)), PromptError, "row of token ids"),
        (Row([1] * tiny_models.CONTEXT, sampling(0)), PromptError, "shorten"),
    ],
)
def test_rows_are_checked_before_anything_runs(row, error, words):
    with pytest.raises(error, match=words):
        Batch(tiny_models.shared("llama"), [Row(PROMPT, sampling(0)), row])


def test_invalid_max_rows_and_stop_strings_are_refused(llama):
    with pytest.raises(SettingError, match="max_rows"):
        Batch(llama, [], max_rows=0)
    with pytest.raises(SettingError, match="stop_strings"):
        Batch(llama, [], stop_strings=[""])
    assert [p.rows for p in Batch(llama, []).run()] == [0], "no rows, nothing to do"
