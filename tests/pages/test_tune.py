"""The tune page without a browser: what can be swept over, the sweep, its cells."""

import io
import json
import threading
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from engine.model import LanguageModel, load_model
from engine.sampling import Banned, Dry, SamplingSettings
from engine.sweep import MOST_TEXTS
from tests.pages.tab import in_tab, left, visit_of
from tests.ui import hostile
from ui.models.chooser import Choice, shared_model
from ui.tune import results as tune_results
from ui.tune.metrics import METRICS, TRADE_OFFS, cell_label, extremes
from ui.tune.sweep_work import SweepWork
from ui.tune.tuning import EXAMPLES, Tuning
from ui.visits.tab import TAB

PAGE = Path(__file__).resolve().parents[2] / "pages" / "tune.py"
PATIENCE_S = 120


@pytest.fixture(scope="module")
def model():
    return shared_model(Choice("bundled"))


@pytest.fixture
def tuning(model) -> Tuning:
    """Inputs for a sweep of six short texts."""
    tuning = Tuning(model)
    tuning.x.texts["temperature"] = "0.5, 1, 1.5"
    tuning.y.texts["top_p"] = "0.9, 1"
    tuning.max_tokens = 6
    return tuning


def finished(tuning: Tuning) -> Tuning:
    tuning.run()
    assert tuning.error == ""
    tuning.work.wait(PATIENCE_S)
    assert tuning.work.is_done
    return tuning


# --- what can be run ------------------------------------------------------------------------------


def test_the_plan_is_the_sweep_that_is_typed(tuning):
    sweep = tuning.plan.sweep
    assert sweep.count == 6
    assert sweep.prompts == EXAMPLES[0].prompts
    assert sweep.stop_strings == ("\nCustomer:",)
    assert [cell.settings.temperature for cell in sweep.cells] == [0.5, 0.5, 1, 1, 1.5, 1.5]


def test_a_million_cells_are_refused_with_the_count_and_nothing_runs(tuning):
    tuning.x.texts["temperature"] = "0.001 to 1 step 0.001"
    tuning.y.texts["top_p"] = "0.001 to 1 step 0.001"
    tuning.run()
    assert f"sweep has more than {MOST_TEXTS:,} texts, got 1,000,000" in tuning.error
    assert "use fewer than 1,000 x 1,000 cells" in tuning.error
    assert tuning.work is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x": "0.5, -1"}, "X values: temperature must not be negative, got -1; "),
        ({"x": "1, 1e9"}, "X values: temperature must be at most 1,000,000, got 1,000,000,000; "),
        ({"y": "0.5, 1.2"}, "Y values: top_p must be above 0 and at most 1, got 1.2; "),
        ({"y": "0.5, 0.50"}, "Y values hold a value twice, got 0.5; "),
        ({"prompts": ["a", ""]}, "Prompt 2 is empty"),
        ({"x": "0.1 to 6 step 0.1", "y": "0.02 to 1 step 0.02"}, "grid has more than 2,500 cells"),
        ({"max_tokens": 512, "seeds": 64, "x": "0.1 to 9 step 0.1"}, "has 11,520 texts with more"),
    ],
)
def test_what_cannot_be_run_is_said_before_it_runs(tuning, change, sentence):
    for name, value in change.items():
        if name in ("x", "y"):
            axis = getattr(tuning, name)
            axis.texts[axis.setting] = value
        else:
            setattr(tuning, name, value)
    assert tuning.plan.sweep is None
    assert sentence in tuning.plan.problem
    assert tuning.plan.problem.count("got") <= 1, "said twice"


def test_a_value_beyond_the_vocabulary_names_axis_and_value(tuning):
    tuning.x.setting = "top_k"
    tuning.x.texts["top_k"] = "5, 10000000"
    assert tuning.plan.problem.startswith("X values: top_k is above the vocabulary")
    assert tuning.plan.problem.count("10,000,000") == 1


@pytest.mark.parametrize(
    ("change", "typed", "sentence"),
    [
        ("set_seeds", 0, "Seeds is out of range, got 0; use a whole number from 1 to 64."),
        ("set_seeds", 2.5, "Seeds must be a whole number, got 2.5; use a whole number from 1 to"),
        ("set_max_tokens", 513, "Max tokens is out of range, got 513; use a whole number from 1 "),
        ("set_max_tokens", None, "Max tokens is empty; use a whole number from 1 to 512."),
    ],
)
def test_a_bad_number_is_said_and_the_field_shows_the_one_before(tuning, change, typed, sentence):
    before, revision = tuning.plan.sweep, tuning.revision
    getattr(tuning, change)(typed)
    assert tuning.error.startswith(sentence)
    assert tuning.plan.sweep == before
    assert tuning.revision == revision + 1


def test_the_same_setting_on_both_axes_is_refused(tuning):
    tuning.y.setting = "temperature"
    assert tuning.plan.problem.startswith("Y axis is the setting of the X axis too, got 'Temper")


def test_a_refused_base_setting_leaves_the_one_before_and_a_fresh_field(tuning):
    tuning.set_base("min_p", 0.1)
    revision = tuning.revision
    tuning.set_base("min_p", 7)
    assert "min_p must be between 0 and 1, got 7" in tuning.error
    assert tuning.base.min_p == 0.1
    assert tuning.revision == revision + 1


def test_what_the_settings_before_would_have_lost_is_no_error(tuning):
    other = LanguageModel(hostile.language_model(context=64), hostile.tokenizer(), name="other")
    tuning.base = SamplingSettings(chain=[Banned([[5]])])
    tuning.take_settings(SamplingSettings(top_p=0.8, seed=3), other)
    assert tuning.error == ""
    assert (tuning.model, tuning.base.top_p, tuning.base.stage("banned")) == (other, 0.8, None)


def test_a_seed_of_the_step_page_changes_no_sweep(tuning, model):
    tuning.take_settings(SamplingSettings(top_k=7, seed=1), model)
    finished(tuning)
    tuning.take_settings(SamplingSettings(top_k=7, seed=2), model)
    assert not tuning.has_changed


def test_base_settings_hold_in_every_cell_also_those_of_several_fields(tuning, model):
    tuning.take_settings(SamplingSettings(chain=[Dry(0.8)], seed=3), model)
    tuning.set_base("top_k", 7)
    assert all(cell.settings.top_k == 7 for cell in tuning.plan.sweep.cells)
    assert all(cell.settings.dry.multiplier == 0.8 for cell in tuning.plan.sweep.cells)


# --- the sweep ------------------------------------------------------------------------------------


def test_a_sweep_gives_every_cell_its_texts_and_metrics(tuning):
    tuning.seeds = 2
    result = finished(tuning).work.result
    assert result.is_complete
    assert len(result.cells) == 6
    assert set(result.cells["texts"]) == {2}
    assert tuning.work.share == 1
    assert tuning.work.texts_done == 12
    assert set(METRICS) <= set(result.cells.columns)


def test_a_cell_has_the_texts_of_its_own_settings(tuning):
    # In float32: in bfloat16 a text depends on how many others share its passes.
    model = tuning.model = load_model(dtype="float32")
    finished(tuning)
    tuning.choose_number(5)
    assert tuning.chosen == (2, 1)
    assert (tuning.chosen_settings.temperature, tuning.chosen_settings.top_p) == (1.5, 1)
    (text,) = tuning.chosen_texts()["text"]
    alone = Tuning(model)
    alone.x.texts["temperature"], alone.y.setting = "1.5", "none"
    alone.max_tokens = 6
    (same,) = finished(alone).chosen_texts()["text"]
    assert text == same


def test_a_cell_that_is_not_there_is_passed_over(tuning):
    finished(tuning).choose(2, 1)
    tuning.choose(3, 0)
    tuning.choose(0, -1)
    assert tuning.chosen == (2, 1)


class Gate:
    """Holds a sweep after so many looks at whether its visitor is there."""

    def __init__(self, monkeypatch) -> None:
        monkeypatch.setattr("ui.skeleton.background.LOOK_SECONDS", 0)
        monkeypatch.setattr("ui.tune.sweep_work.SUM_UP_SECONDS", 0)
        self.reached, self.go_on = threading.Event(), threading.Event()
        self.work: SweepWork | None = None

    def __call__(self) -> bool:
        if self.work and self.work.texts_done >= 3:
            self.reached.set()
            self.go_on.wait(PATIENCE_S)
        return True


def test_cancel_keeps_what_is_there_and_continue_comes_to_the_same_texts(
    tuning, model, monkeypatch
):
    monkeypatch.setattr("ui.tune.sweep_work.MAX_ROWS", 3)
    whole = finished(tuning).work.result.texts
    gate = Gate(monkeypatch)
    work = gate.work = SweepWork(tuning.plan.sweep, model, tuning.prompts)
    work.start(gate)
    assert gate.reached.wait(PATIENCE_S)
    work.cancel()
    gate.go_on.set()
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


def test_a_visitor_who_has_gone_for_good_ends_the_sweep(tuning, model, monkeypatch):
    monkeypatch.setattr("ui.skeleton.background.LOOK_SECONDS", 0)
    monkeypatch.setattr("ui.skeleton.background.GRACE_SECONDS", -1)
    work = SweepWork(tuning.plan.sweep, model, tuning.prompts)
    work.start(lambda: False)
    work.wait(PATIENCE_S)
    assert not work.is_running
    assert not work.is_done


def test_the_opening_sweep_is_made_once_for_all_visitors(tuning, model):
    tuning.run(for_all=True)
    tuning.work.wait(PATIENCE_S)
    second = Tuning(model)
    second.x, second.y, second.max_tokens = tuning.x, tuning.y, tuning.max_tokens
    second.run(for_all=True)
    assert second.work.is_done
    assert second.work.result is tuning.work.result
    second.seeds = 2
    second.run(for_all=True)
    assert not second.work.is_done or second.work.result is not tuning.work.result
    second.work.wait(PATIENCE_S)


def test_export_names_settings_and_prompts_and_survives_both_formats(tuning):
    tuning.prompts = ["One", "Two"]
    frame = finished(tuning).export()
    assert len(frame) == 12
    assert set(frame["prompt"]) == {"One", "Two"}
    assert {"temperature", "top_p", "seed", "text", "perplexity"} <= set(frame.columns)
    chain = json.loads(frame["chain"].iloc[0])
    assert chain == [["temperature", {"temperature": 0.5}], ["top_p", {"p": 0.9}]]
    again = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
    assert again["temperature"].tolist() == frame["temperature"].tolist()
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    assert pd.read_parquet(buffer)["text"].tolist() == frame["text"].tolist()


def test_one_axis_only(tuning):
    tuning.y.setting = "none"
    finished(tuning)
    assert tuning.plan.sweep.count == 3
    assert "y" not in tuning.export().columns
    found = extremes(tuning.work.result)
    assert found["mean_logprob"][1].label.startswith("T ")
    assert cell_label(tuning.work.sweep, 0.5, None) == "T 0.5"


def test_extremes_tell_the_better_end(tuning):
    found = extremes(finished(tuning).work.result)
    lowest, highest = found["perplexity"]
    assert lowest.value < highest.value
    assert (lowest.is_best, highest.is_best) == (True, False)
    assert (found["mean_logprob"][0].is_best, found["mean_logprob"][1].is_best) == (False, True)


# --- the page -------------------------------------------------------------------------------------


@pytest.fixture
def app(monkeypatch) -> AppTest:
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    app = in_tab(AppTest.from_file(str(PAGE), default_timeout=PATIENCE_S)).run()
    session(app).work.wait(PATIENCE_S)
    app.run()
    assert not app.exception
    return app


def session(app: AppTest) -> Tuning:
    return visit_of(app).present("tuning")


def field(app: AppTest, kind: str, label: str):
    return next(element for element in app.get(kind) if element.label == label)


def press(app: AppTest, label: str) -> AppTest:
    return field(app, "button", label).click().run()


def test_the_page_opens_with_a_sweep_that_is_done(app):
    assert session(app).work.result.is_complete
    assert any("25 texts" in element.value for element in app.markdown)
    assert len(app.get("plotly_chart")) == 1
    assert field(app, "text_area", "Prompt 1").value == EXAMPLES[0].prompts[0]


def test_fields_change_the_plan_and_run_makes_it(app):
    field(app, "text_input", "X values").set_value("0.5, 1")
    field(app, "selectbox", "Y axis").set_value("top_k").run()
    field(app, "text_input", "Y values").set_value("5 to 15 step 5")
    field(app, "number_input", "Seeds").set_value(2)
    field(app, "number_input", "Max tokens").set_value(5).run()
    assert any("2 × 3 cells × 2 seeds" in element.value for element in app.markdown)
    press(app, "Run sweep")
    session(app).work.wait(PATIENCE_S)
    app.run()
    assert not app.exception
    assert session(app).work.result.texts["length"].max() <= 5
    assert field(app, "selectbox", "Cell: Top-k").options == ["5", "10", "15"]


def test_nonsense_is_answered_in_words_and_the_result_stays(app):
    before = session(app).work
    field(app, "text_input", "X values").set_value("0.5, `hot`").run()
    assert app.error[0].value.startswith("X values hold something that is no number")
    assert r"\`hot\`" in app.error[0].value
    assert field(app, "button", "Run sweep").disabled
    assert session(app).work is before
    assert len(app.get("plotly_chart")) == 1
    field(app, "text_input", "X values").set_value("0.5").run()
    assert not app.error


def test_an_example_replaces_the_prompts(app):
    field(app, "selectbox", "Example").set_value("Three support answers").run()
    shown = [element.value for element in app.text_area]
    assert shown == list(EXAMPLES[1].prompts)
    press(app, "Remove prompt 3")
    press(app, "Add a prompt")
    assert [element.value for element in app.text_area] == [*EXAMPLES[1].prompts[:2], ""]
    assert app.error[0].value.startswith("Prompt 3 is empty")


def test_a_click_in_the_heatmap_chooses_a_cell(app, monkeypatch):
    state = {"tune_heatmap": type("State", (), {})(), TAB: app.session_state[TAB]}
    state["tune_heatmap"].selection = type("S", (), {"points": [{"customdata": [4, 0]}]})()
    monkeypatch.setattr(tune_results.st, "session_state", state)
    tune_results._on_cell()
    monkeypatch.undo()
    app.run()
    assert field(app, "selectbox", "Cell: Temperature").value == 4
    assert any(element.value.startswith("**T 1.6, p 0.5**") for element in app.markdown)


def test_the_cell_can_be_chosen_without_a_mouse(app):
    field(app, "selectbox", "Cell: Temperature").set_value(0).run()
    assert any(element.value.startswith("**T 0.4, p 0.9**") for element in app.markdown)


@pytest.mark.parametrize("view", ["Trade-off", "Best cells", "Export"])
def test_every_view_can_be_drawn(app, view):
    session(app).view = view
    app.run()
    assert not app.exception
    assert bool(app.get("download_button")) == (view == "Export")
    assert len(app.get("plotly_chart")) == 1 + (view == "Trade-off")


@pytest.mark.parametrize("trade_off", TRADE_OFFS)
def test_every_trade_off_has_a_front(app, trade_off):
    names = TRADE_OFFS[trade_off]
    front = session(app).work.result.pareto(*names)
    assert 1 <= len(front) <= 25


def test_use_these_settings_hands_over_the_cell_its_prompt_and_seed(app, monkeypatch):
    handed = []
    monkeypatch.setattr(tune_results, "open_in_step_page", lambda visit, text: handed.append(text))
    session(app).choose(0, 4)
    press(app, "Use these settings")
    assert handed[0].beginning.prompt == EXAMPLES[0].prompts[0]
    assert handed[0].settings == SamplingSettings(temperature=0.4, seed=0)
    assert handed[0].model is session(app).model
    assert handed[0].stop_strings == ("\nCustomer:",)


def test_take_away_code_is_of_the_chosen_cell(app):
    session(app).choose(0, 0)
    app.run()
    code = app.get("code")[0].value
    assert "temperature=0.4" in code
    assert "top_p=0.5" in code


# --- reload, restart, copies ----------------------------------------------------------------------


def restarted(app: AppTest) -> None:
    """Let the visit forget what is in memory, and read its records as from a disk."""
    visit = visit_of(app)
    records = {name: held.state.record() for name, held in visit._pages.items()}
    visit._pages.clear()
    visit._records = json.loads(json.dumps(records))


def test_everything_is_there_after_a_reload(app):
    field(app, "text_input", "X values").set_value("0.5, 1").run()
    tuning = session(app)
    again = in_tab(AppTest.from_file(str(PAGE), default_timeout=PATIENCE_S), left(app)).run()
    assert session(again) is tuning
    assert field(again, "text_input", "X values").value == "0.5, 1"


def test_inputs_view_and_the_finished_sweep_are_there_after_a_restart(app):
    field(app, "text_input", "X values").set_value("0.5, 1")
    field(app, "text_area", "Prompt 1").set_value("One").run()
    press(app, "Add a prompt")
    session(app).set_prompt(1, "Two")
    session(app).choose(3, 1)
    session(app).view, session(app).metric = "Best cells", "length"
    before = session(app)
    restarted(app)
    app.run()
    assert not app.exception
    after = session(app)
    assert after is not before
    assert (after.prompts, after.x.text) == (["One", "Two"], "0.5, 1")
    assert (after.view, after.metric, after.chosen) == ("Best cells", "length", (3, 1))
    assert after.work.result.texts.equals(before.work.result.texts)
    assert after.work.result.cells.equals(before.work.result.cells)
    assert after.work.is_done and not after.is_running
    assert after.export().equals(before.export())
    assert after.plan.sweep == before.plan.sweep


def test_a_sweep_under_way_comes_back_with_its_finished_texts_and_goes_on(app):
    tuning = session(app)
    tuning.x.texts["temperature"], tuning.y.texts["top_p"] = "0.5, 1, 1.5", "0.9, 1"
    tuning.max_tokens, tuning.seeds = 6, 3
    finished(tuning)
    whole = tuning.work.result
    half = tuning.work.sweep.run(tuning.model, max_rows=4)
    for progress in half:
        if progress.texts_done >= 7:
            break
    tuning.work.result = half.result()
    restarted(app)
    app.run()
    assert not app.exception
    again = session(app)
    assert not again.work.is_done and not again.is_running
    assert 0 < again.work.texts_done < 18
    assert any("Continue goes on from here" in element.value for element in app.info)
    press(app, "Continue")
    again.work.wait(PATIENCE_S)
    assert again.work.is_done
    assert again.work.result.texts.equals(whole.texts)
    assert again.work.result.token_ids == whole.token_ids


def test_a_broken_record_is_a_sentence_and_a_new_sweep(app):
    for name, value in (("work", {"sweep": 3}), ("axes", []), ("seeds", 10**6), ("base", None)):
        restarted(app)
        visit_of(app)._records["tuning"][name] = value
        app.run()
        assert not app.exception
        assert app.warning[0].value.startswith("Your last sweep could not be read"), name
        session(app).work.wait(PATIENCE_S)


def test_a_second_tab_has_a_copy_of_its_own(app):
    token = visit_of(app).token
    app.run()
    other = in_tab(AppTest.from_file(str(PAGE), default_timeout=PATIENCE_S), token).run()
    assert not other.exception
    assert session(other) is not session(app)
    assert session(other).work.result.texts.equals(session(app).work.result.texts)
