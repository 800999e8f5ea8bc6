"""The compare page without a browser: its fields, and the ways to other pages and back."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from tests.pages.test_compare import PROMPT, ids
from tests.ui import hostile
from ui.compare.column import OWN, PRESETS
from ui.compare.comparison import Comparison
from ui.shared import page as shell
from ui.step import page as step_page

ROOT = Path(__file__).resolve().parents[2]
PAGE = "pages/compare.py"


@pytest.fixture
def app(monkeypatch, folder) -> AppTest:
    monkeypatch.setenv("DECODING_MODEL", folder)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    assert not app.exception
    return at_compare(app)


def at_compare(app: AppTest) -> AppTest:
    app.switch_page(PAGE).run()
    assert not app.exception
    return app


def held(app: AppTest) -> Comparison:
    return app.session_state["compare"]


def field(app: AppTest, column: int, name: str):
    fields = held(app).column(column).fields
    return app.number_input(key=f"compare_{column}_{fields}_{name}")


def test_all_pages_are_in_the_navigation():
    files = {f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py")}
    assert files == set(shell.PAGES)


def test_the_page_opens_with_texts_and_a_caption(app):
    assert not app.error
    assert any(caption.value.startswith("Notice") for caption in app.caption)
    assert all(column.length for column in held(app).columns)


def test_fields_change_a_column_and_a_refusal_is_a_sentence(app):
    field(app, 2, "top_p").set_value(0.5).run()
    assert held(app).column(2).settings.top_p == 0.5
    assert app.selectbox(key="compare_2_preset_1").value == OWN
    field(app, 2, "top_p").set_value(7.0).run()
    assert not app.exception
    assert app.error[0].value.startswith("top_p must be above 0")
    assert field(app, 2, "top_p").value == 0.5
    app.selectbox(key=f"compare_2_preset_{held(app).column(2).presets}").set_value("Code").run()
    assert held(app).column(2).settings.chain == PRESETS["Code"].chain
    assert field(app, 2, "temperature").value == 0.2


def test_a_further_stage_can_be_added(app):
    fields = held(app).column(2).fields
    app.selectbox(key=f"compare_2_{fields}_further").set_value("typical_p").run()
    field(app, 2, "typical_p").set_value(0.4).run()
    assert held(app).column(2).settings.typical_p == 0.4


def test_everything_is_there_after_a_visit_to_another_page(app):
    app.text_area(key="compare_0_prompt").set_value("w4|w5").run()
    field(app, 3, "min_p").set_value(0.2).run()
    app.button(key="compare_add").click().run()
    texts = [ids(column) for column in held(app).columns]
    app.switch_page(shell.HOME).run()
    at_compare(app)
    assert app.text_area(key="compare_0_prompt").value == "w4|w5"
    assert field(app, 3, "min_p").value == 0.2
    assert [ids(column) for column in held(app).columns] == texts
    assert len(texts) == 5


def test_a_column_opens_in_the_step_page(app):
    field(app, 4, "min_p").set_value(0.2).run()
    wanted = held(app).effective(held(app).column(4))
    app.button(key="compare_4_open").click().run()
    assert not app.exception
    session = app.session_state["session"]
    assert session.prompt == held(app).prompt
    assert session.settings == wanted
    assert "min_p" in session.order
    for _ in range(5):
        session.decoder.step()
    assert session.decoder.token_ids == ids(held(app).column(4))[:5]


def test_what_is_handed_over_stops_where_it_did_before(app):
    model = app.session_state["session"].model
    handed = shell.HandedOver(model, PROMPT, SamplingSettings(seed=3), False, 9, ("w4", "w5"))
    app.session_state[shell._HANDED_OVER] = handed
    app.switch_page(shell.HOME).run()
    assert not app.exception
    session = app.session_state["session"]
    assert session.decoder.stop_strings == ("w4", "w5")
    assert (session.prompt, session.max_tokens, session.settings) == (PROMPT, 9, handed.settings)


def test_the_step_page_s_prompt_and_settings_come_over(app):
    session = app.session_state["session"]
    settings = SamplingSettings(temperature=0.9, top_k=5, seed=11)
    session.decoder.settings = settings
    app.button(key="compare_3_from").click().run()
    assert held(app).prompt == session.prompt
    assert held(app).effective(held(app).column(3)) == settings
    assert field(app, 3, "top_k").value == 5


def test_the_step_page_s_model_comes_over_although_it_has_no_chat_template(app):
    session, comparison = app.session_state["session"], held(app)
    tokenizer = hostile.tokenizer()
    tokenizer.chat_template = "w7|{{ messages[0]['content'] }}"
    comparison.load(LanguageModel(hostile.language_model(), tokenizer, name="chat"))
    comparison.set_prompt(PROMPT, chat=True)
    assert comparison.chat
    app.run()
    app.button(key="compare_3_from").click().run()
    assert not app.exception
    assert held(app).model is session.model
    assert (held(app).prompt, held(app).chat, held(app).error) == (session.prompt, False, "")


def test_what_was_handed_over_is_not_replaced_by_what_the_tab_remembers(app, monkeypatch):
    del app.session_state["session"]  # the page was reloaded here, so the step page has none yet
    app.button(key="compare_1_open").click().run()
    session = app.session_state["session"]
    event = {"client": "tab", "number": 1, "kind": "resume", "token": "of before"}
    monkeypatch.setattr(step_page, "sent_event", lambda: event)
    monkeypatch.setattr(step_page.st, "session_state", app.session_state)
    step_page._on_event()
    monkeypatch.undo()
    assert app.session_state["session"] is session
    assert (session.error, session.acknowledged) == ("", ("tab", 1))


@pytest.mark.parametrize(
    ("typed", "got"), [(0, "0"), (-5, "-5"), (1_000_000, "1,000,000"), (2.5, "2.5")]
)
def test_a_bad_number_of_samples_is_said_and_sample_waits(app, typed, got):
    app.number_input(key="compare_samples").set_value(typed).run()
    assert not app.exception
    (error,) = app.error
    assert error.value.startswith("Samples per setting ")
    assert error.value.endswith(f", got {got}; use a whole number from 1 to 200.")
    assert app.button(key="compare_sample").disabled
    app.number_input(key="compare_samples").set_value(3).run()
    assert not app.error
    assert not app.button(key="compare_sample").disabled


@pytest.mark.parametrize(("name", "typed"), [("max_tokens", 0), ("max_tokens", 7.5), ("seed", -1)])
def test_a_bad_number_in_a_common_field_is_said_and_the_field_goes_back(app, name, typed):
    before = app.number_input(key=f"compare_0_{name}").value
    app.number_input(key=f"compare_0_{name}").set_value(typed).run()
    assert app.error[0].value.startswith(("Max tokens ", "Seed "))
    assert app.number_input(key=f"compare_1_{name}").value == before


def test_samples_are_made_and_can_be_taken_away(app):
    app.number_input(key="compare_0_max_tokens").set_value(6).run()
    app.number_input(key="compare_samples").set_value(2).run()
    app.button(key="compare_sample").click().run()
    held(app).sampling.wait()
    app.run()
    assert not app.exception
    assert len(held(app).sampling.samples()) == 8
    assert app.get("download_button")
