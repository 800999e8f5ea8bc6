"""Rows of a batch and the lone decoders that they must equal."""

from __future__ import annotations

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.decoding.batch import Batch, BatchText, Row
from engine.model import LanguageModel

CLOSE = 1e-3  # for logprobs and entropies: far above float32 rounding, far below a context's effect
EDGE = 1e-4  # distance from the edge between two tokens within which a draw may go either way


def finished(model: LanguageModel, rows: list[Row], **arguments) -> Batch:
    """A batch that has run to the end of every row."""
    batch = Batch(model, rows, **arguments)
    for _ in batch.run():
        pass
    assert batch.is_done and all(text.has_ended for text in batch.texts)
    return batch


def lone(model: LanguageModel, row: Row, stop_strings=()) -> Decoder:
    """The decoder of one row, run to its end."""
    decoder = Decoder(
        model,
        row.prompt,
        row.settings,
        stop_strings=stop_strings,
        negative_prompt=row.negative_prompt,
        guidance_scale=row.guidance_scale,
    )
    for _ in decoder.run(row.max_new_tokens):
        pass
    return decoder


def is_twin(text: BatchText, decoder: Decoder) -> bool:
    """Return True if the texts are equal; if not, check that they part at the edge of a draw."""
    ids, expected = text.token_ids, decoder.token_ids
    pairs = enumerate(zip(ids, expected, strict=False))
    parting = next((place for place, (one, other) in pairs if one != other), None)
    length = len(expected) if parting is None else parting
    for name in ("logprob", "model_entropy_bits", "probability"):
        wanted = [getattr(step, name) for step in decoder.steps[:length]]
        np.testing.assert_allclose(text.records[name][:length], wanted, atol=CLOSE, err_msg=name)
    for index in range(length):
        final = decoder.distribution(index).final_entropy_bits
        assert text.records["final_entropy_bits"][index] == pytest.approx(final, abs=CLOSE)
    if parting is not None:
        u, distribution = decoder.steps[parting].u, decoder.distribution(parting)
        assert u is not None, "greedy tokens differ"
        near = {distribution.sample(min(max(u + step, 0), 1 - 1e-9)) for step in (-EDGE, EDGE)}
        assert ids[parting] in near, f"token {parting} is another one, and not by rounding"
        return False
    assert ids == expected
    assert (text.stop_reason, text.stop_string) == (
        decoder.stop_reason,
        decoder.steps[-1].stop_string,
    )
    assert text.text == decoder.text
    survivors = [step.survivors for step in decoder.steps]
    return text.records["survivors"].tolist() == survivors
