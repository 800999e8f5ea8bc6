"""Rows with nothing to draw from, extreme settings, and scores at the limits of float32."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from engine.errors import LogitsError, NoCandidatesError
from engine.sampling import Distribution, SamplingSettings, shape
from engine.sampling.samplers import (
    NO_CONTEXT,
    Context,
    EditStage,
    MinP,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopK,
    TopP,
    ranked_after,
)

RISING = (0.1, 0.2, 0.3, 0.4)


def logits_of(probs) -> np.ndarray:
    """Logits whose softmax is `probs`; probability 0 is a token at -inf."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(probs, np.float64)).astype(np.float32)


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return weights / weights.sum()


def seen(*token_ids: int) -> Context:
    return Context(np.array(token_ids, np.int64))


def shaped(probs, *chain: Stage, context: Context = NO_CONTEXT) -> Distribution:
    return shape(logits_of(probs), SamplingSettings(chain=chain), context)


def close(values) -> object:
    return pytest.approx(list(values), abs=2e-7)


# --- Nothing to draw from ------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [SamplingSettings(), SamplingSettings(temperature=0, top_k=2)])
def test_row_without_any_token_is_refused(settings):
    with pytest.raises(NoCandidatesError, match="Every token was removed before the draw; loosen"):
        shape(np.full(4, -np.inf, np.float32), settings)


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        ([0, math.nan, 0, 0], "1 NaN and 0 infinite"),
        ([math.nan] * 4, "4 NaN and 0 infinite"),
        ([0, math.inf, math.nan, math.inf], "1 NaN and 2 infinite"),
        ([0, 0, math.inf, -math.inf], "0 NaN and 1 infinite"),
    ],
)
def test_nan_and_infinite_logits_are_refused(logits, message):
    for settings in (
        SamplingSettings(),
        SamplingSettings(temperature=0),
        SamplingSettings(top_k=1),
    ):
        with pytest.raises(LogitsError, match=f"{message} logits among 4.*float32"):
            shape(np.array(logits, np.float32), settings)


@pytest.mark.parametrize("stage", [TopK(1), TopP(0.5), MinP(0.5), Temperature(0.5)], ids=str)
def test_single_stage_refuses_empty_and_nan_rows(stage):
    with pytest.raises(NoCandidatesError):
        stage(np.full(4, -np.inf, np.float32))
    with pytest.raises(LogitsError):
        stage(np.array([0, math.nan, 0, 0], np.float32))


@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize(
    "chain",
    [
        (Temperature(1e-6), TopK(1), TopP(1e-9), MinP(1)),
        (Temperature(100), TopK(4), TopP(0.999999), MinP(0)),
        (RepetitionPenalty(100.0), Temperature(1e-6), TopP(0.999999)),
        (RepetitionPenalty(0.01), Temperature(100)),
        (Temperature(1e-6), TopP(0.999999)),
        (Temperature(0), TopK(1), TopP(1e-9), MinP(1)),
    ],
    ids=str,
)
@pytest.mark.parametrize("probs", [RISING, (1, 0, 0, 0), (0.25,) * 4, (1e-30, 1e-20, 0, 1)])
def test_extreme_settings_always_leave_a_proper_distribution(chain, probs, parity):
    settings = SamplingSettings(chain=chain, parity=parity)
    result = shape(logits_of(probs), settings, seen(0, 1, 2, 3))
    assert result.probs.sum() == pytest.approx(1)
    assert np.all(np.isfinite(result.probs)) and result.survivors >= 1
    assert result.probs[result.sample(0.999)] > 0
    assert all(0 <= stage.mass_removed <= 1 for stage in result.stages)
    assert math.isfinite(result.entropy_bits)


# --- Scores at the limits of float32 --------------------------------------------------------------


@pytest.mark.parametrize("stage", [Temperature(0.5), RepetitionPenalty(1.2)])
def test_lowest_float_mask_counts_as_removed_on_overflow(stage):
    # Some models mask tokens with the lowest float instead of -inf.
    logits = np.array([5.0, 4.0, 3.0, np.finfo(np.float32).min], np.float32)
    settings = SamplingSettings(chain=[stage, MinP(0.01)])
    result = shape(logits, settings, Context(np.array([3])))
    kept = np.array([5.0, 4.0, 3.0]) / (0.5 if isinstance(stage, Temperature) else 1.0)
    probs = np.exp(kept - kept.max())
    probs /= probs.sum()
    assert result.survivors == 3
    assert result.entropy_bits == pytest.approx(-(probs * np.log2(probs)).sum(), abs=1e-6)


def test_custom_ban_stage_counts_its_removed_tokens():
    @dataclass(frozen=True)
    class Ban(EditStage):
        token_id: int
        setting: ClassVar[str] = "ban"
        off: ClassVar[float] = -1

        def apply(self, survivors, context=NO_CONTEXT):
            edited = survivors.scores.copy()
            edited[self.token_id] = -np.inf
            return ranked_after(self.setting, edited)

    result = shape(np.log(np.array(RISING, np.float32)), SamplingSettings(chain=[Ban(3), TopK(2)]))
    assert [stage.survivors for stage in result.stages] == [3, 2]
    assert result.stages[0].mass_removed == pytest.approx(0.4, abs=1e-6)
    assert result.removed_by(3) == "ban"


def test_float64_logits_and_numpy_settings_are_accepted():
    settings = SamplingSettings(temperature=np.float32(0.5), top_k=np.int64(2))
    assert (type(settings.temperature), type(settings.top_k)) == (float, int)
    wide = np.log(np.linspace(1, 2, 20_000))
    assert shape(wide, settings).survivors == 2
