"""Unplanned paths through the step page: every example after every method, and random walks.

The long form takes all examples and eight random walks; the short one takes a third of one walk.
"""

import random
import re
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from engine.decoder import Decoder
from engine.decoding.contrastive import ContrastiveSearch
from engine.decoding.replay import begin
from engine.trace import Trace
from tests.browser.step_page import (
    button,
    choose_example,
    generated,
    ids,
    settle,
    state,
    take_steps,
    tokens,
)
from tests.bundled import bundled
from ui.texts.examples import EXAMPLES
from ui.texts.settings import parse_settings
from ui.words.token_labels import labels_of

WALKS = [(0, 20), *(pytest.param(seed, 60, marks=pytest.mark.long) for seed in range(8))]
LOOK_EVERY = 20
REFUSALS = re.compile("removed before the draw|nothing is left", re.IGNORECASE)


@pytest.fixture
def page(step_page: Page) -> Page:
    """The step page as it opens."""
    return step_page


def assert_no_failure(page: Page) -> None:
    error = state(page, "state.error")
    assert error == "" or REFUSALS.search(error), error
    assert page.locator(".dv-failed").filter(visible=True).all_inner_texts() == []


# --- every example after every method -------------------------------------------------------------


def choose_method(page: Page, method: str) -> None:
    """Begin the text on the page again with a different method, as a person does."""
    menu = page.locator("details.dv-settings")
    menu.locator("summary").click()
    strategy = "search" if method == "contrastive" else "sampling"
    menu.get_by_role("combobox", name="Strategy").select_option(strategy)
    if method != "contrastive":
        menu.get_by_role("checkbox", name="Guidance").set_checked(method == "guidance")
    if method == "guidance":
        menu.get_by_role("textbox", name="Negative prompt").fill("There was a little")
    menu.locator("summary").click()
    button(page, "Start").click()
    settle(page)
    found = state(page, "[state.strategy !== null, state.negative_prompt !== null]")
    assert found == [method == "contrastive", method == "guidance"]


@pytest.mark.long
def test_examples_work_after_every_decoding_method(page: Page):
    for method, example in product(["sampling", "guidance", "contrastive"], EXAMPLES):
        choose_method(page, method)
        take_steps(page, 1)
        choose_example(page, example.name)
        assert state(page, "[state.prompt, state.negative_prompt, state.strategy !== null]") == [
            example.prompt,
            example.negative_prompt,
            example.strategy is not None,
        ]
        take_steps(page, 2)
        assert_no_failure(page)


# --- chance ---------------------------------------------------------------------------------------

# The indices of elements that a visitor can see and press, in one query instead of two for each.
PRESSABLE = """
nodes => [...nodes.keys()].filter(place => {
  const node = nodes[place], { width, height } = node.getBoundingClientRect();
  const is_seen = node.checkVisibility({ visibilityProperty: true }) && width && height;
  return is_seen && !node.matches(':disabled') && !node.closest('[aria-disabled=true]');
})
"""


class Walk:
    """One visitor who presses anything on the page."""

    def __init__(self, page: Page, seed: int) -> None:
        self.page = page
        self.chance = random.Random(seed)

    def one_of(self, found: Locator) -> Locator | None:
        places = found.evaluate_all(PRESSABLE)
        return found.nth(self.chance.choice(places)) if places else None

    def press(self, found: Locator) -> None:
        if chosen := self.one_of(found):
            chosen.click()

    def act(self) -> None:
        page = self.page
        actions = {  # weight, and what to press or do
            "step": (8, button(page, "Step")),
            "three_steps": (2, self.three_steps),
            "back": (2, button(page, "Back")),
            "rewind": (1, button(page, "Rewind")),
            "reroll": (2, button(page, "Re-roll")),
            "slide": (6, self.slide),
            "switch": (4, page.get_by_role("switch")),
            "order": (2, self.order),
            "add": (2, self.add),
            "take_away": (1, page.get_by_role("button", name=re.compile("^Remove "))),
            "force": (4, page.get_by_role("button", name=re.compile("^Force "))),
            "branch": (3, page.get_by_role("radiogroup", name="Branches").get_by_role("radio")),
            "inspect": (4, generated(page)),
            "what_if": (3, self.what_if),
            "as_recorded": (2, button(page, "Show as recorded")),
            "preset": (1, page.locator(".dv-presets > button")),
            "example": (1, self.example),
            "seed": (2, self.seed),
        }
        (self.did,) = self.chance.choices(list(actions), [weight for weight, _ in actions.values()])
        _, action = actions[self.did]
        if isinstance(action, Locator):
            self.press(action)
        else:
            action()

    def three_steps(self) -> None:
        if button(self.page, "Step").is_enabled():
            self.page.evaluate(
                "() => { for (let press = 0; press < 3; press += 1)"
                " document.querySelector('.dv-go').click(); }"
            )

    def slide(self) -> None:
        knob = self.one_of(self.page.locator("[data-part=samplers] input[type=range]"))
        if knob:
            box = knob.bounding_box()
            place = {"x": box["width"] * self.chance.uniform(0.02, 0.98), "y": box["height"] / 2}
            knob.click(position=place)

    def order(self) -> None:
        order = state(self.page, "state.settings.order")
        self.chance.shuffle(order)
        state(self.page, "(actions.set({ order: arg }), actions.settle())", order)

    def add(self) -> None:
        if self.one_of(button(self.page, "Add sampler")):
            button(self.page, "Add sampler").click()
            self.press(self.page.get_by_role("menuitem"))

    def what_if(self) -> None:
        self.press(generated(self.page))
        settle(self.page)
        self.slide()

    def example(self) -> None:
        choose_example(self.page, self.chance.choice(EXAMPLES).name)

    def seed(self) -> None:
        field = self.page.get_by_role("spinbutton", name="Seed")
        if field.is_visible():
            field.fill(str(self.chance.randrange(10**6)))
            field.press("Enter")


def replayed(file: Path) -> Decoder | ContrastiveSearch:
    """Replay the text of a trace with the engine alone."""
    trace = Trace.load(file)
    text = begin(trace, bundled())
    for _ in trace.steps:
        text.repeat(trace)
    return text


def assert_as_the_engine_has_it(page: Page, file: Path) -> None:
    """Compare ids, labels, and the rows of the step on screen with the engine's."""
    with page.expect_download() as waiting:
        state(page, "actions.save_trace()")
    waiting.value.save_as(file)
    text = replayed(file)
    assert ids(page) == [step.token_id for step in text.steps]
    labels = labels_of(bundled().vocabulary)
    shown = [label for label in tokens(page).all_text_contents() if not label.startswith("…")]
    assert shown[-len(text.steps) :] == [labels[step.token_id] for step in text.steps] or (
        not text.steps
    )
    view = state(page, "view && !view.missing && view.exact ? view : null")
    if view is None or isinstance(text, ContrastiveSearch):
        return
    values = view["settings"] | {"seed": state(page, "state.settings.seed")}
    on = [name for name in values["order"] if values.get(name) is not None]
    settings, _ = parse_settings(values | {"order": on})
    index = view["index"]
    if index < len(text.steps):
        distribution = text.distribution(index, settings)
    elif text.guidance is None:
        distribution = text.next_distribution(settings)
    else:
        return
    found = [(row["rank"], row["id"], row["removed_by"]) for row in view["rows"]]
    wanted = distribution.candidates(len(found))
    assert found == [(each.rank, each.token_id, each.removed_by) for each in wanted]


@pytest.mark.parametrize(("seed", "actions"), WALKS)
def test_text_matches_engine_after_random_actions(page: Page, seed, actions, tmp_path):
    walk = Walk(page, seed)
    done = []
    for number in range(1, actions + 1):
        walk.act()
        done.append(walk.did)
        settle(page)
        assert_no_failure(page)
        if state(page, "state.error") != "":
            button(page, "Dismiss").click()
        if number % LOOK_EVERY == 0:
            assert_as_the_engine_has_it(page, tmp_path / f"{number}.json")
    print(f"seed {seed}:", *done)
