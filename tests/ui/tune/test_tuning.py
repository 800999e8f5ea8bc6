"""The tune page's axes, the sweep, its cells, the exports."""

import io
import json
import threading

import pandas as pd
import pytest

from engine.model import LanguageModel, load_model
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Banned, Dry
from engine.study.sweep import MOST_TEXTS
from tests.ui import hostile
from tests.ui.tune.sweeping import PATIENCE_S, finished
from ui.jobs import Owner
from ui.models.chooser import Choice, shared_model
from ui.tune.metrics import cell_label, extremes
from ui.tune.results import _cell_metrics
from ui.tune.sweep_job import SweepJob
from ui.tune.tuning import EXAMPLES, AxisInput, Tuning
from ui.words.metrics import METRICS


@pytest.fixture(scope="module")
def model():
    return shared_model(Choice("bundled"))


@pytest.fixture
def tuning(model) -> Tuning:
    """Inputs for a sweep of six short texts."""
    tuning = Tuning(model)
    type_values(tuning, x="0.5, 1, 1.5", y="0.9, 1")
    tuning.change(max_tokens=6)
    return tuning


def type_values(tuning: Tuning, **values: str) -> None:
    tuning.change(
        **{name: getattr(tuning.inputs, name).typed(typed) for name, typed in values.items()}
    )


def without_y(tuning: Tuning, x: str) -> None:
    type_values(tuning, x=x)
    tuning.change(y=AxisInput("none"))


# --- checks before a run --------------------------------------------------------------------------


def test_plan_matches_the_typed_values(tuning):
    sweep = tuning.plan.sweep
    assert sweep.count == 6
    assert sweep.prompts == EXAMPLES[0].prompts
    assert sweep.stop_strings == ("\nCustomer:",)
    assert [cell.settings.temperature for cell in sweep.cells] == [0.5, 0.5, 1, 1, 1.5, 1.5]


def test_a_million_cells_are_refused_without_running(tuning):
    type_values(tuning, x="0.001 to 1 step 0.001", y="0.001 to 1 step 0.001")
    tuning.run()
    assert f"sweep has more than {MOST_TEXTS:,} texts, got 1,000,000" in tuning.error
    assert "use fewer than 1,000 x 1,000 cells" in tuning.error
    assert tuning.work is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x": "0.5, -1"}, "X values: Temperature must not be negative, got -1; "),
        ({"x": "1, 1e9"}, "X values: Temperature must be at most 1,000,000, got 1,000,000,000; "),
        ({"y": "0.5, 1.2"}, "Y values: Top-p must be above 0 and at most 1, got 1.2; "),
        ({"y": "0.5, 0.50"}, "Y values hold a value twice, got 0.5; "),
        ({"prompts": ("a", "")}, "Prompt 2 is empty"),
        ({"x": "0.1 to 6 step 0.1", "y": "0.02 to 1 step 0.02"}, "grid has more than 2,500 cells"),
        ({"max_tokens": 512, "seeds": 64, "x": "0.1 to 9 step 0.1"}, "has 11,520 texts with more"),
    ],
)
def test_invalid_plan_is_reported_before_it_runs(tuning, change, sentence):
    for name, value in change.items():
        if name in ("x", "y"):
            type_values(tuning, **{name: value})
        else:
            tuning.change(**{name: value})
    assert tuning.plan.sweep is None
    assert sentence in tuning.plan.problem
    assert tuning.plan.problem.count("got") <= 1, "said twice"


def test_value_beyond_vocabulary_names_its_axis(tuning):
    tuning.change(x=AxisInput("top_k", {"top_k": "5, 10000000"}))
    assert tuning.plan.problem.startswith("X values: Top-k is above the vocabulary")
    assert tuning.plan.problem.count("10,000,000") == 1


@pytest.mark.parametrize(
    ("change", "typed", "sentence"),
    [
        ("seeds", 0, "Seeds is out of range, got 0; use a whole number from 1 to 64."),
        ("seeds", 2.5, "Seeds must be a whole number, got 2.5; use a whole number from 1 to"),
        ("max_tokens", 513, "Max tokens is out of range, got 513; use a whole number from 1 "),
        ("max_tokens", None, "Max tokens is empty; use a whole number from 1 to 512."),
    ],
)
def test_bad_number_is_reported_and_changes_nothing(tuning, change, typed, sentence):
    before = tuning.plan.sweep
    tuning.change(**{change: typed})
    assert tuning.error.startswith(sentence)
    assert tuning.plan.sweep == before


def test_the_same_setting_on_both_axes_is_refused(tuning):
    tuning.change(y=AxisInput("temperature"))
    assert tuning.plan.problem.startswith("Y axis is the setting of the X axis too, got 'Temper")


def test_refused_base_setting_keeps_the_previous_one(tuning):
    tuning.set_base("min_p", 0.1)
    tuning.set_base("min_p", 7)
    assert "Min-p must be between 0 and 1, got 7" in tuning.error
    assert tuning.inputs.base.min_p == 0.1


def test_replaced_settings_cause_no_error_on_model_change(tuning):
    other = LanguageModel(hostile.language_model(context=64), hostile.tokenizer(), name="other")
    tuning.change(base=SamplingSettings(chain=[Banned([[5]])]))
    tuning.take_settings(SamplingSettings(top_p=0.8, seed=3), other)
    assert tuning.error == ""
    base = tuning.inputs.base
    assert (tuning.model, base.top_p, base.stage("banned")) == (other, 0.8, None)


def test_seed_from_step_page_leaves_sweep_unchanged(tuning, model):
    tuning.take_settings(SamplingSettings(top_k=7, seed=1), model)
    finished(tuning)
    tuning.take_settings(SamplingSettings(top_k=7, seed=2), model)
    assert not tuning.has_changed


def test_base_settings_apply_to_every_cell(tuning, model):
    tuning.take_settings(SamplingSettings(chain=[Dry(0.8)], seed=3), model)
    tuning.set_base("top_k", 7)
    assert all(cell.settings.top_k == 7 for cell in tuning.plan.sweep.cells)
    assert all(cell.settings.dry.multiplier == 0.8 for cell in tuning.plan.sweep.cells)


# --- the sweep ------------------------------------------------------------------------------------


def test_sweep_gives_every_cell_texts_and_metrics(tuning):
    tuning.change(seeds=2)
    result = finished(tuning).work.result
    assert result.is_complete
    assert len(result.cells) == 6
    assert set(result.cells["texts"]) == {2}
    assert tuning.work.share == 1
    assert tuning.work.texts_done == 12
    assert set(METRICS) <= set(result.cells.columns)


def test_cell_texts_match_its_own_settings(tuning):
    # In bfloat16, a text depends on the number of texts in its passes; in float32, it does not.
    model = tuning.model = load_model(dtype="float32")
    finished(tuning)
    tuning.choose_number(5)
    assert tuning.chosen == (2, 1)
    assert (tuning.chosen_settings.temperature, tuning.chosen_settings.top_p) == (1.5, 1)
    (text,) = tuning.chosen_texts()["text"]
    alone = Tuning(model)
    without_y(alone, "1.5")
    alone.change(max_tokens=6)
    (same,) = finished(alone).chosen_texts()["text"]
    assert text == same


def test_choosing_a_missing_cell_changes_nothing(tuning):
    finished(tuning).choose(2, 1)
    tuning.choose(3, 0)
    tuning.choose(0, -1)
    assert tuning.chosen == (2, 1)


class Gated(SweepJob):
    """A sweep that pauses after three texts."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self.reached, self.go_on = threading.Event(), threading.Event()

    def _passes(self):
        for left in super()._passes():
            if self.texts_done >= 3:
                self.reached.set()
                self.go_on.wait(PATIENCE_S)
            yield left


def test_cancelled_sweep_continues_to_the_same_texts(tuning, model, monkeypatch):
    monkeypatch.setattr("ui.tune.sweep_job.MAX_ROWS", 3)
    whole = finished(tuning).work.result.texts
    monkeypatch.setattr("ui.tune.sweep_job.SUM_UP_SECONDS", 0)
    work = Gated(tuning.plan.sweep, model, tuning.inputs.prompts)
    work.start()
    assert work.reached.wait(PATIENCE_S)
    work.cancel()
    work.go_on.set()
    work.wait(PATIENCE_S)
    assert not work.is_running
    assert not work.is_done
    part = work.result
    assert not part.is_complete
    assert 3 <= len(part.cells) < 6
    before = {(row.x, row.y): row.text for row in part.texts.itertuples() if row.ended}
    work.start()
    work.wait(PATIENCE_S)
    assert work.is_done
    pd.testing.assert_frame_equal(work.result.texts, whole)
    after = {(row.x, row.y): row.text for row in work.result.texts.itertuples()}
    assert before.items() <= after.items()


def test_sweep_ends_when_its_visitor_leaves(tuning, model, monkeypatch):
    monkeypatch.setattr("ui.jobs.LOOK_SECONDS", 0)
    monkeypatch.setattr("ui.jobs.GRACE_SECONDS", -1)
    work = SweepJob(tuning.plan.sweep, model, tuning.inputs.prompts)
    work.start(Owner(is_there=lambda: False))
    work.wait(PATIENCE_S)
    assert not work.is_running
    assert not work.is_done


def test_opening_sweep_is_shared_by_all_visitors(tuning, model):
    tuning.run(for_all=True)
    tuning.work.wait(PATIENCE_S)
    second = Tuning(model)
    second.inputs = tuning.inputs
    second.run(for_all=True)
    assert second.work.is_done
    assert second.work.result is tuning.work.result
    second.change(seeds=2)
    second.run(for_all=True)
    assert not second.work.is_done or second.work.result is not tuning.work.result
    second.work.wait(PATIENCE_S)


def test_export_can_reproduce_texts_in_both_formats(tuning):
    tuning.change(prompts=("One", "Two"))
    frame = finished(tuning).export()
    assert len(frame) == 12
    assert set(frame["prompt"]) == {"One", "Two"}
    assert {"temperature", "top_p", "seed", "text", "perplexity"} <= set(frame.columns)
    for name, value in (
        ("model", "bundled"),
        ("max_tokens", 6),
        ("stop_strings", json.dumps(["\nCustomer:"])),
        ("chat_template", False),
    ):
        assert set(frame[name]) == {value}
    chain = json.loads(frame["chain"].iloc[0])
    assert chain == [["temperature", {"temperature": 0.5}], ["top_p", {"p": 0.9}]]
    again = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
    assert again["temperature"].tolist() == frame["temperature"].tolist()
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    assert pd.read_parquet(buffer)["text"].tolist() == frame["text"].tolist()


def test_cell_metrics_state_the_number_of_texts(tuning):
    finished(tuning)
    assert "**, over 1 text: " in _cell_metrics(tuning), "not the mean of their perplexities"


def test_sweep_can_have_one_axis(tuning):
    tuning.change(y=AxisInput("none"))
    finished(tuning)
    assert tuning.plan.sweep.count == 3
    assert "y" not in tuning.export().columns
    found = extremes(tuning.work.result)
    assert found["mean_logprob"][1].label.startswith("T ")
    assert cell_label(tuning.work.sweep, 0.5, None) == "T 0.5"


def test_extremes_mark_better_end_only_for_suitable_metrics(tuning):
    without_y(tuning, "0, 1.5")
    tuning.change(prompts=("He said that",), stop="", max_tokens=48, seeds=3)
    result = finished(tuning).work.result
    result.__dict__["cells"] = result.cells.assign(seq_rep_4_sd=0.05)
    found = extremes(result)
    lowest, highest = found["seq_rep_4"]
    assert (lowest.label, highest.label) == ("T 1.5", "T 0"), "greedy decoding repeats itself"
    assert (lowest.is_best, highest.is_best) == (True, False)
    assert not any(end.is_best for end in found["perplexity"])


def test_overlapping_intervals_mark_no_better_end(tuning):
    without_y(tuning, "0, 1.5")
    result = finished(tuning).work.result
    cells = result.cells.assign(texts=4, seq_rep_4=[0.02, 0.01], seq_rep_4_sd=0.05)
    cells = cells.assign(loop_tokens=[9.0, 0.0], loop_tokens_sd=1.0, looped=[0.5, 0.25])
    result.__dict__["cells"] = cells
    found = extremes(result)
    assert [end.is_best for end in found["seq_rep_4"]] == [False, False]
    assert found["seq_rep_4"][1].high == pytest.approx(0.02 + 1.96 * 0.05 / 2)
    assert [end.is_best for end in found["loop_tokens"]] == [True, False]
    assert [end.is_best for end in found["looped"]] == [False, False], "one text of four"


def test_four_equal_texts_mark_no_better_end(tuning):
    without_y(tuning, "0, 1.5")
    result = finished(tuning).work.result
    cells = result.cells.assign(texts=4, looped=[0.5, 0.0], seq_rep_4=[0.5, 0.1])
    result.__dict__["cells"] = cells.assign(seq_rep_4_sd=[0.0, 0.01])
    found = extremes(result)
    low, _ = found["looped"]
    assert (low.low, low.is_best) == (0, False) and low.high == pytest.approx(0.602, abs=0.001)
    assert not any(end.is_best for end in found["seq_rep_4"])
    result.__dict__["cells"] = cells.assign(texts=20)
    assert [end.is_best for end in extremes(result)["looped"]] == [True, False]


def test_constant_metric_has_a_single_unmarked_end(tuning):
    without_y(tuning, "0.5, 0.6")
    found = extremes(finished(tuning).work.result)
    assert [(end.value, end.others, end.is_best) for end in found["looped"]] == [(0, 1, False)]


def test_stop_string_goes_with_last_example_prompt(tuning):
    tuning.take_example(EXAMPLES[1])
    for place in range(2):
        tuning.set_prompt(place, "My own")
        assert tuning.inputs.stop == EXAMPLES[1].stop
    tuning.set_prompt(2, "My own too")
    assert tuning.inputs.stop == ""
    tuning.change(seeds=2)
    assert tuning.removed_stop == r"\nCustomer:", "still to be told after another change"


def test_own_stop_string_stays(tuning):
    tuning.set_prompt(0, "My own")
    tuning.change(stop=EXAMPLES[0].stop)
    tuning.set_prompt(0, "My other own")
    assert (tuning.inputs.stop, tuning.removed_stop) == (EXAMPLES[0].stop, "")
