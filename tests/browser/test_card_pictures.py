"""What each stage did, in words and as a small picture."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from engine.stages import STAGES
from tests.browser.cards_page import (
    ALL,
    alone,
    bars,
    card,
    cards_page,
    label,
    open_cards,
    path,
    update,
)


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    with cards_page(browser) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    open_cards(opened)
    return opened


def test_pictures_are_drawn_from_the_row(page: Page):
    # Sixteen bars: one for each rank to 8, then up to 10, 16, 25, 40, 64, 100, 160 and 256.
    assert bars(page, "top_k", "kept") == 8
    assert bars(page, "top_k", "removed") == 8
    assert path(page, "top_k", "cut") == "M46 0V34"  # 8/16 of 92
    update(page, "{settings: {top_k: 3}}")
    assert path(page, "top_k", "cut") == "M17.25 0V34"
    assert bars(page, "top_k", "kept") == 3
    assert bars(page, "min_p", "removed") == 0
    update(page, "{settings: {top_k: 1000}}")
    assert path(page, "top_k", "cut").startswith("M91 0V34M")  # an arrow: beyond the picture
    update(page, "{settings: {top_k: 0, top_p: 0.5, min_p: 0.5}}")
    assert path(page, "top_k", "cut") == ""
    assert path(page, "top_p", "cut") == "M0 17H92"  # half-way up
    assert path(page, "min_p", "cut") == "M0 17H92"
    assert path(page, "temperature", "before").count("H") == 16
    update(page, "{settings: {repetition_penalty: 1.5}}")
    assert bars(page, "repetition_penalty", "kept") == 9
    # The text's five tokens that move, of which the leading two go far enough for an arrow.
    moved = page.evaluate("t.update().stages[0].figures.edited.map(token => token.id)")
    assert sorted(moved) == [1, 2, 20, 21, 22]
    assert bars(page, "repetition_penalty", "before") == 5
    assert bars(page, "repetition_penalty", "arrow") >= 2
    update(page, "{settings: {repetition_penalty: 1.01}}")
    assert bars(page, "repetition_penalty", "before") == 5
    assert bars(page, "repetition_penalty", "arrow") == 0  # the outline says enough
    assert path(page, "draw", "needle").startswith("M54.02 ")  # u = 0.58713 of 92
    assert bars(page, "draw", "chosen") == 1


def test_a_vocabulary_of_four(page: Page):
    few = "{logits: Float64Array.from([4, 3, 2, 1])}"
    update(page, "{settings: {top_k: 2, top_p: 1}}", few)
    assert bars(page, "top_k", "kept") == 2
    assert bars(page, "top_k", "removed") == 2
    assert path(page, "top_k", "cut") == "M46 0V34"


EFFECTS = {
    "logit_bias": r"␣Paris.{0,2} 13\.10 → 10\.10",
    "repetition_penalty": r"6 tokens of the text lowered",
    "presence_penalty": r"3 tokens moved",
    "frequency_penalty": r"3 tokens moved",
    "dry": r"␣Paris.{0,2} 13\.10 → 12\.30|tokens? moved",
    "no_repeat_ngram": r"banned .*␣Paris",
    "banned": r"16,384 → 16,382 tokensbanned .*␣located",
    "min_new_tokens": r"16,384 → 16,383 tokensbanned .*␣now",
    "temperature": r"entropy \d\.\d\d → \d\.\d\d bits",
    "dynamic_temperature": r"T = [01]\.\d{3} here",
    "top_h": r"16,384 → \d+ tokens",
    "top_k": r"16,384 → 60 tokens",
    "top_p": r"16,384 → [\d,]+ tokensremoved (4\.99|5\.00) % of the mass",
    "min_p": r"16,384 → \d+ tokens",
    "typical_p": r"16,384 → \d+ tokens · H = 6\.26 bits",
    "epsilon_cutoff": r"16,384 → 79 tokens",
    "eta_cutoff": r"16,384 → \d+ tokens · η = 0\.\d+ %",
    "top_n_sigma": r"16,384 → \d+ tokens · σ = 1\.\d\d",
    "tail_free": r"16,384 → \d+ tokens",
    "xtc": r"16,384 → 16,382 tokensremoved \d+\.\d\d % at the top; own u 0\.000 < 0\.5",
    "mirostat": r"16,384 → \d+ tokens · μ = 6\.00 bits",
}


@pytest.mark.parametrize("name", STAGES)
def test_each_stage_says_what_it_did_and_draws_it(page: Page, name: str):
    alone(page, name)
    own = card(page, label(page, name))
    expect(own.locator(".dv-effects")).to_have_text(re.compile(EFFECTS[name]))
    drawn = own.locator("svg.dv-geo path").evaluate_all("all => all.map(p => p.getAttribute('d'))")
    assert sum(bool(d) for d in drawn) >= 2
    assert not re.search("NaN|Infinity|undefined", "".join(drawn))


def test_all_stages_at_once_and_at_every_point(page: Page):
    update(page, ALL)
    for point in range(len(STAGES) + 3):
        update(page, f"{{point: {point}}}")
        drawn = page.locator("svg.dv-geo path").evaluate_all(
            "all => all.map(p => p.getAttribute('d')).join()"
        )
        assert not re.search("NaN|Infinity|undefined", drawn), point
    for few in (
        "[4, 3, 2, 1]",
        "[1, 1, 1, 1]",
        "[5, -Infinity, 2, -Infinity]",
        "[80, 0, -80, -90]",
    ):
        update(page, "{point: null}", f"{{logits: Float64Array.from({few})}}")
        drawn = page.locator("svg.dv-geo path").evaluate_all(
            "all => all.map(p => p.getAttribute('d')).join()"
        )
        assert not re.search("NaN|Infinity|undefined", drawn), few


def test_pictures_of_windows_and_thresholds(page: Page):
    alone(page, "xtc")
    assert bars(page, "xtc", "removed") == 2  # ranks 1 and 2 reach 0.05, and so does rank 3
    assert bars(page, "xtc", "kept") == 14
    alone(page, "xtc", options="{xtc_u: 0.7}")
    assert bars(page, "xtc", "removed") == 0
    expect(card(page, "XTC")).to_contain_text("sits this step out: own u 0.700 ≥ 0.5")
    alone(page, "mirostat", options="{mirostat: {tau: 3, mu: 3.5}}")
    expect(card(page, "Mirostat")).to_contain_text("μ = 3.50 bits")
    alone(page, "typical_p", "{typical_p: 0.2}")
    view = page.evaluate("t.update()")["stages"][0]
    assert view["first_rank"] > 1
    assert bars(page, "typical_p", "removed") >= 2  # on both sides
    assert path(page, "typical_p", "cut").count("V34") == 2
    alone(page, "top_n_sigma", "{top_n_sigma: 2}")
    assert path(page, "top_n_sigma", "line").count("H92") == 3  # a tick at 0, 1 and 2 sigma
    alone(page, "banned")
    assert path(page, "banned", "arrow").count("L") == 2  # two tokens struck out
    alone(page, "dynamic_temperature")
    assert path(page, "dynamic_temperature", "arrow").count("V9") == 1


def test_a_later_temperature_is_in_no_curve_and_still_drawn(page: Page):
    """Behind a cut the shown ranking is not divided yet: the outline is the curve itself."""
    chain = "{settings: {order: ['top_k', 'temperature'], top_k: 50, temperature: 0.5}}"
    update(page, chain)
    behind = path(page, "temperature", "before")
    update(page, "{settings: {order: ['temperature', 'top_k']}}")
    first = path(page, "temperature", "before")
    assert behind == first  # what stood before it is the same distribution in both


# Thresholds behind earlier cuts and temperatures: chains, and whose level is looked at.
LEVELS = [
    "{order: ['top_k', 'temperature', 'min_p'], top_k: 8, temperature: 0.3, min_p: 0.2}",
    "{order: ['top_k', 'temperature', 'min_p'], top_k: 8, temperature: 1.9, min_p: 0.7}",
    "{order: ['top_p', 'epsilon_cutoff'], top_p: 0.5, epsilon_cutoff: 0.08}",
    "{order: ['top_k', 'temperature', 'eta_cutoff'], top_k: 20, temperature: 0.4, eta_cutoff: 0.3}",
    "{order: ['min_p', 'xtc'], min_p: 0.2, xtc: {threshold: 0.15, probability: 1}}",
    "{order: ['top_k', 'temperature', 'mirostat'], top_k: 9, temperature: 0.5,"
    " mirostat: {tau: 1.2, eta: 0.1}}",
    "{order: ['top_k', 'repetition_penalty', 'min_p'], top_k: 12, repetition_penalty: 1.5,"
    " min_p: 0.4}",
]
BARS = """picture => {
  const boxes = name => {
    const path = document.querySelector(`svg[data-picture=${picture}] .dv-geo-${name}`);
    const found = [...path.getAttribute('d').matchAll(/M([\\d.]+) ([\\d.]+)H([\\d.]+)V/g)];
    return found.map(([, left, top]) => [Math.floor(left / (92 / 16)), Number(top)]);
  };
  const single = name => boxes(name).filter(([place]) => place < 8).map(([, top]) => top);
  const cut = document.querySelector(`svg[data-picture=${picture}] .dv-geo-cut`).getAttribute('d');
  const level = Number(/^M0 ([\\d.]+)H92/.exec(cut)[1]);
  return { level, kept: single('kept'), removed: single('removed') };
}"""


@pytest.mark.parametrize("settings", LEVELS)
def test_a_level_lies_between_the_bars_that_stay_and_those_that_go(page: Page, settings: str):
    """A stage compares what it finds, which is not the distribution before all cuts."""
    off = "Object.fromEntries(t.STAGES.map(({name, off}) => [name, off]))"
    update(page, f"{{settings: {{...{off}, ...{settings}}}}}")
    order = page.evaluate("t.state.settings.order")
    found = page.evaluate(BARS, order[-1])
    level, kept, removed = found["level"], found["kept"], found["removed"]
    assert kept and removed
    if order[-1] == "xtc":  # the last of those that reach the threshold stays, and all below it
        assert max(removed) <= level + 0.02 and kept[0] <= level + 0.02
        assert all(top >= level - 0.02 for top in kept[1:])
    else:
        assert max(kept) <= level + 0.02  # downwards
        assert min(removed) >= level - 0.02


def test_a_level_is_where_the_threshold_is_among_what_was_left(page: Page):
    """Of two equal tokens that are left, each has a half, whatever they had before."""
    two = "{logits: Float64Array.from([4, 4, 1, 0])}"
    order = "['top_k', 'epsilon_cutoff']"
    update(page, f"{{settings: {{order: {order}, top_k: 2, epsilon_cutoff: 0.05}}}}", two)
    # The picture is four decades and 30 pixels high; 0.05 is one decade below 0.5.
    assert path(page, "epsilon_cutoff", "cut") == "M0 9.5H92"
