"""Batches against lone decoders: every row equals its twin, whatever the other rows do."""

import threading
from itertools import pairwise

import numpy as np
import pytest
import torch

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


@pytest.mark.parametrize(
    "architecture",
    ["llama", "mistral", "bloom", "mamba"]
    + [
        pytest.param(other, marks=pytest.mark.long)
        for other in ARCHITECTURES
        if other not in ("llama", "mistral", "bloom", "mamba")
    ],
)
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
    rows = [Row(PROMPT, sampling(seed, top_k=0, top_p=0.97), 12) for seed in range(16)]

    batch = finished(model, rows)

    same = [is_twin(text, lone(model, row)) for row, text in zip(rows, batch.texts, strict=True)]
    assert sum(same) >= 15, "more texts part from their twins than rounding explains"
    assert len({tuple(text.token_ids) for text in batch.texts}) > 12, "the seeds do not matter"


def test_samplers_see_step_and_text_in_a_batch(llama):
    llama.eos_ids = tuple(range(0, tiny_models.VOCAB, 8))
    chains = [
        {"xtc": Xtc(threshold=0.05, probability=0.5)},
        {"mirostat": Mirostat(tau=3.0)},
        {"min_new_tokens": 9},
        {"repetition_penalty": 1.3, "frequency_penalty": 0.5, "no_repeat_ngram": 2},
    ]
    rows = [Row(PROMPT, SamplingSettings(**one, seed=s), 15) for one in chains for s in range(3)]
    plain = finished(llama, [Row(PROMPT, SamplingSettings(seed=s), 15) for s in range(3)]).texts
    texts = finished(llama, rows, max_rows=5).texts
    assert all(is_twin(text, lone(llama, row)) for row, text in zip(rows, texts, strict=True))
    for place in range(0, len(rows), 3):
        shaped = texts[place : place + 3]
        assert any(a.token_ids != b.token_ids for a, b in zip(shaped, plain, strict=True))


def test_row_does_not_depend_on_the_order(llama):
    rows = mixed_rows()
    together, reverse = finished(llama, rows).texts, finished(llama, rows[::-1]).texts[::-1]
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
    free = finished(model, [Row("the cat", sampling(seed, top_k=0), 40) for seed in range(8)])
    ids = [text.token_ids for text in free.texts]
    model.eos_ids = (next(i for i in ids[0][5:] if i not in ids[0][:5]),)
    string = free.text(1).text[8:11]
    rows = [Row("the cat", sampling(seed, top_k=0), 40 - seed) for seed in range(8)]

    batch = finished(model, rows, stop_strings=[string, "\0never"])

    for row, text in zip(rows, batch.texts, strict=True):
        assert is_twin(text, lone(model, row, [string, "\0never"]))
    assert {"eos", "stop_string", "max_tokens"} == {text.stop_reason for text in batch.texts}


def test_row_ends_when_the_context_is_full():
    model = LanguageModel(tiny_models.build("llama", max_position_embeddings=24))
    rows = [Row(PROMPT, sampling(seed), 100) for seed in range(3)] + [Row(OTHER, GREEDY, 5)]
    texts = finished(model, rows).texts
    assert [text.stop_reason for text in texts] == ["context"] * 3 + ["max_tokens"]
    assert [len(text.records) for text in texts] == [17] * 3 + [5]
    assert all(is_twin(text, lone(model, row)) for row, text in zip(rows, texts, strict=True))


# Rows of several prompts.


@pytest.mark.parametrize(
    ("rows", "together", "expected"),
    [
        # Finished rows drop out.
        (
            [(PROMPT, 1), (PROMPT, 3), (PROMPT, 3), (PROMPT, 6), (PROMPT, 8)],
            5,
            [(1, 7), (4, 1), (4, 1), (2, 1), (2, 1), (2, 1), (1, 1), (1, 1)],
        ),
        # A longer prompt joins when the others reach its length.
        (
            [(OTHER, 3), (PROMPT, 7), (PROMPT, 2)],
            2,
            [(1, 7), (2, 1), *[(1, 1)] * 4, (1, 12), (2, 1), (1, 1)],
        ),
        # Prompts of very different lengths are read in turn.
        ([(PROMPT, 2), (tiny_models.prompt(2, 40), 2)], 1, [(1, 7), (1, 1), (1, 40), (1, 1)]),
    ],
)
def test_passes_read_the_rows_that_run(llama, rows, together, expected):
    passes = []
    hook = llama.hf.get_input_embeddings().register_forward_hook(
        lambda module, inputs, output: passes.append(tuple(inputs[0].shape))
    )
    rows = [Row(prompt, sampling(seed), most) for seed, (prompt, most) in enumerate(rows)]
    batch = finished(llama, rows)
    hook.remove()
    assert passes == expected
    assert batch.rows_together == together and not batch.notices
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


@pytest.mark.parametrize("most", [1, 3])
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
    ("is_shorter", "ends", "error"),
    [
        (True, True, torch.OutOfMemoryError("CUDA out of memory.")),
        (True, False, MemoryError()),
        (False, True, RuntimeError("DefaultCPUAllocator: can't allocate memory: 9 bytes.")),
        (False, False, torch.OutOfMemoryError("CUDA out of memory.")),
    ],
)
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


@pytest.mark.parametrize(
    ("architecture", "most"),
    [("llama", 2), ("mistral", 128), pytest.param("mamba", 128, marks=pytest.mark.long)],
)
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
    assert 0 < done[-1] < sum(row.max_new_tokens for row in rows)
    before = batch.texts
    assert all(text.has_ended or text.stop_reason is None for text in before)
    run = batch.run()
    next(run), next(run)
    run.close()  # the other way to cancel
    for _ in batch.run():
        pass
    for row, text, start in zip(rows, batch.texts, before, strict=True):
        np.testing.assert_array_equal(text.records[: len(start.records)], start.records)
        assert is_twin(text, lone(model, row)), "cancelling changed a text"


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


# Input refused before anything runs.


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        (Row(PROMPT, sampling(0, parity=True)), SettingError, "parity"),
        (Row(PROMPT, sampling(0, top_k=97)), SettingError, "top_k"),
        (Row(PROMPT, sampling(0), 0), SettingError, "max_new_tokens must be at least 1"),
        (Row(PROMPT, sampling(0), 10**9), SettingError, "maximum of 1,000,000 tokens per run"),
        (Row(PROMPT, {"temperature": 1}), SettingError, "SamplingSettings"),
        (Row([], sampling(0)), PromptError, "no token"),
        (Row([1] * tiny_models.CONTEXT, sampling(0)), PromptError, "shorten"),
        (Row(PROMPT, GREEDY, 5, [], 1.5), SettingError, "negative_prompt"),
        (Row(PROMPT, GREEDY, 5, OTHER, -1.0), SettingError, "guidance_scale"),
        (Row(PROMPT, GREEDY, 5, [0] * 500, 1.5), PromptError, "negative prompt"),
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
