"""The draw: stretches and u against the engine's own draw, a thousand draws."""

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from engine.sampling import SamplingSettings, shape
from tests.browser.draw_page import draw_page, open_draw, show_row, update

VOCAB = 1000
LOGITS = np.random.default_rng(5).normal(0, 2, VOCAB).astype(np.float32)
ORDER = [int(token) for token in np.argsort(-LOGITS, kind="stable")]
LABELS = {token: f"␣t{rank}" for rank, token in enumerate(ORDER[:200], 1)}
FOUR = np.log(np.array([0.1, 0.2, 0.3, 0.4])).astype(np.float32)
FOUR_LABELS = {0: "a", 1: "b", 2: "c", 3: "d"}


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    with draw_page(browser) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    open_draw(opened)
    return opened


def figure(page: Page) -> Locator:
    return page.get_by_role("figure", name="Draw", exact=True)


def button(page: Page, name: str) -> Locator:
    return figure(page).get_by_role("button", name=name, exact=True)


def rows(page: Page) -> list[list[str]]:
    return page.evaluate(
        """[...document.querySelectorAll('.dv-draw-counts tbody tr:not(.dv-hidden)')].map(row => [
             row.querySelector('.dv-token').textContent,
             ...[...row.cells].slice(1).map(cell => cell.textContent)])"""
    )


def hit(page: Page) -> list[str]:
    return page.locator(".dv-draw-hit .dv-token").all_text_contents()


def share(text: str) -> float:
    """A percentage as it is shown; "< 0.0001 %" and "> 99.99 %" as what they come near to."""
    return float(text.removesuffix(" %").lstrip("<> ")) / 100


def status(page: Page) -> Locator:
    return figure(page).get_by_role("status")


# --- what is on the page -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [{}, {"temperature": 0.7, "top_p": 0.8}, {"top_k": 3}], ids=str
)
@pytest.mark.parametrize("u", [0.0, 0.05, 0.5871, 0.999999])
def test_u_hits_what_the_engine_draws(page: Page, settings: dict, u: float) -> None:
    shaped = shape(LOGITS, SamplingSettings(**settings))
    drawn = shaped.sample(u)
    update(page, settings={"temperature": 1, "top_p": 1, "top_k": 0, **settings})
    show_row(page, LOGITS, {token: str(token) for token in ORDER}, u=u)
    assert hit(page) == [str(drawn)]
    shown = [row for row in rows(page) if row[0] == str(drawn)]
    probability = share(shown[0][1])
    assert probability == pytest.approx(shaped.probability(drawn), abs=0.000051)
    assert sum(share(row[1]) for row in rows(page)) == pytest.approx(1, abs=0.001)
    marker = page.locator(".dv-draw-marker")
    assert marker.evaluate("each => parseFloat(each.style.left)") == pytest.approx(
        100 * u, abs=1e-4
    )
    # The marker stands in the hit stretch, on the bar as well as on the wheel.
    box = page.locator(".dv-draw-strip .dv-stretch-hit").bounding_box()
    at = marker.bounding_box()["x"]
    assert box["x"] - 1 <= at <= box["x"] + box["width"] + 1


def test_tokens_beyond_the_leading_ones_are_summed_up(page: Page) -> None:
    show_row(page, LOGITS, LABELS, u=0.0)
    names = [row[0] for row in rows(page)]
    assert names == [*(f"␣t{rank}" for rank in range(1, 9)), f"{VOCAB - 8} others"]
    update(page, settings={"top_k": 5})
    assert [row[0] for row in rows(page)] == [f"␣t{rank}" for rank in range(1, 6)]


def test_bar_and_wheel_show_the_same_stretches(page: Page) -> None:
    show_row(page, FOUR, FOUR_LABELS, u=0.65)
    expect(button(page, "Bar")).to_have_attribute("aria-pressed", "true")
    widths = page.locator(".dv-stretch").evaluate_all(
        "all => all.map(each => [each.textContent, parseFloat(each.style.width)])"
    )
    assert [name for name, _ in widths] == ["d", "c", "b", "a"]
    assert [width for _, width in widths] == pytest.approx([40, 30, 20, 10], abs=1e-3)
    height = figure(page).bounding_box()["height"]
    button(page, "Wheel").click()
    expect(page.locator(".dv-draw-bar")).to_be_hidden()
    expect(page.locator(".dv-draw-wheel")).to_be_visible()
    assert figure(page).bounding_box()["height"] == height
    # c has [0.4, 0.7): the pointer lies over its sector, at 0.65 of a turn from the top.
    turn = page.locator(".dv-wheel-pointer").get_attribute("transform")
    assert turn == "rotate(234.000)"
    inside = page.locator(".dv-wheel-hit").evaluate(
        """path => [0.39, 0.41, 0.65, 0.69, 0.71].map(share => path.isPointInFill(new DOMPoint(
             60 * Math.sin(2 * Math.PI * share), -60 * Math.cos(2 * Math.PI * share))))"""
    )
    assert inside == [False, True, True, True, False]


def test_the_same_u_with_other_settings(page: Page) -> None:
    update(page, settings={"temperature": 1, "top_k": 0})
    step = {"id": 2, "label": "c", "u": 0.5871, "forced": False}
    show_row(page, FOUR, FOUR_LABELS, u=0.5871, step=step)
    story = figure(page).locator(".dv-draw-story")
    # .4 d, .3 c: c has [.4, .7)
    expect(story).to_have_text(
        "u = 0.5871 drew “\u2068c\u2069”; its stretch is [0.4000, 0.7000), 30.00 % of all."
    )
    update(page, settings={"top_k": 3})  # d has 4/9, c 3/9
    expect(story).to_contain_text("Same u, other settings: u = 0.5871 still draws “\u2068c\u2069”")
    expect(story).to_contain_text("[0.4444, 0.7778)")
    update(page, settings={"top_k": 1})
    expect(story).to_contain_text(
        "u = 0.5871 now draws “\u2068d\u2069”, where the step drew “\u2068c\u2069”"
    )
    show_row(page, FOUR, FOUR_LABELS, u=None, step={**step, "u": None, "forced": True})
    expect(story).to_contain_text("was chosen by hand: nothing was drawn")
    assert hit(page) == []
    show_row(page, FOUR, FOUR_LABELS, u=0.1)
    expect(story).to_contain_text("The next step has u = 0.1000: with these settings it draws")
    show_row(page, np.array([20, 1, 2, 3], np.float32), FOUR_LABELS, u=1 - 1e-9)
    # b has e^-19 of the whole, at its end: enough digits to tell u and both ends apart.
    update(page, settings={"top_k": 0})
    expect(story).to_contain_text("The next step has u = 0.9999999990: ")
    expect(story).to_contain_text(
        "draws “\u2068b\u2069”; its stretch is [0.9999999944, 1.0000000000)"
    )


def test_a_thousand_draws_and_another_thousand(page: Page) -> None:
    show_row(page, LOGITS, LABELS, u=0.5)
    expect(status(page)).to_have_text(
        "Draw 1,000 times to see how near counts come to probabilities."
    )
    shaped = shape(LOGITS, SamplingSettings())
    for total in (1000, 2000):
        button(page, "Draw 1,000 times").click()
        expect(status(page)).to_contain_text(f"{total:,} draws gave ")
        expect(status(page)).to_contain_text("seed 7")
        drawn = [row[2] for row in rows(page)]
        assert sum(int(number.replace(",", "")) for number in drawn) == total
        # Seed 7 is fixed: the leading token's count lies within five standard deviations.
        share = shaped.probability(ORDER[0])
        sigma = np.sqrt(total * share * (1 - share))
        assert abs(int(drawn[0].replace(",", "")) - total * share) < 5 * sigma
        expected, spread = rows(page)[0][3].split(" ± ")
        assert float(expected.replace(",", "")) == pytest.approx(total * share, abs=0.51)
        assert float(spread) == pytest.approx(2 * sigma, abs=0.51)
    # Every page's first thousand of a seed are the same; another distribution starts anew.
    first = rows(page)
    update(page, settings={"top_k": 5})
    assert {row[2] for row in rows(page)} == {""}
    expect(status(page)).to_contain_text("Draw 1,000 times to see")
    update(page, settings={"top_k": 0})
    button(page, "Draw 1,000 times").click()
    button(page, "Draw 1,000 times").click()
    assert rows(page) == first


def test_draws_of_another_context_are_not_shown(page: Page) -> None:
    """The same scores and chain, but not XTC's number, mirostat's bound or the seed."""
    show_row(page, LOGITS, LABELS, u=0.5)
    xtc = {"threshold": 0.02, "probability": 0.5}
    update(page, settings={"order": ["xtc", "mirostat"], "xtc": xtc}, row={"xtc_u": 0.1})
    changes = [
        {"row": {"xtc_u": 0.9}},
        {"settings": {"xtc": None, "mirostat": {"tau": 3, "eta": 0.1}}},
        {"row": {"mirostat": {"tau": 3, "mu": 2.5}}},
        {"settings": {"seed": 8}},
    ]
    for change in changes:
        button(page, "Draw 1,000 times").click()
        expect(status(page)).to_contain_text("1,000 draws gave ")
        before = [row[:2] for row in rows(page)]
        update(page, **change)
        expect(status(page)).to_contain_text("Draw 1,000 times to see")
        assert {row[2] for row in rows(page)} == {""}
        assert ([row[:2] for row in rows(page)] == before) == ("seed" in change.get("settings", {}))
    button(page, "Draw 1,000 times").click()
    expect(status(page)).to_contain_text("seed 8")
    update(page, row={"mirostat": {"tau": 3, "mu": 2.5}})  # the same, from another message
    expect(status(page)).to_contain_text("1,000 draws gave ")


def test_greedy_draws_nothing(page: Page) -> None:
    show_row(page, FOUR, FOUR_LABELS, u=0.65)
    update(page, settings={"temperature": 0})
    expect(figure(page)).to_contain_text("nothing is drawn, the highest score is taken")
    expect(button(page, "Draw 1,000 times")).to_be_disabled()
    expect(page.locator(".dv-draw-marker")).to_be_hidden()
    assert rows(page) == [["d", "100.00 %", "", ""]]
    update(page, settings={"temperature": 1}, mode="playing")
    expect(button(page, "Draw 1,000 times")).to_be_disabled()
    update(page, mode="paused")
    expect(button(page, "Draw 1,000 times")).to_be_enabled()


def test_without_scores_and_without_survivors(page: Page) -> None:
    show_row(page, FOUR, FOUR_LABELS, u=0.65)
    banned = {"sequences": [[0], [1], [2], [3]]}
    update(page, settings={"order": ["banned"], "banned": banned})
    expect(figure(page)).to_contain_text("Nothing can be drawn: Banned words took the last token.")
    assert rows(page) == []
    update(page, row=None)
    expect(figure(page)).to_contain_text("There are no scores here to draw from.")
    expect(button(page, "Draw 1,000 times")).to_be_disabled()


def test_stepping_moves_nothing_and_keeps_the_elements(page: Page) -> None:
    show_row(page, LOGITS, LABELS, u=0.1)
    height = figure(page).bounding_box()["height"]
    kept = page.locator(".dv-draw-counts tbody tr").first.element_handle()
    for u, top_k in ((0.99, 0), (0.5, 1), (0.2, 4), (0.999, 30)):
        update(page, settings={"top_k": top_k}, row={"u": u})
        assert figure(page).bounding_box()["height"] == height
        assert page.locator(".dv-draw-counts tbody tr").first.evaluate("(a, b) => a === b", kept)
    button(page, "Draw 1,000 times").click()
    assert figure(page).bounding_box()["height"] == height


def test_nothing_is_drawn_while_folded_or_out_of_sight(page: Page) -> None:
    show_row(page, FOUR, FOUR_LABELS, u=0.1)
    assert hit(page) == ["d"]
    fold = figure(page).locator("summary")
    fold.click()
    update(page, row={"u": 0.5})
    assert hit(page) == ["d"]  # as it was
    fold.click()
    expect(page.locator(".dv-draw-hit .dv-token")).to_have_text("c")
    page.evaluate(
        """() => new Promise(done => {
          document.querySelector('[data-part=draw]').style.marginTop = '5000px';
          const seen = new IntersectionObserver(([{ isIntersecting }]) => !isIntersecting && done(),
            { rootMargin: '200px' });
          seen.observe(document.querySelector('[data-part=draw]'));
        })"""
    )
    update(page, row={"u": 0.95})
    assert hit(page) == ["c"]
    figure(page).scroll_into_view_if_needed()
    expect(page.locator(".dv-draw-hit .dv-token")).to_have_text("a")


def test_hostile_labels_are_text(page: Page) -> None:
    hostile = "<b onclick=x>&amp;\u202e</b>"
    show_row(page, FOUR, {**FOUR_LABELS, 3: hostile}, u=0.1)
    assert hit(page) == [hostile]
    button(page, "Wheel").click()
    assert page.locator("[data-part=draw] b").count() == 0


def test_a_phone_folds_it_and_has_room_for_it(browser: Browser) -> None:
    size = {"width": 390, "height": 800}
    with draw_page(browser, viewport=size, has_touch=True, is_mobile=True) as phone:
        show_row(phone, LOGITS, LABELS, u=0.95)
        expect(button(phone, "Wheel")).to_be_hidden()
        figure(phone).locator("summary").click()
        button(phone, "Draw 1,000 times").click()
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
        assert phone.evaluate(
            """() => [...document.querySelectorAll('.dv-draw-counts :is(thead th, td)')].every(
                 cell => cell.scrollWidth <= cell.clientWidth && cell.clientHeight < 24)"""
        )
        for each in figure(phone).get_by_role("button").all():
            assert each.bounding_box()["height"] >= 36
