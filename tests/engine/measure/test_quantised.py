"""Quantised caches measured along a text: divergences, first differences, cancel and resume."""

import json
import math

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.errors import CancelledError, ContextFullError, DecodingError, SettingError
from engine.measure.machine import Setting
from engine.measure.quantised.measurement import QuantisedMeasurement
from engine.measure.quantised.reading import ReadText
from engine.measure.quantised.result import QuantisedResult
from engine.measure.report import Report
from engine.model.quantised import PER_TOKEN, Quantisation, compared_cache
from engine.runner.job import as_job
from engine.sampling import SamplingSettings
from engine.sampling.divergence import kl_bits, log_probabilities
from tests.engine import tiny_models

HOW = Quantisation(group=4, keys=PER_TOKEN, residual=2)
PROMPT = tuple(tiny_models.prompt(3, 5))


@pytest.fixture(scope="module")
def model():
    return tiny_models.shared("llama")


def measured(measurement: QuantisedMeasurement) -> QuantisedResult:
    assert len(list(measurement.run())) > 0 and measurement.is_done
    return measurement.result


def test_kl_divergence_matches_hand_calculation():
    half = np.log([0.5, 0.25, 0.125, 0.125])
    rows = log_probabilities(np.array([half + 7, np.zeros(4), half, [0, 0, 0, -np.inf]]))
    found = kl_bits(rows[0], rows)
    assert found[:3] == pytest.approx([0, 2 - 1.75, 0], abs=1e-12) and found[0] == 0
    assert math.isinf(found[3]), "what cannot come with the other costs any number of bits"
    assert kl_bits(rows[3], rows[1:2]) == pytest.approx(2 - math.log2(3))


def test_first_difference_matches_free_running_texts(model):
    result = measured(QuantisedMeasurement(model, ReadText(PROMPT, 60), HOW, compares=False))
    assert result.is_written and result.given == len(PROMPT)
    parted = [one.parted_after for one in result.along]
    assert parted[2] is not None, "2 bits are not enough for this model"
    label = model.vocabulary.label
    for one in result.along:
        texts = free_running(model, one.how, 60)
        first = next(
            (n for n, pair in enumerate(zip(*texts, strict=True)) if pair[0] != pair[1]), None
        )
        assert one.parted_after == first
        if first is not None:
            assert one.parted_tokens == tuple(label(text[first]) for text in texts)


def free_running(model, how: Quantisation, positions: int) -> list[list[int]]:
    """Greedy texts with the exact and a quantised cache, each continuing its own text."""
    cache = compared_cache(model, [how])
    texts = [list(PROMPT), list(PROMPT)]
    for position in range(positions - 1):
        rows, _ = model.forward_rows([[text[position]] for text in texts], cache, position)
        if position + 1 == len(texts[0]):
            for text, row in zip(texts, rows, strict=True):
                text.append(int(row.argmax()))
    return [text[len(PROMPT) :] for text in texts]


def test_fewer_bits_diverge_more_and_take_fewer_bytes(model):
    result = measured(QuantisedMeasurement(model, ReadText(PROMPT, 40), HOW, compares=True))
    assert [one.bits for one in result.along] == [8, 4, 2]
    for one in result.along:
        assert len(one.kl_bits) == len(one.top) == len(result.read) == 40
        assert one.kl_bits[:2] == (0, 0) and one.logit_difference[:2] == (0, 0)
        assert min(one.kl_bits[2:]) > 0, "from then on something is quantised"
        changed = [own != exact for own, exact in zip(one.top, result.top, strict=True)]
        assert list(one.is_changed) == changed
    means = [np.mean(one.kl_bits) for one in result.along]
    assert 100 * max(result.rounding_kl_bits) < means[0] < means[1] < means[2]
    sizes = [one.bytes for one in result.along]
    assert result.exact_bytes > sizes[0] > sizes[1] > sizes[2]
    # The first 2 of 40 positions are exact, so a point's figures cover the other 38.
    point = result.points[1]
    assert point.bits == 4 and point.positions == 38
    assert point.mean_kl_bits == pytest.approx(np.mean(result.along[1].kl_bits[2:]))
    assert len(result.points) == 3, "no other group divides heads of 8 channels"
    kinds = {"quantised": QuantisedResult}
    text = Report(Setting.here(model), {"quantised": result}).to_json()
    assert Report.from_json(json.dumps(json.loads(text)), kinds).parts["quantised"] == result


def test_compared_settings_read_the_same_text(monkeypatch, model):
    monkeypatch.setattr("engine.measure.quantised.measurement.GROUPS", (4, 8))
    measurement = QuantisedMeasurement(model, ReadText(PROMPT, 30), HOW)
    assert measurement.settings_compared == 3 + 9 and measurement.parts == 60
    steps = measurement.run()
    for _ in range(45):
        next(steps)
    assert len(measurement.result.points) == 3, "the others have not read all of it"
    list(steps)
    result = measurement.result
    assert len({point.how for point in result.points}) == len(result.points) == 12
    first, second = measurement._readings
    assert second.token_ids == first.token_ids and second.top[0] == first.top[0]


def test_sampled_text_matches_the_decoder(model):
    settings = SamplingSettings(temperature=0.9, seed=4)
    text = ReadText(PROMPT, 25, settings)
    result = measured(QuantisedMeasurement(model, text, HOW, compares=False))
    decoder = Decoder(model, list(PROMPT), settings)
    for _ in range(20):
        decoder.step()
    label = model.vocabulary.label
    assert result.read == tuple(map(label, [*PROMPT, *decoder.token_ids]))
    assert not result.is_greedy


def test_given_text_is_read_without_generating(model):
    ids = tuple(tiny_models.prompt(5, 30))
    result = measured(QuantisedMeasurement(model, ReadText(ids, 20), HOW, compares=False))
    assert result.read == tuple(map(model.vocabulary.label, ids[:20]))
    assert result.given == 20 and not result.is_written
    assert all(one.parted_after is None for one in result.along)


@pytest.mark.parametrize("breaks", ["cancel", "memory"])
def test_interrupted_measurement_resumes_to_the_same_result(model, monkeypatch, breaks):
    text = ReadText(PROMPT, 24)
    whole = measured(QuantisedMeasurement(model, text, HOW, compares=False))
    measurement = QuantisedMeasurement(model, text, HOW, compares=False)
    forward_rows, passes = model.forward_rows, []

    def counted(rows, *arguments, **options):
        passes.append(len(rows))
        if breaks == "memory" and len(passes) == 20:
            raise RuntimeError("not enough memory")
        return forward_rows(rows, *arguments, **options)

    monkeypatch.setattr(model, "forward_rows", counted)
    with (
        as_job(lambda: breaks == "cancel" and len(passes) >= 20),
        pytest.raises(CancelledError if breaks == "cancel" else DecodingError),
    ):
        list(measurement.run())
    assert measurement.done == (10 if breaks == "cancel" else 0)
    assert measured(measurement) == whole


def test_unsuitable_model_text_or_setting_is_refused(model):
    with pytest.raises(DecodingError, match="keeps states other than"):
        QuantisedMeasurement(tiny_models.shared("mamba"), ReadText(PROMPT, 20), HOW)
    with pytest.raises(ContextFullError, match=r"161 positions were requested.*read at most 160"):
        QuantisedMeasurement(model, ReadText(PROMPT, 161), HOW)
    with pytest.raises(SettingError, match="residual keeps all 2 positions"):
        QuantisedMeasurement(model, ReadText(PROMPT, 2), HOW)
    with pytest.raises(SettingError, match="group must divide the"):
        QuantisedMeasurement(model, ReadText(PROMPT, 20), Quantisation(group=12, residual=0))
    with pytest.raises(DecodingError, match="contains no token"):
        QuantisedMeasurement(model, ReadText((), 20), HOW)
