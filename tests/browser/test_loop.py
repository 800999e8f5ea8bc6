"""The loop band and its sentence: every stage of the chain, with what it did to this row."""

import json
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from engine.sampling import Distribution, SamplingSettings, shape
from engine.stages import (
    Banned,
    Context,
    Dry,
    DynamicTemperature,
    EpsilonCutoff,
    EtaCutoff,
    FrequencyPenalty,
    LogitBias,
    MinNewTokens,
    MinP,
    Mirostat,
    NoRepeatNGram,
    PresencePenalty,
    RepetitionPenalty,
    Stage,
    TailFree,
    Temperature,
    TopH,
    TopK,
    TopNSigma,
    TopP,
    TypicalP,
    Xtc,
)
from tests.browser.cards_page import button, calls, cards_page, open_cards, update
from ui.texts.settings import plain_settings

LOGITS = np.array([13.1 - 0.9 * np.log2(i + 1) for i in range(16_384)], np.float32)
PROMPT = [20, 21, 22, 2, 1]  # the page's own
GENERATED = [0, 3, 0, 3, 1]
EOS = 9
LONG_NAMES = [
    LogitBias({3: 2.0}),
    RepetitionPenalty(1.2),
    PresencePenalty(0.5),
    FrequencyPenalty(0.5),
    NoRepeatNGram(2),
    Banned([[0]]),
    MinNewTokens(32),
]
OTHERS = [
    Dry(allowed_length=1),
    Temperature(0.7),
    DynamicTemperature(),
    TopH(0.4),
    TopK(5000),
    TopP(0.99),
    MinP(0.001),
    TypicalP(0.9),
    EpsilonCutoff(0.0001),
    EtaCutoff(0.0009),
    TopNSigma(2.0),
    TailFree(0.95),
    Xtc(threshold=0.02, probability=1),
    Mirostat(tau=3),
]
EVERYTHING = [*LONG_NAMES, *OTHERS]


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    with cards_page(browser) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Iterator[Page]:
    opened.set_viewport_size({"width": 1440, "height": 1000})
    open_cards(opened)
    yield opened


def show(page: Page, *chain: Stage, point: int | None = None, xtc_u: float = 0.0) -> dict:
    """Have these stages on, in this order, over the page's row; returns the view."""
    settings = plain_settings(SamplingSettings(chain=chain))
    steps = f"{GENERATED}.map(id => t.step_of(id))"
    changes = f"{{steps: {steps}, index: {len(GENERATED)}, point: {json.dumps(point)}, slow: true,"
    changes += f" settings: {json.dumps(settings)}}}"
    return page.evaluate(f"t.update({changes}, {{pending: true, xtc_u: {xtc_u}}})")


def engine_view(*chain: Stage, xtc_u: float = 0.0) -> Distribution:
    """What the engine makes of the same row."""
    context = Context(
        np.array([*PROMPT, *GENERATED], np.int64),
        prompt_length=len(PROMPT),
        eos_ids=(EOS,),
        xtc_uniform=xtc_u,
    )
    return shape(LOGITS, SamplingSettings(chain=chain), context)


def band(page: Page) -> Locator:
    return page.get_by_role("list", name="One step of the loop", exact=True)


def names(page: Page) -> list[str]:
    return band(page).locator(".dv-loop-name").all_inner_texts()


def figure(page: Page, name: str) -> str:
    return button(page, f"Stage: {name}").locator(".dv-loop-figure").inner_text()


def sentence(page: Page) -> str:
    text = page.locator(".dv-loop-sentence").inner_text()
    return text.replace("\u2068", "").replace("\u2069", "")


def percent(share: float) -> str:
    return f"{share * 100:.2f} %" if share >= 1e-3 else f"{share * 100:.4f} %"


# --- what each stage did -------------------------------------------------------------------------

MOVES = [
    (LogitBias({3: 2.0, 0: -1.0}), "Logit bias", "2 moved", "Your biases were added to 2 tokens: "),
    (
        RepetitionPenalty(1.2),
        "Repetition penalty",
        "7 fell",
        "7 tokens of the text so far fell (positive scores were divided by 1.2, ",
    ),
    (
        RepetitionPenalty(0.8),
        "Repetition penalty",
        "7 rose",
        "7 tokens of the text so far rose (positive scores were divided by 0.8, ",
    ),
    (
        PresencePenalty(0.5),
        "Presence penalty",
        "3 fell",
        "3 tokens generated before lost 0.5 each, however often they came: ",
    ),
    (
        FrequencyPenalty(-0.5),
        "Frequency penalty",
        "3 rose",
        "3 tokens generated before gained 0.5 for each time they came: ",
    ),
    (
        Dry(allowed_length=1),
        "DRY",
        "1 fell",
        "1 token would continue a passage of 1 token or more that came before, and fell: ",
    ),
]


@pytest.mark.parametrize(("stage", "label", "number", "words"), MOVES, ids=lambda value: str(value))
def test_an_edit_says_whom_it_moved_and_what_their_share_became(
    page: Page, stage: Stage, label: str, number: str, words: str
) -> None:
    show(page, stage, point=1)
    assert figure(page, label) == number
    said = sentence(page)
    assert said.startswith("Stage 2 of 4: ") and words in said
    (result,) = engine_view(stage).stages
    moved = np.flatnonzero(result.after.scores != result.before.scores)
    before, after = (each.probs[moved].sum() for each in (result.before, result.after))
    assert said.endswith(f"share went from {percent(before)} to {percent(after)}.")
    first = moved[np.argmax(result.before.scores[moved])]
    change = f"{result.before.scores[first]:.2f} → {result.after.scores[first]:.2f}"
    assert change in said


BANS = [
    (
        NoRepeatNGram(1),
        "No-repeat n-gram",
        "7 banned",
        "Every token that is in the text is banned; ",
    ),
    (
        NoRepeatNGram(3),
        "No-repeat n-gram",
        "none here",
        "would repeat a run of 3 tokens of the text",
    ),
    (Banned([[0], [5]]), "Banned words", "2 banned", "What would complete a banned word is ruled"),
    (
        MinNewTokens(32),
        "Min new tokens",
        "1 banned",
        "With 5 tokens of at least 32 generated so far the text may not end yet; 1 token ",
    ),
    (
        MinNewTokens(4),
        "Min new tokens",
        "none here",
        "With 5 tokens of at least 4 generated so far the text may end: nothing is ruled out.",
    ),
]


@pytest.mark.parametrize(("stage", "label", "number", "words"), BANS, ids=lambda value: str(value))
def test_a_ban_says_whom_it_removed_and_what_they_held(
    page: Page, stage: Stage, label: str, number: str, words: str
) -> None:
    show(page, stage, point=1)
    assert figure(page, label) == number
    assert words in sentence(page)
    (result,) = engine_view(stage).stages
    gone = LOGITS.size - result.survivors
    if gone:
        assert f"with {percent(result.mass_removed)} of the mass went: “" in sentence(page)
        assert number == f"{gone} banned"


CUTS = [
    (TopH(0.4), "make up at most 40 % of the entropy of the 100 most likely ("),
    (TopK(8), "The 8 highest scores stay"),
    (TopP(0.6), "The fewest tokens that together hold 60 % stay"),
    (MinP(0.05), "at least 5 % as likely as the leader, here from {threshold} on"),
    (TypicalP(0.2), "whose surprise is nearest to the entropy ("),
    (EpsilonCutoff(0.02), "Tokens of at least 2 % stay"),
    (EtaCutoff(0.0009), "(the lower of ε = 0.09 % and √ε · exp(−H) at H = "),
    (TopNSigma(1.0), "the highest, 13.10, less 1 × σ, which is 1.30 here"),
    (TailFree(0.95), "up to where 95 % of the bending of the curve of probabilities lies behind"),
    (Xtc(threshold=0.06, probability=1), "of the tokens that reach 6 % only the last stays"),
    (
        Mirostat(tau=2),
        "a surprise of at most μ = 4.00 bits (from 6.25 % on) stay, to hold the text",
    ),
    (Temperature(0), "Temperature 0 is greedy: the highest score alone stays"),
]


@pytest.mark.parametrize(("stage", "rule"), CUTS, ids=lambda value: getattr(value, "name", ""))
def test_a_cut_says_its_rule_and_what_went(page: Page, stage: Stage, rule: str) -> None:
    view = show(page, stage, point=1)
    (result,) = engine_view(stage).stages
    label = view["points"][1]["label"]
    assert figure(page, label) == (
        "greedy" if stage.name == "temperature" else f"{result.survivors:,} left"
    )
    said = sentence(page)
    assert rule.format(threshold=percent(0.05 * result.before.probs.max())) in said
    gone = LOGITS.size - result.survivors
    number = "1 token" if gone == 1 else f"{gone:,} tokens"
    went = f"{number} with {percent(result.mass_removed)} of the mass went"
    assert f": 16,384 → {result.survivors:,}; {went}" in said
    if result.after.start:
        leaders = (
            "the most likely one"
            if result.after.start == 1
            else f"the {result.after.start} most likely"
        )
        assert leaders in said


def test_both_temperatures_say_what_they_did_to_the_entropy(page: Page) -> None:
    for stage in (Temperature(0.7), DynamicTemperature()):
        view = show(page, stage, point=1)
        (result,) = engine_view(stage).stages
        entropies = [engine_view().entropy_bits, result.entropy_bits]
        assert "(entropy {:.2f} → {:.2f} bits)".format(*entropies) in sentence(page)
        assert "gaps grow, the leader gains" in sentence(page)
    own = view["stages"][0]["figures"]["temperature"]
    assert figure(page, "Dynamic temperature") == f"T = {own:.3f}"
    assert f"so between 0.5 and 1.5 T is {own:.3f}" in sentence(page)


def test_a_stage_that_does_nothing_here_says_so(page: Page) -> None:
    show(page, Xtc(threshold=0.1, probability=0.5), point=1, xtc_u=0.8)
    assert figure(page, "XTC") == "sits out"
    assert sentence(page).endswith(
        "XTC sits this step out: its own number for this step is 0.800, not below 0.5."
    )
    show(page, Xtc(threshold=0.5, probability=1), point=1)
    assert "and there are fewer than two" in sentence(page)
    show(page, Banned([[300, 301]]), point=1)
    assert figure(page, "Banned words") == "none here"
    assert "No token that is left would complete a banned word here" in sentence(page)
    show(page, Temperature(0), TopK(5), point=2)
    assert figure(page, "Top-k") == "no effect"
    assert "No effect here: temperature 0 has already left a single token." in sentence(page)
    page.evaluate(
        "void t.update({steps: [], index: 0, point: 1, settings: "
        "{order: ['presence_penalty'], presence_penalty: 1}})"
    )
    assert "Nothing has been generated yet, and the prompt does not count" in sentence(page)


def test_nobody_left_is_said_at_every_stage_from_then_on(page: Page) -> None:
    chain = [Temperature(0), Banned([[0]]), TopK(5)]
    remedy = "Move Banned words in front of Temperature, or switch one of the two off."
    show(page, *chain, point=2)
    assert "1 token with 100.00 % of what was left went: “␣Paris”. Nothing is left" in sentence(
        page
    )
    assert sentence(page).endswith(remedy)
    show(page, *chain, point=3)
    assert sentence(page).endswith("Nothing was left to act on: Banned words took the last token.")
    for point in (4, 5):
        show(page, *chain, point=point)
        assert f"Nothing is left: Banned words took the last token. {remedy}" in sentence(page)
    boxes = ["Banned words", "Top-k", "Softmax", "Draw"]
    assert [figure(page, name) for name in boxes] == [*["none left"] * 3, "nothing to draw"]


def test_the_share_before_the_softmax_is_that_of_one_distribution(page: Page) -> None:
    view = show(page, TopP(0.6), TopK(2), point=3)
    mass = 1.0
    for result in engine_view(TopP(0.6), TopK(2)).stages:
        mass *= 1 - result.mass_removed
    assert figure(page, "Softmax") == f"{percent(mass)} → 1"
    assert f"The 2 tokens left held {percent(mass)};" in sentence(page)
    # With scores changed between two cuts, no distribution had those left so.
    view = show(page, TopP(0.6), Temperature(2), TopK(2), point=4)
    assert figure(page, "Softmax") == "sum is 1"
    leader = percent(view["leaders"][0]["share"])
    assert sentence(page).endswith(f"scaled to sum to 1 again: “␣Paris” stands at {leader}.")


# --- the band ------------------------------------------------------------------------------------


def test_boxes_stand_in_the_person_s_order(page: Page) -> None:
    show(page, Xtc(), TopK(40), Temperature(0.7), RepetitionPenalty(1.2))
    expected = ["Tokens in", "Forward pass", "Logits", "XTC", "Top-k", "Temperature"]
    assert names(page) == [*expected, "Repetition penalty", "Softmax", "Draw", "Append"]
    page.evaluate("document.querySelector('[data-part-of-loop=top_k]').marked = true")
    button(page, "Stage: Top-k").focus()
    show(page, TopK(40), Temperature(0.7), Mirostat())
    assert names(page)[3:6] == ["Top-k", "Temperature", "Mirostat"]
    assert page.evaluate("document.querySelector('[data-part-of-loop=top_k]').marked")
    expect(button(page, "Stage: Top-k")).to_be_focused()
    calls(page)
    button(page, "Stage: Mirostat").click()
    assert calls(page) == [["show", {"point": 3}]]
    expect(button(page, "Stage: Mirostat")).to_have_attribute("aria-current", "step")


def test_without_scores_the_boxes_are_those_of_the_settings(page: Page) -> None:
    show(page, Xtc(), Mirostat())
    before = names(page)
    update(page, "{point: null}", "{none: true}")
    assert names(page) == before
    expect(button(page, "Stage: XTC")).to_be_disabled()


CLIPPED = """() => [...document.querySelectorAll('.dv-loop-name, .dv-loop-figure')]
  .filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent)"""


@pytest.mark.parametrize("chain", [LONG_NAMES, EVERYTHING], ids=["ten", "all"])
def test_a_long_chain_fits_a_wide_page(page: Page, chain: list[Stage]) -> None:
    show(page, *chain)
    assert len(names(page)) == len(chain) + 6
    assert band(page).evaluate("track => track.scrollWidth - track.clientWidth") <= 0
    assert page.evaluate(CLIPPED) == []
    rows = band(page).evaluate(
        "track => new Set([...track.children].map(item => Math.round(item.offsetTop))).size"
    )
    assert rows == (1 if chain is LONG_NAMES else 2)


@pytest.mark.parametrize("width", [1440, 390])
def test_nothing_jumps_while_one_walks_through_every_stage(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    heights = set()
    for point in range(len(EVERYTHING) + 3):
        show(page, *EVERYTHING, point=point)
        lit = band(page).locator("[aria-current=step]")
        expect(lit).to_be_in_viewport(ratio=0.9)
        heights.add(page.locator("#loop").evaluate("loop => loop.offsetHeight"))
    assert len(heights) == 1, heights
    assert page.evaluate("document.documentElement.scrollWidth") <= width
