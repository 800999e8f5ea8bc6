"""Settings reach the server however soon a person goes; what it refuses does not stay on screen."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.step_page import button, generated, opened, slider, table


def go_to(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()


def decoding(page: Page, script: str):
    return page.evaluate(
        "(async () => { const {state, actions} = document.querySelector('.dv').decoding;"
        f" {script} }})()"
    )


def drag(page: Page, name: str, share: float) -> str:
    """Move a slider by the mouse; gives its value."""
    box = slider(page, name).bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * share, middle)
    page.mouse.up()
    return slider(page, name).input_value()


# Each leaves less than the 0.4 s after which a slider that stands still is told of by itself.
@pytest.fixture
def patient(page: Page) -> Page:
    """The step page on which no time brings a slider to the server: only what a person does."""
    page.add_init_script(
        "const wait = window.setTimeout; window.setTimeout = (run, ms, ...rest) =>"
        " ms === 400 ? 0 : wait(run, ms, ...rest);"
    )
    return opened(page)


def test_a_dragged_slider_is_kept_on_the_way_to_another_page(patient: Page):
    value = drag(patient, "Temperature", 0.8)
    assert float(value) > 1.4
    go_to(patient, "Compare")
    expect(patient).to_have_title(re.compile("^Compare"))
    go_to(patient, "Step")
    expect(slider(patient, "Temperature")).to_have_value(value)


def test_a_slider_moved_by_keys_is_kept_on_the_way_to_another_page(patient: Page):
    slider(patient, "Temperature").press("ArrowRight")
    value = slider(patient, "Temperature").input_value()
    go_to(patient, "Tune")
    expect(patient).to_have_title(re.compile("^Tune"))
    go_to(patient, "Step")
    expect(slider(patient, "Temperature")).to_have_value(value)


def test_a_slider_is_kept_through_a_reload(patient: Page):
    slider(patient, "Temperature").press("ArrowRight")
    value = slider(patient, "Temperature").input_value()
    patient.reload()
    expect(table(patient)).to_be_visible()
    expect(slider(patient, "Temperature")).to_have_value(value)


def test_an_exact_value_that_was_typed_last_is_kept(patient: Page):
    field = patient.get_by_role("spinbutton", name="Top-k, exact value", exact=True)
    field.press("ControlOrMeta+a")
    field.press_sequentially("17")
    go_to(patient, "Compare")
    expect(patient).to_have_title(re.compile("^Compare"))
    go_to(patient, "Step")
    expect(field).to_have_value("17")


def test_a_refused_value_leaves_the_screen_and_the_sentence_stays(page: Page):
    opened(page)
    before = decoding(page, "return state.settings")
    changes = {
        "order": [*before["order"], "logit_bias"],
        "logit_bias": {"bias": [[5, 1e30]]},
    }
    decoding(page, f"actions.set({json.dumps(changes)}); actions.settle();")
    alert = page.locator("[data-part=transport]").get_by_role("alert").filter(visible=True)
    expect(alert.filter(has_text="logit_bias")).to_be_visible()
    after = decoding(page, "return state.settings")
    assert after["order"] == before["order"]
    assert {name: after[name] for name in before} == before
    expect(page.get_by_role("group", name="Card: Logit bias")).to_have_count(0)
    assert "e30" not in table(page).inner_text()
    button(page, "Step").click()  # and the next event is not refused for the old reason
    expect(generated(page)).to_have_count(1)


def test_re_roll_that_draws_the_same_names_both_numbers_with_xtc(page: Page):
    opened(page)
    xtc = {"order": ["xtc", "top_k"], "xtc": {"threshold": 0.1, "probability": 0}, "top_k": 1}
    decoding(page, f"actions.set({json.dumps(xtc)}); await actions.step();")
    expect(generated(page)).to_have_count(1)
    button(page, "Re-roll").click()
    said = page.locator(".dv").get_by_text(
        re.compile(r"Seed \d+: u = 0\.\d{4}, and 0\.\d{4} for XTC")
    )
    expect(said).to_contain_text("again.")
    row = decoding(page, "return [state.steps[0].u, state.row.xtc_u]")
    assert f"u = {row[0]:.4f}, and {row[1]:.4f} for XTC, draw " in said.inner_text()
    decoding(page, "actions.set({order: ['top_k'], top_k: 1})")
    button(page, "Re-roll").click()
    plain = page.locator(".dv").get_by_text(re.compile(r"Seed \d+: u = 0\.\d{4} draws "))
    expect(plain).to_contain_text("again.")
