"""The tune page without a browser: its fields, the sweep, the links to other pages and back."""

import pytest
from streamlit.testing.v1 import AppTest

from engine.sampling import SamplingSettings
from tests.charts import charts
from tests.pages.tab import in_tab, left, new_app, restarted, visit_of
from tests.pages.translated import left_in_english
from tests.ui.tune.sweeping import PATIENCE_S, finished
from ui.tune import results as tune_results
from ui.tune.metrics import TRADE_OFFS
from ui.tune.tuning import EXAMPLES, Tuning


def opened(token: str = "") -> AppTest:
    """Open the page in a tab; with a token, as after a reload."""
    app = in_tab(new_app(), token).run()
    return app.switch_page("pages/tune.py").run()


@pytest.fixture
def app(monkeypatch) -> AppTest:
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    app = opened()
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


def test_page_opens_with_a_finished_sweep(app):
    assert session(app).work.result.is_complete
    assert any("25 texts" in element.value for element in app.markdown)
    assert len(charts(app)) == 1
    assert field(app, "text_area", "Prompt 1").value == EXAMPLES[0].prompts[0]
    app.session_state["language"] = "de"
    assert left_in_english(app.run(), "de") == [] and not app.error


def test_run_sweep_executes_the_plan_from_fields(app):
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


def test_invalid_values_get_error_and_keep_result(app):
    before = session(app).work
    field(app, "text_input", "X values").set_value("0.5, `hot`").run()
    assert app.error[0].value.startswith("X values contain something that is not a number")
    assert r"\`hot\`" in app.error[0].value
    assert field(app, "button", "Run sweep").disabled
    assert session(app).work is before and len(charts(app)) == 1
    field(app, "text_input", "X values").set_value("0.5").run()
    assert not app.error
    for _ in range(2):  # the field that replaced the first one is reset too
        field(app, "number_input", "Seeds").set_value(0).run()
        assert app.error[0].value.startswith("Seeds is out of range, got 0")
        assert field(app, "number_input", "Seeds").value == 1


def test_prompts_and_stop_string_follow_the_example(app):
    assert field(app, "text_input", "Stop string").value == EXAMPLES[0].stop
    field(app, "text_area", "Prompt 1").set_value("Write a poem.").run()
    assert field(app, "text_input", "Stop string").value == ""
    assert any("belonged to the example" in element.value for element in app.info)
    field(app, "selectbox", "Example").set_value("Three support answers").run()
    assert [element.value for element in app.text_area] == list(EXAMPLES[1].prompts)
    press(app, "Remove prompt 3")
    press(app, "Add prompt")
    assert [element.value for element in app.text_area] == [*EXAMPLES[1].prompts[:2], ""]
    assert app.error[0].value.startswith("Prompt 3 is empty")


def test_every_view_shows_the_chosen_cell(app):
    field(app, "selectbox", "Cell: Temperature").set_value(0).run()
    assert any(element.value.startswith("**T 0.4, p 0.9**") for element in app.markdown)
    for view in ("Trade-off", "Lowest and highest", "Export"):
        session(app).view = view
        app.run()
        assert not app.exception
        assert bool(app.get("download_button")) == (view == "Export")
        assert len(charts(app)) == 1 + (view == "Trade-off")
    code = app.get("code")[0].value
    assert "temperature=0.4" in code and "top_p=0.9" in code
    for names in TRADE_OFFS.values():
        assert 1 <= len(session(app).work.result.pareto(*names)) <= 25


def test_use_these_settings_hands_over_the_chosen_cell(app, monkeypatch):
    handed = []
    monkeypatch.setattr(tune_results, "open_in_step_page", lambda visit, text: handed.append(text))
    session(app).choose(0, 4)
    press(app, "Use these settings")
    assert handed[0].beginning.prompt == EXAMPLES[0].prompts[0]
    assert handed[0].settings == SamplingSettings(temperature=0.4, seed=0)
    assert handed[0].model is session(app).model
    assert handed[0].stop_strings == ("\nCustomer:",)


# --- reload, restart, copies ----------------------------------------------------------------------


def test_reload_keeps_state_and_second_tab_copies_it(app):
    field(app, "text_input", "X values").set_value("0.5, 1").run()
    tuning = session(app)
    other = opened(visit_of(app).token)
    assert not other.exception and session(other) is not tuning
    assert session(other).work.result.texts.equals(tuning.work.result.texts)
    again = opened(left(app))
    assert session(again) is tuning
    assert field(again, "text_input", "X values").value == "0.5, 1"


def test_inputs_view_and_sweep_survive_a_restart(app):
    field(app, "text_input", "X values").set_value("0.5, 1")
    field(app, "text_area", "Prompt 1").set_value("One").run()
    press(app, "Add prompt")
    session(app).set_prompt(1, "Two")
    session(app).choose(3, 1)
    session(app).view, session(app).metric = "Lowest and highest", "length"
    before = session(app)
    restarted(app)
    app.run()
    assert not app.exception
    after = session(app)
    assert after is not before
    assert (after.inputs.prompts, after.inputs.x.text) == (("One", "Two"), "0.5, 1")
    assert (after.view, after.metric, after.chosen) == ("Lowest and highest", "length", (3, 1))
    assert after.work.result.texts.equals(before.work.result.texts)
    assert after.work.result.cells.equals(before.work.result.cells)
    assert after.work.is_done and not after.is_running
    assert after.export().equals(before.export())
    assert after.plan.sweep == before.plan.sweep


def test_unfinished_sweep_is_restored_and_continues(app):
    tuning = session(app)
    inputs = tuning.inputs
    tuning.change(
        x=inputs.x.typed("0.5, 1, 1.5"), y=inputs.y.typed("0.9, 1"), max_tokens=6, seeds=3
    )
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
    assert any("Continue resumes from here" in element.value for element in app.info)
    press(app, "Continue")
    again.work.wait(PATIENCE_S)
    assert again.work.is_done
    assert again.work.result.texts.equals(whole.texts)
    assert again.work.result.token_ids == whole.token_ids


def test_broken_record_warns_and_starts_new_sweep(app):
    for name, value in (("work", {"sweep": 3}), ("axes", []), ("seeds", 10**6), ("base", None)):
        restarted(app)
        visit_of(app)._records["tuning"][name] = value
        app.run()
        assert not app.exception
        assert app.warning[0].value.startswith("Your last sweep could not be read"), name
        session(app).work.wait(PATIENCE_S)


def test_every_cell_keeps_to_the_constraint(app):
    field(app, "selectbox", "Constraint of every cell").set_value("regex").run()
    field(app, "text_area", "Source: Regular expression").set_value("[a-z").run()
    assert "unclosed character class" in app.error[0].value
    field(app, "text_area", "Source: Regular expression").set_value(" [0-9]{2}").run()
    assert not app.error
    field(app, "text_input", "X values").set_value("0.5, 1.5").run()
    press(app, "Run sweep")
    session(app).work.wait(PATIENCE_S)
    texts = session(app).work.result.texts["text"]
    assert len(texts) == 10
    assert all(text[0] == " " and len(text) == 3 and text[1:].isdigit() for text in texts)
    with pytest.raises(StopIteration):
        field(app, "text_area", "Source: JSON schema")
