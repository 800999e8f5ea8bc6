"""What the compare page compares: columns, divergence, what is drawn of them, samples."""

import html.parser
import math

import pytest

from engine.decoder import Decoder
from engine.errors import LogitsError
from engine.model import LanguageModel, load_model
from engine.presets import PRESETS
from engine.sampling import DynamicTemperature, SamplingSettings, Temperature
from tests.ui import hostile
from ui.charts.compare import SampleSeries, TextSeries, balance_figure, surprise_figure
from ui.charts.template import literal
from ui.compare.column import OWN, divergence
from ui.compare.comparison import MOST, Comparison
from ui.compare.view import cards, escaped, figures, number, sample_texts, summary_table
from ui.texts.limits import MOST_TOKENS

PROMPT = "w1|w2|w3"


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


def test_a_column_s_figures_are_those_of_its_steps(comparison):
    column = comparison.columns[3]
    finals = [column.decoder.distribution(i).final_entropy_bits for i in range(column.length)]
    assert column.metrics.final_entropy_bits == pytest.approx(sum(finals) / len(finals))
    assert column.metrics.length == column.length == 24
    logprobs = [step.logprob for step in column.steps]
    assert column.metrics.logprob == pytest.approx(sum(logprobs))


def test_a_step_is_in_its_figures_although_it_cannot_be_shaped_again(comparison, monkeypatch):
    def refused(*_: object) -> None:
        raise LogitsError("The logits are gone.")

    monkeypatch.setattr(Decoder, "distribution", refused)
    comparison.step()
    for column in comparison.columns:
        assert (column.length, column.metrics.length, column.error) == (25, 25, "")


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
        ({"seed": None}, "Own seed is empty; use a whole number from 0"),
        ({"seed": 1.5}, "Own seed must be a whole number, got 1.5"),
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
    assert "Max tokens is out of range, got 513; use a whole number from 1 to" in comparison.error


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


def test_a_card_says_which_stage_has_no_effect(comparison):
    column = comparison.columns[0]
    comparison.set_settings(column.number, SamplingSettings(temperature=0, top_p=0.5))
    shown = cards(comparison)
    assert "Top-p has no effect: temperature 0 has already left a single token." in shown
    comparison.set_settings(column.number, SamplingSettings(temperature=0.5, top_p=0.5))
    assert "no effect" not in cards(comparison)
    chain = [DynamicTemperature(0.5, 1.5), Temperature(0.7)]
    comparison.set_settings(column.number, SamplingSettings(chain=chain))
    assert "Temperature: it divides what another temperature has divided" in cards(comparison)


def test_figures_for_reading():
    assert [number(math.nan, 2), number(math.inf, 2), number(1234.5, 1)] == ["–", "∞", "1,234.5"]
    assert number(-0.56, 2) == "−0.56"
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


def test_cancelled_samples_stay_and_going_on_ends_with_the_same_texts(comparison, monkeypatch):
    monkeypatch.setattr("ui.skeleton.background.LOOK_SECONDS", 0)
    monkeypatch.setattr("ui.skeleton.background.GRACE_SECONDS", -1)
    comparison.set_max_tokens(20)
    whole = comparison.sample(20)
    whole.start()
    whole.wait()
    run = comparison.sample(20)
    run.start(is_there=lambda: not run.samples())  # gone as soon as there is something
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


@pytest.mark.parametrize(
    ("count", "sentence"),
    [
        (0, "Samples per setting is out of range, got 0; use a whole number from 1 to 200."),
        (-5.0, "Samples per setting is out of range, got -5; use a whole number from 1 to 200."),
        (1e6, "Samples per setting is out of range, got 1,000,000; use a whole number from 1 to"),
        (2.5, "Samples per setting must be a whole number, got 2.5; use a whole number from 1 to"),
        (None, "Samples per setting is empty; use a whole number from 1 to 200."),
    ],
)
def test_a_count_out_of_range_is_answered_in_words(comparison, count, sentence):
    assert comparison.sample(count) is None
    assert comparison.error.startswith(sentence)
