"""The first token that differs: the same logits in every column, and the engine's own shaping."""

import base64
import math

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.sampling.presets import PRESETS
from tests.ui.compare.comparing import PROMPT, ids, settle
from tests.ui.step.visitor import unpacked
from ui.compare.view import parting_data, parting_place


def test_equal_texts_have_no_parting_place(comparison):
    for column in comparison.columns:
        comparison.set_settings(column.number, PRESETS["Greedy"])
    settle(comparison)
    assert parting_place(comparison.columns) is None
    assert parting_data(comparison) is None


@pytest.mark.parametrize("same_u", [True, False])
def test_texts_part_with_the_distributions_of_the_engine(comparison, model, same_u):
    comparison.change(same_u=same_u, seed=5)
    comparison.adjust(2, min_p=0.01, repetition_penalty=1.3)
    settle(comparison)
    place = parting_place(comparison.columns)
    texts = [ids(column) for column in comparison.columns]
    assert len({tuple(text[:place]) for text in texts}) == 1
    assert len({text[place] for text in texts}) > 1
    header, _ = unpacked(base64.b64decode(parting_data(comparison)["message"]))
    assert header["text_ids"] == texts[0][:place]
    assert header["prompt_ids"] == list(comparison.columns[0].text.prompt_ids)
    assert len(header["columns"]) == len(comparison.columns)
    raws = []
    for column, shown in zip(comparison.columns, header["columns"], strict=True):
        alone = Decoder(model, PROMPT, comparison.inputs.effective(column))
        list(alone.run(place + 1))
        step, probs = alone.steps[place], alone.distribution(place).probs
        raws.append(alone.logits(place))
        assert shown["token"] == step.token_id
        assert shown["shaped"]["settings"] == shown["settings"]
        kept = [entry["survivors"] for entry in shown["shaped"]["outcomes"]]
        assert (kept or [model.vocab_size])[-1] == np.count_nonzero(probs)
        draw = shown["shaped"]["draw"]
        if column.settings.is_greedy:
            assert draw is None
        else:
            assert (draw["id"], draw["u"]) == (step.token_id, step.u)
            assert draw["probability"] == pytest.approx(probs[step.token_id])
            assert draw["from"] <= step.u < draw["to"]
        model_s, here = 100 * math.exp(step.logprob), 100 * probs[step.token_id]
        assert shown["said"].endswith(f": model {model_s:.1f} %, here {here:.1f} %")
    for raw in raws:
        np.testing.assert_array_equal(raw, raws[0])
