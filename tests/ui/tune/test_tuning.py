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
from ui.models.choice import Choice
from ui.models.chooser import shared_model
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
    change(tuning, x="0.5, 1, 1.5", y="0.9, 1", max_tokens=6)
    return tuning


def change(tuning: Tuning, **changes) -> None:
    """Change inputs; a text for an axis is typed into its field of values."""
    for name, value in changes.items():
        if name in ("x", "y") and isinstance(value, str):
            value = getattr(tuning.inputs, name).typed(value)
        tuning.change(**{name: value})


# --- checks before a run --------------------------------------------------------------------------


def test_plan_matches_the_typed_values(tuning):
    sweep = tuning.plan.sweep
    assert sweep.count == 6
    assert sweep.prompts == EXAMPLES[0].prompts
    assert sweep.stop_strings == ("\nCustomer:",)
    assert [cell.settings.temperature for cell in sweep.cells] == [0.5, 0.5, 1, 1, 1.5, 1.5]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"x": "0.5, -1"}, "X values: Temperature must not be negative, got -1; "),
        ({"x": "1, 1e9"}, "X values: Temperature must be at most 1,000,000, got 1,000,000,000; "),
        ({"y": "0.5, 1.2"}, "Y values: Top-p must be above 0 and at most 1, got 1.2; "),
        ({"y": "0.5, 0.50"}, "Y values contain a value twice, got 0.5; "),
        ({"prompts": ("a", "")}, "Prompt 2 is empty"),
        ({"x": "0.1 to 6 step 0.1", "y": "0.02 to 1 step 0.02"}, "grid has more than 2,500 cells"),
        ({"max_tokens": 512, "seeds": 64, "x": "0.1 to 9 step 0.1"}, "has 11,520 texts with more"),
        (
            {"x": "0.001 to 1 step 0.001", "y": "0.001 to 1 step 0.001"},
            f"sweep has more than {MOST_TEXTS:,} texts, got 1,000,000",
        ),
        (
            {"x": AxisInput("top_k", {"top_k": "5, 10000000"})},
            "X values: Top-k exceeds the vocabulary of",
        ),
        (
            {"y": AxisInput("temperature")},
            "Y axis has the same setting as the X axis, got 'Temper",
        ),
    ],
)
def test_invalid_plan_is_reported_and_never_runs(tuning, changes, said):
    change(tuning, **changes)
    assert tuning.plan.sweep is None
    assert said in tuning.plan.problem
    assert tuning.plan.problem.count("got") <= 1, "said twice"
    tuning.run()
    assert said in tuning.error and tuning.work is None


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("seeds", 0, "Seeds is out of range, got 0; use a whole number from 1 to 64."),
        ("seeds", 2.5, "Seeds must be a whole number, got 2.5"),
        ("max_tokens", 513, "Max tokens is out of range, got 513"),
        ("max_tokens", None, "Max tokens is empty"),
    ],
)
def test_bad_number_is_reported_and_changes_nothing(tuning, name, typed, said):
    before = tuning.plan.sweep
    change(tuning, **{name: typed})
    assert tuning.error.startswith(said)
    assert tuning.plan.sweep == before


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


def test_base_settings_without_seed_apply_to_every_cell(tuning, model):
    tuning.take_settings(SamplingSettings(chain=[Dry(0.8)], seed=3), model)
    tuning.set_base("top_k", 7)
    assert all(cell.settings.top_k == 7 for cell in tuning.plan.sweep.cells)
    assert all(cell.settings.dry.multiplier == 0.8 for cell in tuning.plan.sweep.cells)
    finished(tuning)
    tuning.take_settings(tuning.inputs.base.replace(seed=2), model)
    assert not tuning.has_changed


# --- the sweep ------------------------------------------------------------------------------------


def test_sweep_gives_every_cell_texts_and_metrics(tuning):
    tuning.change(seeds=2)
    result = finished(tuning).work.result
    assert result.is_complete
    assert len(result.cells) == 6
    assert set(result.cells["texts"]) == {2}
    assert (tuning.work.share, tuning.work.texts_done) == (1, 12)
    assert set(METRICS) <= set(result.cells.columns)
    assert "**, over 2 texts: " in _cell_metrics(tuning)
    tuning.choose(2, 1)
    tuning.choose(3, 0)
    tuning.choose(0, -1)
    assert tuning.chosen == (2, 1), "the others do not exist"


def test_cell_texts_match_its_own_settings(tuning):
    # In bfloat16, a text depends on the number of texts in its passes; in float32, it does not.
    model = tuning.model = load_model(dtype="float32")
    finished(tuning)
    tuning.choose_number(5)
    assert tuning.chosen == (2, 1)
    assert (tuning.chosen_settings.temperature, tuning.chosen_settings.top_p) == (1.5, 1)
    (text,) = tuning.chosen_texts()["text"]
    alone = Tuning(model)
    change(alone, x="1.5", y=AxisInput("none"), max_tokens=6)
    (same,) = finished(alone).chosen_texts()["text"]
    assert text == same


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
    facts = json.loads(frame["facts"].iloc[0])
    assert facts == json.loads(json.dumps(tuning.work.model.facts))
    chain = json.loads(frame["chain"].iloc[0])
    assert chain == [["temperature", {"temperature": 0.5}], ["top_p", {"p": 0.9}]]
    again = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
    assert again["temperature"].tolist() == frame["temperature"].tolist()
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    assert pd.read_parquet(buffer)["text"].tolist() == frame["text"].tolist()


def test_sweep_can_have_one_axis(tuning):
    change(tuning, x="0.5, 0.6", y=AxisInput("none"))
    finished(tuning)
    assert tuning.plan.sweep.count == 2
    assert "y" not in tuning.export().columns
    found = extremes(tuning.work.result)
    assert found["mean_logprob"][1].label.startswith("T ")
    assert cell_label(tuning.work.sweep, 0.5, None) == "T 0.5"
    constant = [(end.value, end.others, end.is_best) for end in found["looped"]]
    assert constant == [(0, 1, False)], "no end is better"


def test_extremes_mark_better_end_only_for_suitable_metrics(tuning):
    change(tuning, x="0, 1.5", y=AxisInput("none"))
    change(tuning, prompts=("He said that",), stop="", max_tokens=48, seeds=3)
    result = finished(tuning).work.result
    result.__dict__["cells"] = result.cells.assign(seq_rep_4_sd=0.05)
    found = extremes(result)
    lowest, highest = found["seq_rep_4"]
    assert (lowest.label, highest.label) == ("T 1.5", "T 0"), "greedy decoding repeats itself"
    assert (lowest.is_best, highest.is_best) == (True, False)
    assert not any(end.is_best for end in found["perplexity"])


def test_only_distinguishable_ends_are_marked_better(tuning):
    change(tuning, x="0, 1.5", y=AxisInput("none"))
    result = finished(tuning).work.result
    plain = result.cells

    def found(**columns: object) -> dict:
        result.__dict__["cells"] = plain.assign(**{"texts": 4, **columns})
        return extremes(result)

    overlapping = found(
        **{"seq_rep_4": [0.02, 0.01], "seq_rep_4_sd": 0.05, "looped": [0.5, 0.25]},
        **{"loop_tokens": [9.0, 0.0], "loop_tokens_sd": 1.0},
    )
    assert [end.is_best for end in overlapping["seq_rep_4"]] == [False, False]
    assert overlapping["seq_rep_4"][1].high == pytest.approx(0.02 + 1.96 * 0.05 / 2)
    assert [end.is_best for end in overlapping["loop_tokens"]] == [True, False]
    assert [end.is_best for end in overlapping["looped"]] == [False, False], "one text of four"

    columns = {"looped": [0.5, 0.0], "seq_rep_4": [0.5, 0.1], "seq_rep_4_sd": [0.0, 0.01]}
    equal = found(**columns)
    low, _ = equal["looped"]
    assert (low.low, low.is_best) == (0, False) and low.high == pytest.approx(0.602, abs=0.001)
    assert not any(end.is_best for end in equal["seq_rep_4"]), "four equal texts say little"
    assert [end.is_best for end in found(**columns, texts=20)["looped"]] == [True, False]


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
