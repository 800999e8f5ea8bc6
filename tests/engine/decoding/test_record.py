"""Logits of old steps: exact after their rows have left memory, and small."""

import tempfile

import numpy as np
import pytest
import torch

from engine.decoder import Decoder
from engine.errors import RecordError, SettingError
from engine.model import LanguageModel
from tests.engine import tiny_models
from tests.engine.runs import finished, rows, sampling

TOKENS = 20  # with the prompt, more than a sliding window holds


@pytest.fixture(autouse=True)
def only_the_newest_row_in_memory(monkeypatch):
    monkeypatch.setattr("engine.decoding.record.RECENT_BYTES", 0)


def run_with_live_rows(model: LanguageModel, parity: bool = False) -> tuple[Decoder, np.ndarray]:
    """A finished decoder, and every row as it was in memory at its step."""
    decoder = Decoder(model, tiny_models.prompt(1), sampling(1, parity=parity))
    live = [decoder.logits(step.index).copy() for step in decoder.run(TOKENS)]
    return decoder, np.stack(live)


@pytest.mark.parametrize(
    ("architecture", "parity"),
    [(architecture, False) for architecture in tiny_models.ARCHITECTURES]
    + [("llama", True), ("gemma2", True)],
)
def test_old_rows_come_back_bit_for_bit(architecture, parity):
    model = tiny_models.shared(architecture)
    decoder, live = run_with_live_rows(model, parity)

    assert model.replays_exactly == (architecture != "gemma2")
    assert np.array_equal(rows(decoder), live), "an old row came back changed"
    assert np.array_equal(decoder.logits(-1), live[-1])
    assert decoder.logits(0).dtype == np.float32 and decoder.logits(0).shape == (tiny_models.VOCAB,)


@pytest.mark.parametrize("architecture", ["llama", "gemma2"], ids=["replayed", "from the file"])
def test_old_rows_survive_rewinds_and_forks(architecture):
    decoder, live = run_with_live_rows(tiny_models.shared(architecture))

    decoder.rewind(12)
    twin = decoder.fork()
    twin.settings = sampling(50)
    other = rows(finished(twin, TOKENS))
    finished(decoder, TOKENS)

    assert np.array_equal(rows(decoder), live), "two decoders overwrote each other's rows"
    assert np.array_equal(other[:13], live[:13]) and not np.array_equal(other, live)
    assert np.array_equal(rows(twin), other)


def test_step_figures_agree_with_their_rows():
    decoder, live = run_with_live_rows(tiny_models.shared("qwen3"))
    logprobs = torch.log_softmax(torch.tensor(live, dtype=torch.float64), -1).numpy()
    for step, row, logprob in zip(decoder.steps, live, logprobs, strict=True):
        assert step.logit == row[step.token_id]
        assert step.logprob == pytest.approx(logprob[step.token_id], abs=1e-6)
        assert step.rank == 1 + (row > step.logit).sum()
        entropy = -(np.exp(logprob) * logprob).sum() / np.log(2)
        assert step.model_entropy_bits == pytest.approx(entropy, abs=1e-5)
        distribution = decoder.distribution(step.index)
        assert distribution.survivors == step.survivors
        assert distribution.entropy_bits == step.entropy_bits
        assert distribution.probability(step.token_id) == step.probability
        assert distribution.sample(step.u) == step.token_id
        kept = [(stage.name, stage.survivors, stage.mass_removed) for stage in distribution.stages]
        assert kept == [(stage.name, stage.survivors, stage.mass_removed) for stage in step.stages]


def test_unknown_step_index_is_refused():
    decoder = finished(Decoder(tiny_models.shared("llama"), [1, 2]), 3)
    for index in (3, -4, True):
        with pytest.raises(SettingError, match="use 0 to 2"):
            decoder.logits(index)
    decoder.rewind(0)
    with pytest.raises(SettingError, match="take a step first"):
        decoder.logits(0)


def test_step_fails_cleanly_without_a_temporary_folder(monkeypatch):
    model = tiny_models.shared("gemma2")  # its rows go to a file
    lone = finished(Decoder(model, tiny_models.prompt(1), sampling(1)), 4)
    decoder = Decoder(model, tiny_models.prompt(1), sampling(1))
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", None)
        patch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/no/such/folder"])
        for _ in range(2):
            with pytest.raises(
                RecordError,
                match=r"in a temporary folder .*; set TMPDIR to a folder that can be written to\.$",
            ):
                decoder.step()
        patch.setattr(tempfile, "tempdir", "/no/such/folder")
        with pytest.raises(RecordError, match=r"in /no/such/folder .*set TMPDIR to another folder"):
            decoder.step()
    assert np.array_equal(rows(finished(decoder, 4)), rows(lone))
