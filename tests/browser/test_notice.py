"""The Notice line where stages beyond the first five act: survivors, idle stages, nobody left."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from engine.sampling import SamplingSettings
from engine.stages import (
    Banned,
    Dry,
    DynamicTemperature,
    EpsilonCutoff,
    LogitBias,
    MinP,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopK,
    TypicalP,
    Xtc,
)
from tests.browser.cards_page import cards_page, open_cards
from ui.shared.settings import plain_settings


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    with cards_page(browser) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    open_cards(opened)
    return opened


# Paris 60 %, the 25 %, a 15 %, the others next to nothing.
CLEAR = "t.LOGITS.map((z, id) => 20 + Math.log(id < 3 ? [0.6, 0.25, 0.15][id] : 1e-12 / (id + 1)))"
HALVES = "t.LOGITS.map((z, id) => id < 2 ? 20 - id * 0.01 : 1)"


def said(
    page: Page, *chain: Stage, logits: str = CLEAR, point: int | None = None, xtc_u: float = 0.0
) -> str:
    """The sentence for a step to come, with these stages on in this order."""
    settings = plain_settings(SamplingSettings(chain=chain))
    changes = (
        f"{{steps: [], index: 0, point: {json.dumps(point)}, settings: {json.dumps(settings)}}}"
    )
    page.evaluate(f"void t.update({changes}, {{pending: true, xtc_u: {xtc_u}, logits: {logits}}})")
    text = page.locator("#notice").inner_text()
    return text.replace("\u2068", "").replace("\u2069", "").removeprefix("Notice: ")


ALWAYS = Xtc(threshold=0.2, probability=1)


def test_it_speaks_of_the_tokens_that_are_left(page: Page) -> None:
    half = Xtc(threshold=0.2, probability=1)
    assert said(page, TopK(2), half, point=2).startswith("1 token held 25.0")
    at_xtc = said(page, half, logits=HALVES, point=2)  # both reach it: the second leads
    assert "“␣Paris” leads" not in at_xtc
    # Behind a cut scores were moved: the leader is who leads there, and not who led before.
    moved = said(page, TopK(2), LogitBias({1: 3.0}), point=2)
    assert moved.startswith("“␣the” leads with 89.3") and "% of what is left; " in moved
    assert moved.endswith("the entropy after logit bias is 0.49 bits.")
    end = said(page, TopK(2), LogitBias({1: 3.0}))
    assert end.startswith("“␣the” leads with 89.3") and "“␣Paris” follows with 10.6" in end


def test_no_idle_stage_is_said_to_have_moved_the_leader(page: Page) -> None:
    raised = said(page, Dry(), Temperature(0.7))
    assert raised.startswith("Temperature 0.7 raised the share of “␣Paris” from 60.00 % to ")
    both = said(page, RepetitionPenalty(1.5), LogitBias({0: -2.0}), Temperature(0.7))
    assert both.startswith("Repetition penalty, logit bias and temperature together ")
    own = said(page, DynamicTemperature(low=0.2, high=0.4))
    assert own.startswith("Dynamic temperature (T = 0.2") and "raised the share of “␣Paris”" in own
    banned = said(page, Banned([[1], [300, 301]]))
    assert banned.startswith("Banned words raised the share of “␣Paris” from 60.00 % to 80.00 %")


def test_a_leader_that_was_removed_is_not_said_to_be_in_the_draw(page: Page) -> None:
    sentence = said(page, Temperature(0.7), ALWAYS, EpsilonCutoff(0.00001), point=2)
    assert "“␣Paris” leads" not in sentence
    assert "from 60.00 % to" not in sentence or "then XTC removed it" in sentence


@pytest.mark.parametrize(
    ("chain", "reason", "remedy"),
    [
        (
            [Temperature(0), Banned([[0]])],
            "Banned words took the last token",
            "Move Banned words in front of Temperature, or switch one of the two off.",
        ),
        (
            [MinP(0.9), TypicalP(0.9), Banned([[0]])],
            "Banned words took the last token",
            "Move Banned words in front of Min-p, or switch one of the two off.",
        ),
    ],
    ids=["greedy", "min-p"],
)
def test_nobody_left_is_said_with_the_card_s_name_and_a_remedy(
    page: Page, chain: list[Stage], reason: str, remedy: str
) -> None:
    assert said(page, *chain) == f"Nothing is left to draw: {reason}. {remedy}"
    assert "every time" not in said(page, *chain)
    # At a stage that still has tokens the sentence is about that stage.
    assert "Nothing is left" not in said(page, *chain, point=1)


def test_a_ban_of_everything_says_how_to_get_a_token_back(page: Page) -> None:
    sequences = [[token] for token in range(4) if token != 9]
    logits = "[4, 3, 2, 1]"
    assert said(page, Banned(sequences), logits=logits) == (
        "Nothing is left to draw: Banned words took the last token. "
        "Take a token off its card, or switch it off."
    )


def test_greedy_compares_with_the_token_that_it_beat(page: Page) -> None:
    near = said(page, Temperature(0), logits=HALVES)
    assert near.startswith("Greedy hides a near tie: “␣Paris” 50.")
    # The model's favourite is banned: the two that are left are far apart.
    assert said(page, Banned([[0]]), Temperature(0)).startswith(
        "Greedy takes “␣the” every time; drawn from the model’s own odds it would come in 25.00 %"
    )
    by_chance = said(page, Xtc(threshold=0.2, probability=0.5), Temperature(0), xtc_u=0.1)
    assert "every time" not in by_chance  # another step may have another number
    assert "“␣the” leads with 100.00 %" in by_chance


def test_cuts_that_change_nothing_are_named_whichever_they_are(page: Page) -> None:
    sits_out = Xtc(threshold=0.2, probability=0.5)
    assert said(page, sits_out, TopK(16_384), xtc_u=0.9).startswith(
        "XTC, top-k change nothing here: all 16,384 tokens stay."
    )
    assert said(page, Banned([[3]]), EpsilonCutoff(1e-19)).startswith(
        "Epsilon cutoff changes nothing here: all that came so far stay."
    )


def test_what_the_cuts_took_is_told_only_where_it_is_so(page: Page) -> None:
    """With a temperature behind the cut, draws without it would have other odds than before it."""
    assert "without them" in said(page, TopK(1))
    assert "without them" not in said(page, TopK(1), Temperature(2))
    assert "without them" not in said(page, TopK(2), Banned([[0]]))
