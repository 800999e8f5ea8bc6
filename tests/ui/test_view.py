import numpy as np
import pytest

from engine.errors import SettingError
from engine.sampling import SamplingSettings
from tests.ui.conftest import SETTINGS
from ui.charts.data import log_ranks
from ui.view import step_view

OTHERS = [
    SETTINGS,
    SamplingSettings(),
    SamplingSettings(temperature=0),
    SamplingSettings(repetition_penalty=1.5, temperature=0, top_k=3),
    SamplingSettings(top_k=1),
    SamplingSettings(temperature=1.7, min_p=0.3),
]


@pytest.mark.parametrize("settings", OTHERS)
@pytest.mark.parametrize("index", [0, 4, 5])
def test_rows_and_others_account_for_the_whole_distribution(decoder, settings, index):
    view = step_view(decoder, index, settings, 5)
    distribution = decoder.distribution(index, settings)
    vocab = decoder.model.vocab_size

    assert len(view.rows) + view.others == vocab == view.vocab_size
    assert sum(row.prob for row in view.rows) + view.others_prob == pytest.approx(1)
    assert sum(row.final_prob for row in view.rows) + view.others_final == pytest.approx(1)
    for row in view.rows:
        assert row.final_prob == pytest.approx(distribution.probs[row.token_id], rel=1e-6)
        assert row.logit == decoder.logits(index)[row.token_id]
        assert row.removed_by == distribution.removed_by(row.token_id)
    raw = np.exp(decoder.logits(index).astype(np.float64))
    raw /= raw.sum()
    assert [row.model_prob for row in view.rows] == pytest.approx(
        [raw[row.token_id] for row in view.rows], rel=1e-5
    )


@pytest.mark.parametrize("settings", OTHERS)
def test_the_recorded_token_always_has_one_row(decoder, settings):
    for step in decoder.steps:
        view = step_view(decoder, step.index, settings, 3)
        assert [row.token_id for row in view.rows if row.chosen] == [step.token_id]
        full = decoder.distribution(step.index, settings).candidates(decoder.model.vocab_size)
        expected = next(row for row in full if row.token_id == step.token_id)
        for name, value in expected._asdict().items():
            if isinstance(value, float):
                value = pytest.approx(value, rel=1e-6)
            assert getattr(view.chosen, name) == value, name


@pytest.mark.parametrize("settings", OTHERS)
def test_the_curve_is_exact_at_each_of_its_ranks(decoder, settings):
    view = step_view(decoder, 2, settings, 5)
    full = decoder.distribution(2, settings).candidates(decoder.model.vocab_size)
    places = view.curve.ranks - 1
    assert view.curve.probs == pytest.approx([full[place].prob for place in places])
    assert view.curve.cumulative == pytest.approx([full[place].cumulative for place in places])
    final = np.cumsum([row.final_prob for row in full])
    assert view.curve.final == pytest.approx(final[places])
    assert view.last_kept == max(row.rank for row in full if row.removed_by is None)


def test_u_falls_where_the_recorded_token_was_drawn(decoder):
    for step in decoder.steps[:5]:
        view = step_view(decoder, step.index, SETTINGS, 5)
        assert view.as_recorded
        assert (view.draw.u, view.draw.token_id) == (step.u, step.token_id)
        place = int(np.searchsorted(view.curve.ranks, view.draw.rank))
        below = view.curve.final[place - 1] if place else 0.0
        assert below <= step.u < view.curve.final[place] + 1e-12
    forced = step_view(decoder, 5, SETTINGS, 5)
    assert (forced.draw, forced.why_no_draw) == (None, "forced")
    assert not step_view(decoder, 0, SamplingSettings(temperature=0.8), 5).as_recorded


def test_stages_say_what_they_removed(decoder):
    view = step_view(decoder, 1, SETTINGS, 5)
    result = decoder.distribution(1, SETTINGS)
    assert [s.name for s in view.stages] == [s.name for s in result.stages]
    befores = [decoder.model.vocab_size, *(s.after for s in view.stages)]
    assert [s.before for s in view.stages] == befores[:-1]
    assert [s.mass_removed for s in view.stages] == [s.mass_removed for s in result.stages]
    top_k = next(stage for stage in view.stages if stage.name == "top_k")
    assert top_k.last_rank == top_k.after == 12


def test_settings_that_do_not_fit_the_model_are_refused(decoder):
    with pytest.raises(SettingError, match="top_k"):
        step_view(decoder, 0, SamplingSettings(top_k=10_000), 5)


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 5_000, 151_936])
def test_log_ranks_cover_both_ends_once(count):
    ranks = log_ranks(count)
    assert ranks[0] == 1 and ranks[-1] == count
    assert (np.diff(ranks) > 0).all()
    assert ranks.size <= 401
    assert ranks[: min(count, 100)].tolist() == list(range(1, min(count, 100) + 1))
