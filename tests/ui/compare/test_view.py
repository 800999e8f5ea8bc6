"""The compare page's HTML: texts from elsewhere stay text."""

import html.parser
from dataclasses import replace

from engine.sampling import SamplingSettings
from engine.sampling.samplers import DynamicTemperature, Temperature
from tests.ui import hostile
from ui.compare.view import cards, figures, sample_texts, staged_columns, summary_table


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


def test_hostile_tokens_stay_text_everywhere(comparison):
    first, second = comparison.columns[:2]
    comparison.player.rewind()
    for token_id in range(1, len(hostile.HOSTILE) + 1):
        second.text.step(token_id)
        first.text.step(40)
    seen = Tags()
    staged = staged_columns(comparison)
    assert staged.count("<mark>") == 2, "where it parts, in its text and in its title"
    seen.feed(cards(comparison) + figures(comparison) + staged)
    ours = {"div", "section", "h2", "h3", "p", "span", "mark", "bdi"}
    table = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert seen.tags <= ours | table
    assert seen.names <= {"class", "style", "aria-label", "tabindex", "role", "scope"}
    assert "<img src=x onerror=alert(1)>" in seen.text
    assert "\u202e" not in seen.text, "text may run backwards over what follows"


def test_hostile_samples_stay_text():
    seen = Tags()
    seen.feed(summary_table({1: "<i>"}, {}) + sample_texts("<b>", []))
    assert not seen.tags & {"i", "b"}


def test_a_card_says_which_sampler_has_no_effect(comparison):
    column = comparison.columns[0]
    comparison.set_settings(column.number, SamplingSettings(temperature=0, top_p=0.5))
    shown = cards(comparison)
    assert "Top-p has no effect: temperature 0 has already left a single token." in shown
    comparison.set_settings(column.number, SamplingSettings(temperature=0.5, top_p=0.5))
    assert "no effect" not in cards(comparison)
    chain = [DynamicTemperature(0.5, 1.5), Temperature(0.7)]
    comparison.set_settings(column.number, SamplingSettings(chain=chain))
    assert "Temperature: it divides scores that another temperature has already divided" in cards(
        comparison
    )


def test_chat_answer_begins_after_a_blank_line(comparison):
    inputs = comparison.inputs
    comparison.inputs = replace(inputs, chat=True)  # its text stays as it was
    assert f"<span>{inputs.prompt}\n\n</span>" in cards(comparison)
    comparison.inputs = inputs
    assert f"<span>{inputs.prompt}</span>" in cards(comparison)
