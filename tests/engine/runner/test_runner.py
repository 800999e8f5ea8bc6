"""A cached sequence: read in any pieces, rewound, copied, evicted, cancelled, out of memory."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from engine.errors import CancelledError, OutOfMemoryError
from engine.model import LanguageModel
from engine.model.cache_size import cache_size
from engine.runner.job import as_job
from engine.runner.runner import CHUNK, EXACT, LEAST_CHUNK, SHORT, Runner, chunk_of
from engine.runner.scheduler import SCHEDULER, Kind
from tests.engine import tiny_models
from tests.engine.runner.idle import Idle

CLOSE = 1e-4  # largest difference of a logit between two computations
PROMPT = tiny_models.prompt(3, 12)


def uncached(model: LanguageModel, ids: list[int]) -> np.ndarray:
    """(vocab,) logits after a text, without a cache."""
    with torch.inference_mode():
        return model.hf(torch.tensor([ids]), use_cache=False).logits[0, -1].numpy()


@pytest.fixture
def long_model() -> LanguageModel:
    return LanguageModel(tiny_models.build("llama", max_position_embeddings=2048))


def long_prompt(tokens: int) -> list[int]:
    return np.random.default_rng(7).integers(0, tiny_models.VOCAB, tokens).tolist()


def test_long_prompt_is_read_in_reported_chunks(long_model):
    ids = long_prompt(2 * CHUNK + 40)
    told = []
    with as_job(lambda: False, lambda *words: told.append(words)):
        reading = Runner(long_model).extend(ids)
    assert reading.passes == (CHUNK, CHUNK, 40)
    assert reading.is_prefill
    assert told == [("Reading the prompt", done, len(ids)) for done in (CHUNK, 2 * CHUNK, len(ids))]
    np.testing.assert_allclose(reading.forward.logits, uncached(long_model, ids), atol=CLOSE)
    whole = Runner(long_model).extend(ids, parity=True)
    assert whole.passes == (len(ids),)


def test_large_model_uses_smaller_chunks_on_cpu():
    def model(parameters: int, device: str) -> SimpleNamespace:
        return SimpleNamespace(parameters=parameters, device=torch.device(device))

    sizes = [chunk_of(model(parameters, "cpu")) for parameters in (20e6, 100e6, 500e6, 8e9)]
    assert sizes == [CHUNK, CHUNK, CHUNK // 5, LEAST_CHUNK]
    assert chunk_of(model(8e9, "cuda")) == CHUNK


@pytest.mark.parametrize("architecture", ["mamba", "falcon_h1"])
def test_model_that_cannot_chunk_reads_at_once(architecture):
    model = tiny_models.shared(architecture)
    ids = long_prompt(CHUNK + 30)[: (model.context_length or 10_000) - 4]
    runner = Runner(model)
    reading = runner.extend(ids)
    np.testing.assert_allclose(reading.forward.logits, uncached(model, ids), atol=CLOSE)
    later = runner.extend([1, 2, 3])
    expected = uncached(model, [*ids, 1, 2, 3])
    np.testing.assert_allclose(later.forward.logits, expected, atol=CLOSE)
    if model.can_chunk:
        assert later.passes == (3,)
    else:
        assert reading.passes == (len(ids),) and later.passes == (1, 1, 1)


def test_cancelled_prompt_leaves_nothing_and_can_be_reread(long_model):
    ids = long_prompt(3 * CHUNK)
    runner, told = Runner(long_model), []
    with (
        as_job(lambda: len(told) == 2, lambda *words: told.append(words)),
        pytest.raises(CancelledError),
    ):
        runner.extend(ids)
    assert len(told) == 2, "it was cancelled between two chunks"
    assert runner.positions == 0
    reading = runner.extend(ids)
    np.testing.assert_allclose(reading.forward.logits, uncached(long_model, ids), atol=CLOSE)


def test_released_cache_is_rebuilt_in_chunks(long_model, budget):
    prompt, more = long_prompt(20), long_prompt(EXACT + CHUNK)
    runner = Runner(long_model)
    runner.extend(prompt)
    for token_id in more:
        runner.extend([token_id])
    held, twin = runner.usage.held, runner.fork()
    assert held > 0 and runner.release() and twin.release()
    assert runner.cache is None and runner.usage.held == budget.held == 0
    reading = runner.extend([1])
    assert reading.passes == (20, CHUNK, EXACT, 1)
    expected = uncached(long_model, [*prompt, *more, 1])
    np.testing.assert_allclose(reading.forward.logits, expected, atol=CLOSE)

    runner.release()
    told = []
    for chunks, is_whole in ((2, False), (3, True)):
        told.clear()
        with (
            as_job(lambda chunks=chunks: len(told) == chunks, lambda *words: told.append(words)),
            pytest.raises(CancelledError),
        ):
            twin.extend([1])
        assert (twin.cache is not None) == is_whole
    assert [done for _, done, _ in told] == [20, 20 + CHUNK, 20 + CHUNK + EXACT]
    assert held / 2 < twin.usage.held == budget.held, "the rebuilt cache counts"
    reading = twin.extend([1])
    assert reading.passes == (1,)
    np.testing.assert_allclose(reading.forward.logits, expected, atol=CLOSE)


def test_long_beginning_is_rebuilt_in_its_original_passes(long_model):
    for parity, beginning in ((False, (CHUNK, 40)), (True, (CHUNK + 40,))):
        runner = Runner(long_model)
        runner.extend(long_prompt(CHUNK + 40), parity=parity)
        for token_id in long_prompt(EXACT + 1):
            runner.extend([token_id], parity=parity)
        runner.release()
        rest = (1,) * (EXACT + 1) if parity else (EXACT + 1,)
        assert runner.extend([1], parity=parity).passes == (*beginning, *rest, 1)


def test_size_and_budget_follow_every_cache_change(llama, budget):
    def assert_counted(*runners: Runner) -> None:
        for each in runners:
            assert each.usage == cache_size(each.cache)
        assert budget.held == sum(each.usage.held for each in runners) > 0

    runner = Runner(llama)
    runner.extend(long_prompt(40))
    assert_counted(runner)
    runner.truncate(20)
    assert_counted(runner)
    assert runner.usage.logical == runner.formula.bytes_at(20)
    twin = runner.fork()
    assert_counted(runner, twin)
    twin.select([0, 0])
    assert_counted(runner, twin)
    assert twin.usage.logical == 2 * runner.usage.logical
    runner.join(twin)
    assert_counted(runner, twin)
    assert runner.usage.logical == 3 * runner.formula.bytes_at(20)
    twin.distrust()
    assert twin.cache is None and budget.held == runner.usage.held
    runner.read_rows([[1], [2], [3]])
    assert_counted(runner)


@pytest.mark.parametrize("architecture", ["mamba", "mistral"])
def test_uncroppable_cache_rewinds_to_a_snapshot(architecture, budget, monkeypatch):
    monkeypatch.setattr("engine.runner.runner.SNAPSHOT_EVERY", 8)
    ids = [*PROMPT, *long_prompt(5 * 8 + 6)]  # snapshots after 12, 36, 44 and 52: four are kept
    model = tiny_models.shared(architecture)
    runner = Runner(model)
    runner.extend(PROMPT)
    for token_id in ids[len(PROMPT) :]:
        runner.extend([token_id])
    for keep, again in ((56, (1,) * 4), (40, (1,) * 4), (36, ()), (30, (1,) * 18), (5, (5,))):
        runner.truncate(keep)
        assert runner.usage.logical == 0, "the cache is made again when it is needed"
        assert budget.held == runner.usage.held
        assert (runner.usage.held > 0) is (keep != 5), "its snapshots count, if there are any"
        reading = runner.extend([ids[keep]])
        assert reading.passes == (*again, 1)
        assert reading.is_prefill is (keep == 5)
        expected = uncached(model, ids[: keep + 1])
        np.testing.assert_allclose(reading.forward.logits, expected, atol=CLOSE)


def test_reading_is_scheduled_by_its_kind(llama, monkeypatch):
    asked, turn = [], SCHEDULER.turn
    monkeypatch.setattr(SCHEDULER, "turn", lambda kind: asked.append(kind) or turn(kind))

    def kinds(work: Callable[[], object]) -> list[Kind]:
        asked.clear()
        work()
        return asked

    runner = Runner(llama)
    assert kinds(lambda: runner.extend(long_prompt(SHORT + 1))) == [Kind.PREFILL]
    assert kinds(lambda: runner.extend(long_prompt(SHORT))) == [Kind.STEP]
    assert kinds(lambda: runner.select([0, 0])) == [Kind.BATCH]
    assert kinds(lambda: runner.read_rows([[1], [2]])) == [Kind.BATCH]


@pytest.mark.parametrize("architecture", ["llama", "gpt2", "bloom", "mistral"])
def test_selected_rows_are_independent_texts(architecture):
    model = tiny_models.shared(architecture)
    runner = Runner(model)
    runner.extend(PROMPT)
    rows = runner.fork()
    rows.select([0, 0, 0])
    rows.read_rows([[1], [2], [3]])
    rows.select([2, 0])
    logits, states = rows.read_rows([[4], [5]], hidden_states=True)
    assert states.shape[:2] == (2, 1)
    for found, ids in zip(logits, ([*PROMPT, 3, 4], [*PROMPT, 1, 5]), strict=True):
        np.testing.assert_allclose(found, uncached(model, ids), atol=CLOSE)
    rows.truncate(len(PROMPT) + 1)
    rows.release()
    logits, _ = rows.read_rows([[6], [7]])
    for found, ids in zip(logits, ([*PROMPT, 3, 6], [*PROMPT, 1, 7]), strict=True):
        np.testing.assert_allclose(found, uncached(model, ids), atol=CLOSE)
    found = runner.extend([9]).forward.logits
    np.testing.assert_allclose(found, uncached(model, [*PROMPT, 9]), atol=CLOSE)


@pytest.mark.parametrize("architecture", ["llama", "gpt2", "bloom", "mistral"])
def test_joined_rows_continue_as_independent_texts(architecture):
    model = tiny_models.shared(architecture)
    texts = [tiny_models.prompt(seed, 12) for seed in range(2)]
    runner, other = Runner(model), Runner(model)
    runner.extend(texts[0][:8])
    runner.extend(texts[0][8:])
    runner.select([0, 0])
    other.extend(texts[1])
    assert runner.can_join(other)
    runner.join(other)
    assert runner.rows == 3
    wanted = [[*texts[0], 1], [*texts[0], 2], [*texts[1], 3]]
    runner.release()  # the cache is rebuilt for several pasts
    logits, _ = runner.read_rows([[1], [2], [3]])
    for found, ids in zip(logits, wanted, strict=True):
        np.testing.assert_allclose(found, uncached(model, ids), atol=CLOSE)
    runner.select([2, 1])
    logits, _ = runner.read_rows([[4], [5]])
    for found, ids in zip(logits, ([*wanted[2], 4], [*wanted[1], 5]), strict=True):
        np.testing.assert_allclose(found, uncached(model, ids), atol=CLOSE)
    found = other.extend([9]).forward.logits
    np.testing.assert_allclose(found, uncached(model, [*texts[1], 9]), atol=CLOSE)
    assert not runner.can_join(other), "the other is at the same length no longer"


def test_recurrent_states_cannot_be_joined():
    model = tiny_models.shared("mamba")
    runner, other = Runner(model), Runner(model)
    for each in (runner, other):
        each.extend(PROMPT)
    assert not runner.can_join(other)
    assert not runner.can_join(Runner(model)), "nothing has been read there"


@pytest.mark.parametrize("architecture", ["llama", "mistral"])
def test_rows_are_unchanged_after_running_out_of_memory(architecture, budget, monkeypatch):
    model = LanguageModel(tiny_models.build(architecture, num_hidden_layers=3))
    runner, idle = Runner(model), Runner(model)
    for each in (runner, idle):
        each.extend(PROMPT)
    runner.select([0, 0])
    runner.read_rows([[1], [2]])
    layer, select = type(runner.cache.layers[1]), type(runner.cache.layers[1]).batch_select_indices

    def fails(self, indices):
        if self is second:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        select(self, indices)

    second = runner.cache.layers[1]
    with monkeypatch.context() as patch:
        patch.setattr(layer, "batch_select_indices", fails)
        with pytest.raises(OutOfMemoryError, match="with 3 texts at once"):
            runner.select([1, 0, 1])
    assert idle.cache is None, "idle caches were given back"
    assert runner.rows == 2
    logits, _ = runner.read_rows([[4], [5]])
    for found, ids in zip(logits, ([*PROMPT, 1, 4], [*PROMPT, 2, 5]), strict=True):
        np.testing.assert_allclose(found, uncached(model, ids), atol=CLOSE)


def failing(model: LanguageModel, times: int, error: BaseException) -> None:
    """Make the next `times` passes fail after they have changed the cache."""
    forward, left = model.hf.forward, [times]

    def fail(*args, **kwargs):
        output = forward(*args, **kwargs)
        if left[0]:
            left[0] -= 1
            raise error
        return output

    model.hf.forward = fail


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: not enough memory"),
    ],
)
def test_pass_is_retried_after_releasing_idle_caches(llama, budget, error):
    expected = uncached(llama, [*PROMPT, 1])
    runner, idle = Runner(llama), Idle()
    runner.extend(PROMPT)
    budget.used(idle, 1_000)
    failing(llama, 1, error)
    reading = runner.extend([1])
    assert idle.released
    assert reading.passes == (len(PROMPT), 1), "the cache was half updated and is made again"
    np.testing.assert_allclose(reading.forward.logits, expected, atol=CLOSE)


@pytest.mark.parametrize("architecture", ["llama", "mistral"])
def test_rows_are_rebuilt_after_running_out_of_memory(architecture, budget, monkeypatch):
    """Include Mistral: its window forgets, so the past comes from a snapshot of its one row."""
    monkeypatch.setattr("engine.runner.runner.SNAPSHOT_EVERY", 1)
    model = LanguageModel(tiny_models.build(architecture))
    runner, texts = Runner(model), [[*PROMPT] for _ in range(3)]
    runner.extend(PROMPT)
    runner.select([0, 0, 0])
    for first in (0, 3):
        idle = Idle()
        budget.used(idle, 1_000)
        failing(model, 1, RuntimeError("out of memory"))
        for place, text in enumerate(texts):
            text.append(first + place)
        logits, _ = runner.read_rows([text[-1:] for text in texts], tries=2)
        assert idle.released
        expected = [uncached(model, text) for text in texts]
        np.testing.assert_allclose(logits, expected, atol=CLOSE)


def test_failed_retry_is_reported_and_text_can_continue(llama, budget):
    expected = uncached(llama, [*PROMPT, 1])
    runner, idle = Runner(llama), Idle()
    runner.extend(PROMPT)
    budget.used(idle, 1_000)
    failing(llama, 2, RuntimeError("out of memory"))
    with pytest.raises(OutOfMemoryError, match="ran out of memory"):
        runner.extend([1])
    assert runner.positions == len(PROMPT)
    np.testing.assert_allclose(runner.extend([1]).forward.logits, expected, atol=CLOSE)
    failing(llama, 1, RuntimeError("out of memory"))
    with pytest.raises(OutOfMemoryError):  # there is nothing to free
        runner.extend([2])


def test_other_failure_does_not_release_memory(llama, budget):
    runner, idle = Runner(llama), Idle()
    runner.extend(PROMPT)
    budget.used(idle, 1_000)
    failing(llama, 1, RuntimeError("sizes do not match"))
    with pytest.raises(RuntimeError, match="sizes do not match"):
        runner.extend([1])
    assert not idle.released
    assert runner.cache is None, "a cache that may be half updated is not gone on with"
    runner.extend([1])
