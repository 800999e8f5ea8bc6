"""The compare page without a browser: its fields, and the links to other pages and back."""

import secrets

import pytest
from streamlit.testing.v1 import AppTest

from engine.errors import ModelError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.presets import PRESETS
from tests.pages.tab import field, in_tab, left, new_app, restarted, visit_of
from tests.pages.translated import left_in_english
from tests.ui import hostile
from tests.ui.compare.comparing import PROMPT, ids, settle
from ui.compare.column import OWN
from ui.compare.comparison import Comparison
from ui.models.models import SharedModels
from ui.shell import navigation
from ui.step.channel import step_session
from ui.step.session import Session
from ui.texts.examples import Example
from ui.visits.tab import TAB

PAGE = "pages/compare.py"
TOKENS = 6


@pytest.fixture
def app(monkeypatch, folder) -> AppTest:
    monkeypatch.setenv("DECODING_MODEL", folder)
    monkeypatch.setattr("ui.models.chooser.MODELS", SharedModels())
    app = in_tab(new_app()).run()
    assert not app.exception
    step_of(app)
    return at_compare(app)


def step_of(app: AppTest) -> Session:
    """Return the step page's session in the same tab."""
    return step_session(visit_of(app))


def at_compare(app: AppTest) -> AppTest:
    is_new = not visit_of(app).has("compare")
    app.switch_page(PAGE).run()
    for _ in range(TOKENS if is_new else 0):  # only the bundled model begins by itself
        held(app).player.step()
    settle(held(app))  # on a busy machine, the texts are still growing when the page is drawn
    app.run()
    assert not app.exception
    return app


def held(app: AppTest) -> Comparison:
    return visit_of(app).present("compare")


def number(app: AppTest, column: int, name: str):
    return field(app, "number_input", f"compare_{column}_{name}")


def test_the_page_opens_with_texts_and_a_caption(app):
    assert not app.error
    assert any(caption.value.startswith("≠ marks the first") for caption in app.caption)
    assert all(column.length for column in held(app).columns)
    app.session_state["language"] = "de"
    assert left_in_english(app.run(), "de") == [] and not app.error


def test_model_failure_shows_error_and_chooser(monkeypatch, app):
    def refused(_visit) -> None:
        raise ModelError("The weights are damaged; download them again.")

    monkeypatch.setattr("ui.visit_page.model_of", refused)
    visit_of(app)._pages.clear()
    app.run()
    assert not app.exception
    assert [error.value for error in app.error] == ["The weights are damaged; download them again."]
    assert app.button(key="model_button")


def test_fields_change_a_column_or_show_an_error(app):
    number(app, 2, "top_p").set_value(0.5).run()
    assert held(app).column(2).settings.top_p == 0.5
    assert field(app, "selectbox", "compare_2_preset").value == OWN
    number(app, 2, "top_p").set_value(7.0).run()
    assert not app.exception
    assert app.error[0].value.startswith("Top-p must be above 0")
    assert number(app, 2, "top_p").value == 0.5
    field(app, "selectbox", "compare_2_preset").set_value("Code").run()
    assert held(app).column(2).settings.chain == PRESETS["Code"].chain
    assert number(app, 2, "temperature").value == 0.2


def test_another_sampler_can_be_added(app):
    app.selectbox(key="compare_2_another_").set_value("typical_p").run()
    number(app, 2, "typical_p").set_value(0.4).run()
    assert held(app).column(2).settings.typical_p == 0.4
    assert number(app, 2, "typical_p").value == 0.4


def test_example_sets_prompt_but_keeps_column_settings(app, monkeypatch):
    example = Example("Here", "w8|w9", "Look.")
    monkeypatch.setattr("ui.compare.page.examples_of", lambda model: (example,))
    app.run()
    settings = [column.settings for column in held(app).columns]
    field(app, "selectbox", "compare_example").set_value("Here").run()
    assert held(app).inputs.prompt == field(app, "text_area", "compare_prompt").value == "w8|w9"
    assert field(app, "selectbox", "compare_example").value is None
    assert [column.settings for column in held(app).columns] == settings


def test_parts_below_keep_their_place_when_content_changes(app):
    """A part that moves is mounted again, and its old copy lingers next to it for a moment."""
    with_texts = path_of_samples(app)
    app.button(key="compare_rewind").click().run()
    assert any(caption.value.startswith("All texts are the same") for caption in app.caption)
    assert path_of_samples(app) == with_texts
    number(app, 2, "top_p").set_value(7.0).run()
    assert app.error and path_of_samples(app) == with_texts


def path_of_samples(app: AppTest) -> list[int]:
    """Return the position of the number of samples on the page: places within places."""
    path, block = [], app.main
    while hasattr(block, "children"):
        place, block = next(
            (place, node)
            for place, node in block.children.items()
            if "compare_samples" in (getattr(inner, "key", None) for inner in node)
        )
        path.append(place)
    return path


def test_empty_texts_show_a_message_instead_of_chart(app):
    assert "Nothing generated yet." not in [caption.value for caption in app.caption]
    app.button(key="compare_rewind").click().run()
    assert "Nothing generated yet." in [caption.value for caption in app.caption]


def test_disabled_play_button_gives_its_reason(app):
    assert not app.button(key="compare_play").disabled
    field(app, "number_input", "compare_max_tokens").set_value(TOKENS).run()
    assert app.button(key="compare_play").disabled
    assert any("raise Max tokens" in caption.value for caption in app.caption)


def test_state_survives_a_change_of_page(app):
    field(app, "text_area", "compare_prompt").set_value("w4|w5").run()
    number(app, 3, "min_p").set_value(0.2).run()
    app.button(key="compare_add").click().run()
    texts = [ids(column) for column in held(app).columns]
    app.switch_page(navigation.HOME).run()
    at_compare(app)
    assert field(app, "text_area", "compare_prompt").value == "w4|w5"
    assert number(app, 3, "min_p").value == 0.2
    assert [ids(column) for column in held(app).columns] == texts
    assert len(texts) == 5


def test_a_column_opens_in_the_step_page(app):
    number(app, 4, "min_p").set_value(0.2).run()
    wanted = held(app).inputs.effective(held(app).column(4))
    app.button(key="compare_4_open").click().run()
    assert not app.exception
    session = step_of(app)
    assert session.prompt == held(app).inputs.prompt
    assert session.settings == wanted
    assert "min_p" in session.order
    for _ in range(5):
        session.decoder.step()
    assert session.decoder.token_ids == ids(held(app).column(4))[:5]


def test_column_takes_step_page_prompt_and_settings(app):
    session = step_of(app)
    settings = SamplingSettings(temperature=0.9, top_k=5, seed=11)
    session.decoder.settings = settings
    app.button(key="compare_3_from").click().run()
    assert held(app).inputs.prompt == session.prompt
    assert held(app).inputs.effective(held(app).column(3)) == settings
    assert number(app, 3, "top_k").value == 5


def test_column_takes_step_page_model_without_chat_template(app):
    session, comparison = step_of(app), held(app)
    tokenizer = hostile.tokenizer()
    tokenizer.chat_template = "w7|{{ messages[0]['content'] }}"
    comparison.load(LanguageModel(hostile.language_model(), tokenizer, name="chat"))
    comparison.change(prompt=PROMPT, chat=True)
    assert comparison.inputs.chat
    app.run()
    app.button(key="compare_3_from").click().run()
    assert not app.exception
    assert held(app).model is session.model
    assert (held(app).inputs.prompt, held(app).inputs.chat, held(app).error) == (
        session.prompt,
        False,
        "",
    )


def test_column_takes_step_page_state_after_restart(app):
    session = step_of(app)
    session.decoder.settings = SamplingSettings(top_k=7, seed=4)
    record = session.record()
    visit = visit_of(app)
    visit._pages.pop("step")
    visit._records["step"] = record
    app.run()
    app.button(key="compare_3_from").click().run()
    assert not app.exception
    assert held(app).column(3).settings.top_k == 7
    assert held(app).inputs.prompt == session.prompt


def test_state_survives_a_reload(app):
    field(app, "text_area", "compare_prompt").set_value("w4|w5").run()
    number(app, 3, "min_p").set_value(0.2).run()
    comparison = held(app)
    again = in_tab(new_app(), left(app))
    at_compare(again.run())
    assert held(again) is comparison
    assert field(again, "text_area", "compare_prompt").value == "w4|w5"


def test_state_survives_a_restart(app):
    field(app, "text_area", "compare_prompt").set_value("w4|w5").run()
    number(app, 3, "min_p").set_value(0.2).run()
    app.button(key="compare_add").click().run()
    field(app, "number_input", "compare_max_tokens").set_value(30).run()
    before = held(app)
    texts = [ids(column) for column in before.columns]
    restarted(app)
    app.run()
    after = held(app)
    assert after is not before
    settle(after)
    assert [ids(column) for column in after.columns] == texts
    assert (after.inputs.prompt, after.inputs.max_tokens) == ("w4|w5", 30)
    assert [c.settings for c in after.columns] == [c.settings for c in before.columns]
    assert after.said == "The texts were generated again. All tokens are the same."
    app.run()
    assert any(after.said in element.value for element in app.info)


def test_work_belongs_to_the_person_of_the_tab(app):
    person = secrets.token_hex(16)
    app.session_state[TAB] = app.session_state[TAB] | {"person": person}
    app.run()
    app.number_input(key="compare_samples").set_value(1).run()
    app.button(key="compare_sampling_start").click().run()
    comparison = held(app)
    assert comparison.owner.name == comparison.sampling.owner.name == person
    comparison.sampling.wait()


def test_samples_survive_a_restart(app):
    field(app, "number_input", "compare_max_tokens").set_value(6).run()
    app.number_input(key="compare_samples").set_value(2).run()
    app.button(key="compare_sampling_start").click().run()
    held(app).sampling.wait()
    app.run()
    assert not app.exception
    assert app.get("download_button")
    before = held(app).sampling
    assert len(before.samples()) == 8
    restarted(app)
    app.run()
    assert not app.exception
    after = held(app).sampling
    assert after is not before and after.is_done and not after.is_running
    assert after.frame().equals(before.frame())
    assert after.summaries() == before.summaries()
    assert [s.text.token_ids for s in after.samples(2)] == [
        s.text.token_ids for s in before.samples(2)
    ]
    assert app.get("download_button")


def test_broken_record_warns_and_starts_new_comparison(app):
    restarted(app)
    visit_of(app)._records["compare"]["columns"] = []
    app.run()
    assert not app.exception
    assert app.warning[0].value.startswith("Your last comparison could not be read")
    assert len(held(app).columns) == 4


def test_second_tab_gets_its_own_copy(app):
    comparison = held(app)
    with_token = visit_of(app).token
    app.run()
    other = in_tab(new_app(), with_token)
    at_compare(other.run())
    twin = held(other)
    assert twin is not comparison and visit_of(other).token != with_token
    assert [ids(c) for c in twin.columns] == [ids(c) for c in comparison.columns]
    twin.player.step()
    assert twin.columns[0].length == comparison.columns[0].length + 1


def test_bad_number_is_refused_and_field_reset(app):
    for name, typed, label in (
        ("max_tokens", 0, "Max tokens"),
        ("max_tokens", 7.5, "Max tokens"),
        ("seed", -1, "Seed"),
    ):
        before = field(app, "number_input", f"compare_{name}").value
        for _ in range(2):  # the field that replaced the first one is reset too
            field(app, "number_input", f"compare_{name}").set_value(typed).run()
            assert app.error[0].value.startswith(f"{label} ")
            assert field(app, "number_input", f"compare_{name}").value == before


def test_column_obeys_constraint_and_keeps_refused_source(app):
    comparison, column = held(app), held(app).columns[1].number
    field(app, "selectbox", f"compare_{column}_language").set_value("choices").run()
    source = field(app, "text_area", f"compare_{column}_source")
    source.set_value('["w1w2", "w3w4w5"]').run()
    settle(comparison)
    texts = {one.number: one.text.text for one in comparison.columns}
    assert texts[column] in ("w1w2", "w3w4w5")
    assert texts[comparison.columns[0].number] not in ("w1w2", "w3w4w5")
    field(app, "text_area", f"compare_{column}_source").set_value('["w1"').run()
    assert "not valid JSON at line 1" in app.error[0].value
    assert field(app, "text_area", f"compare_{column}_source").value == '["w1"'
    assert any("previous constraint still applies" in one.value for one in app.caption)
    assert comparison.column(column).text.text == texts[column]
    field(app, "selectbox", f"compare_{column}_language").set_value("").run()
    assert comparison.column(column).settings.constraint is None and not app.error


def test_page_names_the_difference_between_columns(app):
    def said() -> str:
        return " ".join(caption.value for caption in app.caption)

    assert "Every column draws its n-th token" in said()
    assert "what differs is the settings" in said()
    app.button(key="compare_vary_seed").click().run()
    settle(held(app))
    app.run()
    assert said().count("The settings are the same; only the random number differs.") == 2
    assert "what differs is the settings" not in said()
