"""The waterfall by hand, and a trial on tiny models; no time is asserted."""

from itertools import pairwise

import pytest

from engine.errors import SettingError
from engine.sampling import SamplingSettings
from engine.sampling.speculation import SpeculativeSettings
from engine.study.speedup import LOSSES, PlainCost, RoundCost, SpeedTrial, Waterfall
from tests.engine import tiny_models
from tests.engine.study.test_acceptance import ROUNDS

PROMPT = tiny_models.prompt(2)


def test_waterfall_adds_up_to_the_measured_speedup():
    plain = PlainCost(tokens=10, pass_ms=40.0, shape_ms=5.0, other_ms=5.0)
    rounds = RoundCost.of(ROUNDS)
    assert (rounds.tokens, rounds.rounds, rounds.proposals) == (14, 6, 14)
    assert (rounds.draft_ms, rounds.target_ms, rounds.shape_ms) == (28, 30, 6)
    assert rounds.other_ms == pytest.approx(6.0), "the prefill does not count"
    fall = Waterfall.of(0.5, 3, plain, rounds)
    assert (fall.draft_cost, fall.verify_cost) == (0.5, 1.25)
    assert fall.tokens == 1.875
    assert fall.paper == pytest.approx(1.875 / 2.5)
    assert fall.formula == pytest.approx(1.875 / 2.75)
    assert fall.measured == pytest.approx(5.0 / (70 / 14))
    assert [loss.name for loss in fall.losses] == list(LOSSES)
    assert fall.losses[0].before == fall.tokens and fall.losses[-1].after == fall.measured
    assert all(one.after == later.before for one, later in pairwise(fall.losses))
    assert fall.tokens + sum(loss.change for loss in fall.losses) == pytest.approx(fall.measured)
    shaping = 14 / 6 * (4 + 0.5) / (58 / 6 + 1)
    assert fall.losses[3].after == pytest.approx(shaping)
    assert fall.largest.name == "drafting"


@pytest.mark.parametrize("way", ["draft", "lookup"])
def test_trial_runs_every_case_equally_often(way):
    draft = tiny_models.shared("llama", 1) if way == "draft" else None
    model = tiny_models.shared("llama")
    settings = SpeculativeSettings(SamplingSettings(seed=5), adaptive=True)
    trial = SpeedTrial(model, PROMPT, draft, settings, lengths=(2, 1), tokens=6, turns=3)
    told = list(trial)
    assert told == [(done, 10) for done in range(1, 11)]
    curve = trial.result()
    assert [point.length for point in curve.points] == [1, 2]
    assert curve.plain.tokens == 2 * 5, "the slowest of three turns and the prefills do not count"
    for point in curve.points:
        assert point.cost.tokens == point.acceptance.tokens == 2 * 6
        assert sum(point.acceptance.proposed[point.length :]) == 0
        assert point.measured == curve.plain.ms_per_token / point.cost.ms_per_token
        assert len(point.by_turn) == 3
        assert point.predicted > 0 and point.waterfall.losses[-1].after == point.measured
    assert curve.best in curve.points and curve.at(9).length == 2
    assert not curve.text_invalid


def test_trial_that_cannot_measure_is_refused():
    model, settings = tiny_models.shared("llama"), SpeculativeSettings()
    with pytest.raises(SettingError, match="tokens"):
        SpeedTrial(model, PROMPT, None, settings, tokens=1)
    with pytest.raises(SettingError, match="draft_length must be at most 64"):
        SpeedTrial(model, PROMPT, None, settings, lengths=[65])
    with pytest.raises(SettingError, match="lengths"):
        SpeedTrial(model, PROMPT, None, settings, lengths=[])
    prompt = tiny_models.prompt(3, tiny_models.CONTEXT - 1)
    trial = SpeedTrial(model, prompt, None, settings, lengths=[1], turns=1)
    list(trial)
    with pytest.raises(SettingError, match="leads to a text of only one token"):
        trial.result()
