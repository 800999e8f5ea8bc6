"""A record's memory: counted, released, limited, and the record when memory runs out."""

import gc
import threading
import weakref

import numpy as np
import pytest
import torch

from engine.decoder import Decoder
from engine.decoding import record, row_file
from engine.errors import OutOfMemoryError, RecordError
from engine.runner.budget import MemoryBudget
from tests.engine import tiny_models
from tests.engine.runs import finished, rows, sampling

TOKENS = 20
PROMPT = tiny_models.prompt(1)
ROW = tiny_models.VOCAB * 4  # bytes in float32
HIDDEN = tiny_models.HIDDEN * 4


@pytest.fixture
def budget(monkeypatch) -> MemoryBudget:
    """A budget only for records, without a limit at first."""
    own = MemoryBudget(2**50)
    monkeypatch.setattr(record, "budget_of", lambda device: own)
    return own


def text(architecture: str = "llama", tokens: int = TOKENS) -> Decoder:
    return finished(Decoder(tiny_models.shared(architecture), PROMPT, sampling(1)), tokens)


def guided(tokens: int = TOKENS) -> Decoder:
    model = tiny_models.shared("llama")
    return finished(Decoder(model, PROMPT, sampling(1), guidance_scale=1.5), tokens)


def test_rows_and_hidden_states_are_counted(budget):
    decoder = text()
    assert budget.held == TOKENS * (ROW + HIDDEN)
    decoder.rewind(5)
    assert budget.held == 5 * (ROW + HIDDEN)
    finished(decoder, 6)
    assert budget.held == 6 * (ROW + HIDDEN)
    twin = decoder.fork()
    assert budget.held == 2 * 6 * (ROW + HIDDEN)
    del twin
    gc.collect()
    assert budget.held == 6 * (ROW + HIDDEN)
    stored = text("gemma2")  # the recent rows; all are in a file too
    assert budget.held == 6 * (ROW + HIDDEN) + TOKENS * ROW
    del decoder, stored
    gc.collect()
    assert budget.held == 0


def test_recent_rows_have_a_limit(budget, monkeypatch):
    monkeypatch.setattr(record, "RECENT_BYTES", 3 * ROW)
    decoder = text()
    assert budget.held == 3 * ROW + TOKENS * HIDDEN
    live = rows(decoder)
    decoder.rewind(5)
    finished(decoder, 15)
    assert budget.held <= 3 * ROW + 15 * HIDDEN
    assert np.array_equal(rows(decoder), live[:15])


@pytest.mark.parametrize(("make", "hidden"), [(text, 1), (guided, 2), (lambda: text("gemma2"), 0)])
def test_released_rows_come_back_bit_for_bit(budget, make, hidden):
    decoder = make()
    live = rows(decoder)
    assert decoder.release_rows()
    assert budget.held == hidden * TOKENS * HIDDEN
    assert np.array_equal(rows(decoder), live)
    finished(decoder, TOKENS + 3)
    assert np.array_equal(rows(decoder)[:TOKENS], live)


def test_least_recent_text_releases_rows_over_budget(budget):
    first, second = text(), text()
    budget.limit = budget.held
    finished(second, TOKENS + 1)
    of_second = (TOKENS + 1) * (ROW + HIDDEN)
    assert budget.held == TOKENS * HIDDEN + of_second
    del first
    gc.collect()
    assert budget.held == of_second


def test_readers_and_budget_never_deadlock(budget):
    decoders = [text(tokens=6) for _ in range(3)]
    live = rows(decoders[0])
    budget.limit = 1
    wrong, ended = [], threading.Event()

    def read(decoder: Decoder) -> None:
        for index in range(150):
            place = index % 5  # the sixth step may be rewound at any moment
            if not np.array_equal(decoder.logits(place), live[place]):
                wrong.append(index)

    def take() -> None:
        while not ended.is_set():
            budget.make_room()

    def step(decoder: Decoder) -> None:
        for _ in range(20):
            decoder.rewind(5)
            decoder.step()

    taking = threading.Thread(target=take, daemon=True)
    work = [
        threading.Thread(target=does, args=(decoder,), daemon=True)
        for decoder in decoders
        for does in (read, step)
        if does is step or decoder is decoders[0]
    ]
    for thread in (taking, *work):
        thread.start()
    for thread in work:
        thread.join(60)
        assert not thread.is_alive(), "a reader waits for ever"
    ended.set()
    taking.join(60)
    assert not wrong


# --- hidden states --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [lambda tokens=TOKENS: text(tokens=tokens), guided], ids=["text", "guided"]
)
def test_hidden_states_over_the_limit_move_to_file(monkeypatch, budget, make):
    monkeypatch.setattr(record, "RECENT_BYTES", 0)
    live = rows(make())
    monkeypatch.setattr(record, "HIDDEN_BYTES", 6 * HIDDEN)
    decoder = make(6)
    for _ in range(6, TOKENS):
        decoder.step()
        held = budget.held - ROW  # the newest row always stays
        assert 3 * HIDDEN <= held <= 8 * HIDDEN, "the older half goes, and no more"
    assert np.array_equal(rows(decoder), live)
    twin = decoder.fork()
    assert np.array_equal(rows(decoder), live)
    decoder.rewind(2)
    finished(decoder, TOKENS)
    assert np.array_equal(rows(decoder), live)
    assert np.array_equal(rows(twin), live)


def test_bf16_hidden_states_survive_the_file_exactly(monkeypatch):
    monkeypatch.setattr(record, "RECENT_BYTES", 0)
    model = tiny_models.shared("llama", dtype=torch.bfloat16)
    assert model.replays_exactly
    lone = rows(finished(Decoder(model, PROMPT, sampling(1)), TOKENS))
    monkeypatch.setattr(record, "HIDDEN_BYTES", 0)
    assert np.array_equal(rows(finished(Decoder(model, PROMPT, sampling(1)), TOKENS)), lone)


def test_hidden_states_move_to_host_memory(monkeypatch, llama):
    asked, to = [], torch.Tensor.to

    def noted(tensor, *places, **options):
        asked.extend(place for place in places if isinstance(place, torch.device))
        return to(tensor, *places, **options)

    monkeypatch.setattr(torch.Tensor, "to", noted)
    Decoder(llama, PROMPT, sampling(1)).step()
    assert torch.device("cpu") in asked


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "size"), [(torch.float32, ROW), (torch.bfloat16, ROW // 2)])
def test_rows_of_a_text_have_a_disk_limit(monkeypatch, dtype, size):
    model = tiny_models.shared("gemma2", dtype=dtype)
    lone = finished(Decoder(model, PROMPT, sampling(1)), 12)
    monkeypatch.setattr(row_file, "MOST_BYTES", 10 * size)
    decoder = finished(Decoder(model, PROMPT, sampling(1)), 10)
    for _ in range(2):
        with pytest.raises(
            RecordError, match=r"^The logits of this text take .* at most .* is allowed"
        ):
            decoder.step()
    assert decoder.token_ids == lone.token_ids[:10]
    for _ in range(5):  # going back, as the error message suggests, frees the space
        decoder.rewind(7)
        finished(decoder, 10)
    live = rows(decoder)
    assert decoder.release_rows()
    assert np.array_equal(rows(decoder), live) and np.array_equal(live, rows(lone)[:10])
    monkeypatch.setattr(row_file, "MOST_BYTES", 12 * size)
    assert np.array_equal(rows(finished(decoder, 12)), rows(lone))


def test_rows_of_all_texts_share_a_disk_limit(monkeypatch):
    gc.collect()
    kept = text("gemma2", 5)
    row_file._take(0)
    monkeypatch.setattr(row_file, "MOST_BYTES_OF_ALL", row_file._written + 10 * ROW)
    other = text("gemma2", 8)
    finished(kept, 7)
    with pytest.raises(RecordError, match=r"^The logits of all texts take .* close other texts"):
        kept.step()
    assert len(kept.steps) == 7
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None
    finished(kept, 12)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_row_file_closes_quietly_at_interpreter_exit(monkeypatch):
    """Simulate interpreter exit, which clears modules before texts that are still referenced."""
    file = row_file.RowFile()
    monkeypatch.setattr(row_file, "_ended", None)
    del file
    gc.collect()


# --- out of memory --------------------------------------------------------------------------------

CPU = RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")
CUDA = torch.OutOfMemoryError("CUDA out of memory.")


def failing(monkeypatch, place: object, name: str, times: int, error: BaseException) -> None:
    """Make the next `times` calls fail."""
    plain, left = getattr(place, name), [times]

    def fail(*args, **kwargs):
        if left[0]:
            left[0] -= 1
            raise error
        return plain(*args, **kwargs)

    monkeypatch.setattr(place, name, fail)


@pytest.mark.parametrize("error", [CPU, MemoryError()])
def test_row_is_recomputed_after_others_release_memory(llama, budget, monkeypatch, error):
    idle, decoder = text(), finished(Decoder(llama, PROMPT, sampling(1)), 4)
    live = rows(decoder)
    decoder.release_rows()
    failing(monkeypatch, llama.hf.get_output_embeddings(), "forward", 1, error)
    assert np.array_equal(decoder.logits(0), live[0])
    assert budget.held == (len(idle.steps) + 4) * HIDDEN


def test_text_stays_when_a_row_finds_no_memory(llama, budget, monkeypatch):
    decoder = finished(Decoder(llama, PROMPT, sampling(1)), 4)
    live = rows(decoder)
    decoder.release_rows()
    with monkeypatch.context() as patch:
        failing(patch, llama.hf.get_output_embeddings(), "forward", 99, CUDA)
        for ask in (lambda: decoder.logits(0), lambda: decoder.rewind(2), decoder.fork().step):
            with pytest.raises(OutOfMemoryError, match="ran out of memory"):
                ask()
    assert np.array_equal(rows(decoder), live)
    finished(decoder, 6)


def test_other_row_failures_release_no_memory(llama, budget, monkeypatch):
    idle, decoder = text(), finished(Decoder(llama, PROMPT, sampling(1)), 4)
    decoder.release_rows()
    error = RuntimeError("sizes do not match")
    failing(monkeypatch, llama.hf.get_output_embeddings(), "forward", 1, error)
    with pytest.raises(RuntimeError, match="sizes do not match"):
        decoder.logits(0)
    assert budget.held == len(idle.steps) * (ROW + HIDDEN) + 4 * HIDDEN


@pytest.mark.parametrize("times", [1, 99], ids=["once", "always"])
def test_storing_a_row_survives_a_memory_error(budget, monkeypatch, times):
    lone, idle = rows(text("gemma2", 6)), text("gemma2")
    decoder = text("gemma2", 4)
    with monkeypatch.context() as patch:
        failing(patch, record, "StoredRow", times, MemoryError())
        if times == 1:
            decoder.step()
            assert budget.held < len(idle.steps) * ROW
        else:
            with pytest.raises(OutOfMemoryError, match="for the logits of a step; close other"):
                decoder.step()
    assert np.array_equal(rows(finished(decoder, 6)), lone)
