"""Guidance in batches: every guided row equals a guided decoder."""

import pytest

from engine.decoding.batch import Batch, Row
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


@pytest.mark.parametrize(
    "architecture",
    [
        "llama",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("mistral", "bloom", "mamba")),
    ],
)
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


def test_guided_row_stops_when_longer_text_fills_context():
    model = tiny_models.shared("llama")
    negative = tiny_models.prompt(2, tiny_models.CONTEXT - 10)
    row = Row(PROMPT, sampling(0), 200, negative, 1.5)
    text = finished(model, [row, row]).text(0)
    assert text.stop_reason == "context" and len(text.token_ids) == 10


def test_cancelled_guided_batch_resumes_to_the_same_texts():
    model = tiny_models.shared("llama")
    rows = guided_rows()[:3]
    batch = Batch(model, rows)
    for _ in range(2):
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
