"""The compare page without a browser: columns, divergence, samples, ways to the step page."""

import html.parser
import math
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.decoder import Decoder
from engine.model import LanguageModel, load_model
from engine.sampling import SamplingSettings
from tests.ui import hostile
from ui import shell, step_page
from ui.charts.compare import SampleSeries, TextSeries, balance_figure, surprise_figure
from ui.charts.template import literal
from ui.compare_column import OWN, PRESETS, divergence
from ui.compare_view import cards, escaped, figures, number, sample_texts, summary_table
from ui.comparison import MOST, MOST_TOKENS, Comparison
from ui.sampling_run import MOST_SAMPLES

ROOT = Path(__file__).resolve().parents[2]
PAGE = "pages/compare.py"
PROMPT = "w1|w2|w3"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    """A tiny model whose texts do not end by themselves."""
    folder = tmp_path_factory.mktemp("tiny") / "model"
    hostile.language_model(context=128).save_pretrained(folder)
    tokenizer = hostile.tokenizer()
    tokenizer.eos_token = None
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def model(folder) -> LanguageModel:
    return load_model(folder)


@pytest.fixture
def comparison(model) -> Comparison:
    made = Comparison(model)
    made.set_prompt(PROMPT)
    settle(made)
    assert made.error == ""
    return made


def settle(comparison: Comparison) -> None:
    while comparison.is_growing:
        comparison.tick(0)


def ids(column) -> list[int]:
    return column.decoder.token_ids


# --- columns --------------------------------------------------------------------------------------


def test_a_column_s_text_is_that_of_a_lone_decoder(comparison, model):
    assert len(comparison.columns) == 4
    for column in comparison.columns:
        decoder = Decoder(model, PROMPT, comparison.effective(column))
        alone = [step.token_id for step in decoder.run(column.length)]
        assert column.length == 24
        assert ids(column) == alone


def test_the_divergence_is_the_first_place_where_tokens_differ(comparison):
    first, *others = comparison.columns
    parted = 0
    for column in others:
        pairs = list(zip(ids(column), ids(first), strict=True))
        place = next((i for i, (here, there) in enumerate(pairs) if here != there), None)
        found = divergence(column, first)
        assert (found.index if found else None) == place
        if found is not None:
            parted += 1
            assert (found.here.token_id, found.there.token_id) == pairs[place]
            # Up to there both read the same, so the model says the same of both tokens.
            assert found.here.model_entropy_bits == found.there.model_entropy_bits
    assert parted, "no column departs from greedy: the test shows nothing"


def test_with_the_same_numbers_equal_settings_make_equal_texts_else_other_seeds(comparison):
    first, second = comparison.columns[:2]
    for column in (first, second):
        comparison.set_settings(column.number, PRESETS["Pure sampling"].replace(seed=column.number))
    settle(comparison)
    assert divergence(second, first) is None
    comparison.set_seeds(False, 0)
    settle(comparison)
    assert divergence(second, first) is not None
    assert second.decoder.settings.seed == second.number


def test_a_change_begins_only_that_column_anew_and_brings_it_to_the_others_length(comparison):
    texts = [column.decoder for column in comparison.columns]
    column = comparison.columns[1]
    comparison.change(column.number, temperature=2.0)
    settle(comparison)
    assert column.preset == OWN
    assert [c.decoder is t for c, t in zip(comparison.columns, texts, strict=True)] == [
        True,
        False,
        True,
        True,
    ]
    assert {c.length for c in comparison.columns} == {24}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"temperature": -1.0}, "temperature must not be negative, got -1.0"),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1, got 1.5"),
        ({"top_k": 100_000}, "top_k is above the vocabulary"),
        ({"seed": None}, "seed must be given"),
    ],
)
def test_a_refused_value_changes_nothing_and_the_field_goes_back(comparison, changes, sentence):
    column = comparison.columns[1]
    before, text, fields = column.settings, column.decoder, column.fields
    comparison.change(column.number, **changes)
    assert sentence in comparison.error
    assert column.settings == before
    assert column.decoder is text
    assert column.fields > fields


def test_a_prompt_that_does_not_fit_leaves_the_texts(comparison):
    before = [ids(column) for column in comparison.columns]
    for prompt in ("", "w1|" * 500, "x" * 30_000):
        comparison.set_prompt(prompt)
        assert comparison.error
        assert comparison.prompt == PROMPT
        assert [ids(column) for column in comparison.columns] == before
    comparison.set_max_tokens(MOST_TOKENS + 1)
    assert "Max tokens must be 1 to 512, got 513" in comparison.error


def test_there_are_two_to_six_columns(comparison):
    for _ in range(4):
        comparison.add()
    assert len(comparison.columns) == MOST
    assert "6 columns are the most" in comparison.error
    assert len({column.preset for column in comparison.columns}) == MOST
    for column in list(comparison.columns):
        comparison.remove(column.number)
    assert len(comparison.columns) == 2


def test_play_goes_on_to_the_limit_and_stops_itself(comparison):
    comparison.set_max_tokens(30)
    comparison.playing = True
    lengths = []
    while comparison.is_growing:
        comparison.tick(0)
        lengths.append({column.length for column in comparison.columns})
    assert lengths == [{length} for length in range(25, 31)]
    assert not comparison.playing
    comparison.reset()
    assert {column.length for column in comparison.columns} == {0}
    comparison.step()
    assert {column.length for column in comparison.columns} == {1}


# --- what is drawn --------------------------------------------------------------------------------


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.add(tag)
        self.names.update(name for name, _ in attrs)

    def handle_data(self, data) -> None:
        self.text += data


def test_hostile_tokens_are_text_wherever_they_stand(comparison):
    first, second = comparison.columns[:2]
    comparison.reset()
    for token_id in range(1, len(hostile.HOSTILE) + 1):
        second.decoder.step(token_id)
        first.decoder.step(40)
    seen = Tags()
    seen.feed(cards(comparison) + figures(comparison))
    ours = {"div", "section", "h3", "p", "span", "mark", "bdi"}
    table = {"table", "caption", "thead", "tbody", "tr", "th", "td", "abbr"}
    assert seen.tags <= ours | table
    assert seen.names <= {"class", "style", "aria-label", "tabindex", "role", "scope", "title"}
    assert "<img src=x onerror=alert(1)>" in seen.text
    assert "\u202e" not in seen.text, "text may run backwards over what follows"
    for text in hostile.HOSTILE:
        parsed = Tags()
        parsed.feed(escaped(text))
        assert not parsed.tags


def test_figures_for_reading():
    assert [number(math.nan, 2), number(math.inf, 2), number(1234.5, 1)] == ["–", "∞", "1,234.5"]
    assert literal("<b>&lt;") == "&lt;b&gt;&amp;lt;"


def test_the_surprise_chart_shows_the_running_mean_in_bits():
    series = TextSeries("<b>a</b>", [math.log(0.5), math.log(0.125)], parts_at=1)
    line, mark = surprise_figure([series]).data
    assert list(line.y) == pytest.approx([1.0, 2.0])
    assert (list(mark.x), list(mark.y)) == ([2], pytest.approx([2.0]))
    assert line.name == "&lt;b&gt;a&lt;/b&gt;"


def test_a_text_without_a_figure_is_no_point():
    series = SampleSeries("a", values=[1.0, math.nan, 3.0], beside=[2.0, 2.0, math.inf])
    points, mean = balance_figure([series], "y", "x").data
    assert (list(points.x), list(points.y)) == ([2.0], [1.0])
    assert (list(mean.x), list(mean.y)) == ([2.0], [1.0])


# --- samples --------------------------------------------------------------------------------------


def test_samples_have_the_same_seeds_in_all_columns_and_sum_up(comparison):
    comparison.set_max_tokens(8)
    run = comparison.sample(3)
    run.start()
    run.wait()
    assert run.is_done
    assert run.problem == ""
    for column in comparison.columns:
        samples = run.samples(column.number)
        assert [sample.text.settings.seed for sample in samples] == [0, 1, 2]
        assert run.summaries()[column.number].count == 3
    frame = run.frame()
    assert len(frame) == 12
    assert {"column", "name", "seed", "text", "stop_reason", "perplexity"} <= set(frame)
    titles = {number: title for number, title, _ in run.columns}
    seen = Tags()
    seen.feed(summary_table(titles, run.summaries()) + sample_texts("<i>", run.samples()))
    assert "i" not in seen.tags
    assert seen.text.count("±") > 12


def test_cancelled_samples_stay_and_going_on_ends_with_the_same_texts(comparison):
    comparison.set_max_tokens(20)
    whole = comparison.sample(20)
    whole.start()
    whole.wait()
    run = comparison.sample(20)
    run.start(is_wanted=lambda: not run.samples())  # gone as soon as there is something
    run.wait()
    kept = len(run.samples())
    assert 0 < kept < 80
    assert not run.is_done
    assert f"{kept} of 80 texts" in run.progress
    assert set(run.summaries()) <= {column.number for column in comparison.columns}
    run.start()
    run.wait()
    assert run.is_done
    assert list(run.frame()["text"]) == list(whole.frame()["text"])


@pytest.mark.parametrize("count", [0, MOST_SAMPLES + 1])
def test_a_count_out_of_range_is_answered_in_words(comparison, count):
    assert comparison.sample(count) is None
    assert f"samples is out of range, got {count}; use 1 to {MOST_SAMPLES}" in comparison.error


# --- the page -------------------------------------------------------------------------------------


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


def test_samples_are_made_and_can_be_taken_away(app):
    app.number_input(key="compare_0_max_tokens").set_value(6).run()
    app.number_input(key="compare_samples").set_value(2).run()
    app.button(key="compare_sample").click().run()
    held(app).sampling.wait()
    app.run()
    assert not app.exception
    assert len(held(app).sampling.samples()) == 8
    assert app.get("download_button")
