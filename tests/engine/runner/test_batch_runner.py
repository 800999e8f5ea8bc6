"""Rows that are read together, in passes that others can interrupt, with the same logits."""

import threading

import numpy as np
import pytest
import torch

from engine.decoding.batch import Batch, Row
from engine.errors import OutOfMemoryError
from engine.model import LanguageModel
from engine.runner import batch_runner
from engine.runner.batch_runner import BatchRunner, Prompts
from engine.runner.runner import Runner
from engine.runner.scheduler import SCHEDULER, Kind
from tests.engine import tiny_models
from tests.engine.runs import sampling
from tests.engine.twins import is_twin, lone

PROMPT, NEGATIVE = tiny_models.prompt(0, 7), tiny_models.prompt(1, 12)
CLOSE = 1e-4
ROW_BYTES = 2 * 2 * 2 * 8 * 4  # per position: K and V, layers, heads, dim, fp32


@pytest.fixture
def passes(llama) -> list[int]:
    """The number of rows in each forward pass of `llama`."""
    rows = []
    embedding = llama.hf.get_input_embeddings()
    embedding.register_forward_hook(lambda module, inputs, output: rows.append(len(inputs[0])))
    return rows


def prompts(ids: list[int], negative: list[int] | None = None) -> Prompts:
    return Prompts(tuple(ids), None if negative is None else tuple(negative))


def rows_of(runner: BatchRunner) -> list[np.ndarray]:
    """(texts, rows, vocab) logits."""
    return [np.stack(list(logits)) for logits in runner.logits]


def alone(model: LanguageModel, ids: list[int], *tokens: int) -> np.ndarray:
    """(vocab,) logits of a lone text that ends with these tokens, read one by one."""
    runner = Runner(model)
    runner.extend(ids)
    return [runner.extend([token]) for token in tokens][-1].forward.logits


def test_many_rows_are_split_into_equal_passes(llama, passes):
    runner = BatchRunner.prefilled(llama, prompts(PROMPT)).repeated(150)
    passes.clear()
    runner.extend([row % tiny_models.VOCAB for row in range(150)])
    assert runner.rows == 150
    assert passes == [50, 50, 50]
    for row, logits in enumerate(rows_of(runner)[0]):
        if row % 25 == 0:
            expected = alone(llama, PROMPT, row % tiny_models.VOCAB)
            np.testing.assert_allclose(logits, expected, atol=CLOSE)


def test_empty_parts_cost_no_pass_after_rows_end(llama, passes, monkeypatch):
    monkeypatch.setattr(batch_runner, "MOST_AT_ONCE", 4)
    runner = BatchRunner.prefilled(llama, prompts(PROMPT, NEGATIVE)).repeated(10)
    tokens = list(range(10))
    runner.extend(tokens)
    kept = [0, 2, 7, 8, 9]
    runner.keep(kept)
    passes.clear()
    runner.extend([tokens[row] for row in kept])
    assert passes == [2, 2, 3, 3], "the second part has no row left"
    runner.keep([1, 4])
    passes.clear()
    runner.extend([tokens[2], tokens[9]])
    assert passes == [2, 2], "what is left of two parts goes together"
    for logits, ids in zip(rows_of(runner), (PROMPT, NEGATIVE), strict=True):
        for row, token in zip(logits, (2, 9), strict=True):
            np.testing.assert_allclose(row, alone(llama, ids, *[token] * 3), atol=CLOSE)


@pytest.mark.parametrize(("most", "expected"), [(4, [3, 2]), (5, [5])])
def test_joined_rows_share_a_pass_if_they_fit(llama, passes, monkeypatch, most, expected):
    monkeypatch.setattr(batch_runner, "MOST_AT_ONCE", most)
    texts = [PROMPT] * 3 + [tiny_models.prompt(1, len(PROMPT))] * 2
    runner = BatchRunner.prefilled(llama, prompts(texts[0])).repeated(3)
    runner.join(BatchRunner.prefilled(llama, prompts(texts[3])).repeated(2))
    passes.clear()
    runner.extend([1, 2, 3, 4, 5])
    assert passes == expected
    for ids, token, logits in zip(texts, (1, 2, 3, 4, 5), rows_of(runner)[0], strict=True):
        np.testing.assert_allclose(logits, alone(llama, ids, token), atol=CLOSE)


def test_longer_texts_get_fewer_rows_per_pass(llama, passes, monkeypatch):
    monkeypatch.setattr(batch_runner, "LEAST_AT_ONCE", 2)
    # With the prompt and one token 8 rows fit; from three more tokens on, 7.
    monkeypatch.setattr(batch_runner, "CACHE_BYTES", 8 * ROW_BYTES * (len(PROMPT) + 1))
    runner = BatchRunner.prefilled(llama, prompts(PROMPT)).repeated(8)
    passes.clear()
    for token in range(4):
        runner.extend([token] * 8)
    assert passes == [8, 8, 4, 4, 4, 4]
    expected = alone(llama, PROMPT, *range(4))
    for logits in rows_of(runner)[0]:
        np.testing.assert_allclose(logits, expected, atol=CLOSE)


def test_batch_in_several_passes_matches_single_decoders(llama, monkeypatch):
    monkeypatch.setattr(batch_runner, "MOST_AT_ONCE", 3)
    rows = [Row(PROMPT, sampling(seed), 12 - seed) for seed in range(7)]
    batch = Batch(llama, rows)
    for _ in batch.run():
        pass
    assert all(is_twin(text, lone(llama, row)) for row, text in zip(rows, batch.texts, strict=True))


def test_single_step_runs_between_passes_of_a_batch(llama):
    """Check that a request during the first pass is served before the second pass."""
    ran: list[str] = []
    runner = BatchRunner.prefilled(llama, prompts(PROMPT)).repeated(128)

    def step() -> None:
        with SCHEDULER.turn(Kind.STEP):
            ran.append("step")

    visitor = threading.Thread(target=step)

    def begin(module, inputs, output):
        ran.append(f"{len(inputs[0])} rows")
        if len(ran) == 1:
            visitor.start()
            for _ in range(2_000):
                if SCHEDULER.line()["step"]:
                    return
                threading.Event().wait(0.005)
            raise AssertionError("the step should wait")

    llama.hf.get_input_embeddings().register_forward_hook(begin)
    runner.extend([1] * 128)
    visitor.join(10)
    assert ran == ["64 rows", "step", "64 rows"]


def test_reading_rows_gives_way_to_single_steps(llama, monkeypatch):
    runner = BatchRunner.prefilled(llama, prompts(PROMPT)).repeated(3)
    runner.extend([1, 2, 3])
    asked = []
    monkeypatch.setattr(SCHEDULER, "give_way", lambda at_most: asked.append(at_most) or 0.75)
    assert len(list(runner.logits[0])) == 3
    assert asked == [1.0, 0.25, 0.0], "but not for longer than a pass would wait"


def test_out_of_memory_in_one_pass_is_reported(llama, monkeypatch):
    monkeypatch.setattr(batch_runner, "MOST_AT_ONCE", 2)
    runner = BatchRunner.prefilled(llama, prompts(PROMPT)).repeated(4)
    calls = []

    def fail(module, inputs, output):
        calls.append(1)
        if len(calls) == 2:
            raise torch.OutOfMemoryError("CUDA out of memory")

    llama.hf.model.layers[0].register_forward_hook(fail)
    with pytest.raises(OutOfMemoryError, match="2 texts at once"):
        runner.extend([1] * 4)
