"""What a visitor does on the step page; elements are found by the names a screen reader says."""

import re

from playwright.sync_api import Locator, Page, expect

CAPITAL = "The capital of France is"


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def tokens(page: Page) -> Locator:
    return page.get_by_role("list", name="Tokens", exact=True).get_by_role("listitem")


def generated(page: Page) -> Locator:
    return page.locator('ol[aria-label="Tokens"] li.generated')


def slider(page: Page, name: str) -> Locator:
    return page.get_by_role("slider", name=name, exact=True)


def table(page: Page) -> Locator:
    return page.get_by_role("table", name="Candidates", exact=True)


def force_buttons(page: Page) -> Locator:
    return table(page).get_by_role("button", name=re.compile("^Force "))


def prompt(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Prompt", exact=True)


def opened(page: Page) -> Page:
    page.goto("/")
    expect(force_buttons(page).first).to_be_visible()
    return page


def start(page: Page, text: str = CAPITAL) -> None:
    prompt(page).fill(text)
    button(page, "Start").click()
    expect(generated(page)).to_have_count(0)
    expect(page.locator(".dv")).to_have_attribute("data-length", "0")
    page.wait_for_function(
        "text => document.querySelector('.dv').decoding.state.prompt === text", arg=text
    )


def take_steps(page: Page, count: int) -> None:
    before = generated(page).count()
    for number in range(before + 1, before + count + 1):
        button(page, "Step").click()
        expect(generated(page)).to_have_count(number)


def state(page: Page, expression: str):
    """Something of the page's state, by a JavaScript expression over `state` and `view`."""
    return page.evaluate(
        f"(() => {{ const {{state, view}} = document.querySelector('.dv').decoding;"
        f" return {expression} }})()"
    )


def set_slider(page: Page, name: str, value: float) -> None:
    slider(page, name).fill(str(value))


def turn_random(page: Page) -> None:
    """Nearly random text, which neither ends soon nor repeats."""
    button(page, "Pure sampling").click()
    set_slider(page, "Temperature", 2)


def refuse_dialogs(page: Page) -> list[str]:
    seen: list[str] = []

    def on_dialog(dialog) -> None:
        seen.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", on_dialog)
    return seen


def sent_frames(page: Page) -> list:
    """What the page sends to the server from now on."""
    sent: list = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    return sent


def assert_no_sideways_scroll(page: Page) -> None:
    for element in (page.locator("html"), page.get_by_test_id("stMain")):
        over = element.evaluate("e => e.scrollWidth - e.clientWidth")
        assert over <= 0, f"the page is {over} pixels wider than the window"
