"""Guidance in batches: every guided row equals a guided decoder."""

import numpy as np
import pytest

from engine.decoding.batch import Batch, Row
from engine.errors import PromptError, SettingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from tests.engine import tiny_models
from tests.engine.decoding.test_batch import bytes_per_row
from tests.engine.runs import GREEDY, sampling
from tests.engine.tiny_models import RECURRENT
from tests.engine.twins import finished, is_twin, lone

PROMPT, NEGATIVE, LONG = (
    tiny_models.prompt(seed, length) for seed, length in enumerate((7, 3, 40))
)


def guided_rows() -> list[Row]:
    """Rows with several scales, and two negative prompts, none, or the prompt's last token."""
    return [
        Row(PROMPT, sampling(1), 16, NEGATIVE, 1.5),
        Row(PROMPT, sampling(1), 16),
        Row(PROMPT, SamplingSettings(seed=4), 16, NEGATIVE, 0.4),
        Row(PROMPT, sampling(2), 16, LONG, 3.0),
        Row(PROMPT, GREEDY, 16, NEGATIVE, 2.0),
        Row(PROMPT, sampling(3), 9, None, 1.5),
        Row(PROMPT, sampling(3), 16, NEGATIVE, 1.0),
    ]


@pytest.mark.parametrize("architecture", ["llama", "gpt2", "mistral", "falcon_alibi", "mamba"])
def test_every_guided_row_equals_a_guided_decoder(architecture):
    model = tiny_models.shared(architecture)
    rows = guided_rows()

    batch = finished(model, rows)

    twins = [lone(model, row) for row in rows]
    for row, text, twin in zip(rows, batch.texts, twins, strict=True):
        assert is_twin(text, twin), f"{row} gave another text"
        assert text.guidance == twin.guidance
    assert twins[0].token_ids != twins[1].token_ids, "guidance changes nothing here"
    assert batch.rows_together == (1 if architecture in RECURRENT else 3)


def test_single_guided_row_matches_its_decoder_exactly():
    model = tiny_models.shared("llama")
    row = Row(PROMPT, sampling(5), 12, NEGATIVE, 1.7)
    text, decoder = finished(model, [row]).text(0), lone(model, row)
    assert text.token_ids == decoder.token_ids
    np.testing.assert_array_equal(text.records["logprob"], [step.logprob for step in decoder.steps])


def test_guided_row_stops_when_longer_text_fills_context():
    model = tiny_models.shared("llama")
    row = Row(PROMPT, sampling(0), 200, LONG, 1.5)
    text = finished(model, [row, row]).text(0)
    assert text.stop_reason == "context"
    assert len(text.token_ids) == tiny_models.CONTEXT - len(LONG)


def test_cancelled_guided_batch_resumes_to_the_same_texts():
    model = tiny_models.shared("llama")
    rows = guided_rows()
    batch = Batch(model, rows)
    for _ in range(3):
        run = batch.run()
        for _ in range(7):
            next(run)
        run.close()
    for _ in batch.run():
        pass
    assert all(is_twin(text, lone(model, row)) for row, text in zip(rows, batch.texts, strict=True))


def test_guided_rows_count_both_caches(budget):
    model = LanguageModel(tiny_models.build("llama"))
    plain = bytes_per_row(model)
    budget.limit = 6 * plain
    rows = [Row(PROMPT, sampling(seed), 10) for seed in range(6)]
    assert finished(model, rows).rows_together == 6
    rows = [Row(PROMPT, sampling(seed), 10, PROMPT[::-1], 2.0) for seed in range(6)]
    assert finished(model, rows).rows_together == 3


def test_invalid_guidance_is_refused_before_anything_runs():
    model = tiny_models.shared("llama")
    with pytest.raises(SettingError, match="negative_prompt"):
        Batch(model, [Row(PROMPT, GREEDY, 5, [], 1.5)])
    with pytest.raises(SettingError, match="guidance_scale"):
        Batch(model, [Row(PROMPT, GREEDY, 5, NEGATIVE, -1.0)])
    with pytest.raises(PromptError, match="negative prompt"):
        Batch(model, [Row(PROMPT, GREEDY, 5, [0] * 500, 1.5)])
