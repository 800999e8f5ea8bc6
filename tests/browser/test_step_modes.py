"""The step page moving: Play, manual mode, slow motion, the keyboard, clicks that come too fast."""

from playwright.sync_api import Page, expect

from tests.browser.step_page import (
    button,
    force_buttons,
    generated,
    opened,
    prompt,
    set_slider,
    start,
    state,
    table,
    take_steps,
    tokens,
    turn_random,
)


def test_play_and_pause(page: Page):
    opened(page)
    turn_random(page)
    button(page, "Play").click()
    expect(generated(page).nth(3)).to_be_visible()
    button(page, "Pause").click()
    at_pause = generated(page).count()
    expect(button(page, "Play")).to_be_visible()
    page.wait_for_timeout(1200)  # several tokens' time: none may come but the one in flight
    assert generated(page).count() - at_pause in (0, 1)
    settled = generated(page).count()
    take_steps(page, 1)
    assert generated(page).count() == settled + 1


def test_keyboard_only_from_prompt_to_ten_tokens(page: Page):
    opened(page)
    prompt(page).focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("Once upon a time")
    page.keyboard.press("Control+Enter")
    page.wait_for_function(
        "document.querySelector('.dv').decoding.state.prompt === 'Once upon a time'"
    )
    page.keyboard.press("Tab")
    while not page.evaluate("document.activeElement.textContent === 'Step'"):
        page.keyboard.press("Tab")
    for number in range(1, 6):
        page.keyboard.press("Enter")
        expect(generated(page)).to_have_count(number)
    for number in range(6, 11):
        page.keyboard.press("s")
        expect(generated(page)).to_have_count(number)
    page.keyboard.press("b")
    expect(generated(page)).to_have_count(9)


def test_manual_mode_waits_for_enter_or_another_choice(page: Page):
    opened(page)
    start(page)
    page.get_by_label("manual").check()
    page.wait_for_function("document.querySelector('.dv').decoding.view?.is_pending")
    proposed = state(page, "view.draw.label")
    expect(generated(page)).to_have_count(0)
    page.locator("body").press("Enter")
    expect(generated(page)).to_have_count(1)
    expect(generated(page).first).to_have_text(proposed)
    page.wait_for_function(
        "(() => { const {view} = document.querySelector('.dv').decoding;"
        " return view.is_pending && view.index === 1 })()"
    )
    other = state(page, "view.rows.find(row => row.id !== view.draw.id).label")
    table(page).get_by_role("button", name=f"Force {other}", exact=True).click()
    expect(generated(page)).to_have_count(2)
    expect(generated(page).nth(1)).to_have_text(other)


def test_slow_motion_stops_at_every_stage_of_a_step(page: Page):
    opened(page)
    start(page)
    button(page, "Pure sampling").click()
    set_slider(page, "Temperature", 0.7)
    set_slider(page, "Top-k", 20)
    page.get_by_label("slow motion").check()
    button(page, "Step").click()
    names = []
    for _ in range(20):
        page.wait_for_function(
            "(() => { const {state, view} = document.querySelector('.dv').decoding;"
            " return state.point !== null && view.point === state.point })()"
        )
        place = state(page, "state.point")
        names.append(state(page, "view.points[view.point].name"))
        expect(generated(page)).to_have_count(0)
        kept = state(page, "view.kept")
        if names[-1] == "top_k":  # and what is equal to the 20th
            assert kept == 20 + state(page, "view.stages.find(each => each.name === 'top_k').tied")
            assert kept < 30
        if names[-1] in ("raw", "temperature"):
            assert kept == state(page, "view.vocab")
        if names[-1] == "drawn":
            break
        button(page, "Next stage").click()
        page.wait_for_function(
            "place => document.querySelector('.dv').decoding.state.point === place + 1", arg=place
        )
    assert names == ["raw", "temperature", "top_k", "renormalised", "drawn"]
    button(page, "Next stage").click()
    expect(generated(page)).to_have_count(1)


def test_rewind_and_run_to_end_repeat_the_text(page: Page):
    opened(page)
    turn_random(page)
    page.get_by_text("Stop rules, trace, keys").click()
    page.get_by_role("spinbutton", name="Max tokens").fill("6")
    page.get_by_role("spinbutton", name="Max tokens").press("Enter")
    page.get_by_text("Stop rules, trace, keys").click()
    button(page, "Run to end").click()
    expect(generated(page)).to_have_count(6)
    expect(page.get_by_text("Stopped: max tokens is 6, and there are 6 tokens")).to_be_visible()
    before = tokens(page).all_inner_texts()
    button(page, "Rewind").click()
    expect(generated(page)).to_have_count(0)
    expect(button(page, "Back")).to_be_disabled()
    button(page, "Run to end").click()
    expect(generated(page)).to_have_count(6)
    assert tokens(page).all_inner_texts() == before


def test_rough_handling_while_playing(page: Page):
    """Step, sliders, a double click and a new prompt in the middle of Play."""
    opened(page)
    turn_random(page)
    page.get_by_label("Speed").fill("21")
    button(page, "Play").click()
    expect(generated(page).nth(5)).to_be_visible()
    set_slider(page, "Temperature", 1.7)
    set_slider(page, "Top-k", 100)
    button(page, "Step").click()
    expect(button(page, "Play")).to_be_visible()
    page.wait_for_function("!document.querySelector('.dv').decoding.actions.is_busy()")
    count = generated(page).count()
    ids = state(page, "state.steps.map(step => step.id)")
    assert len(ids) == count
    button(page, "Step").dblclick()
    expect(generated(page)).to_have_count(count + 2)
    assert state(page, "state.steps.map(step => step.id)")[:count] == ids
    button(page, "Play").click()
    expect(generated(page).nth(count + 5)).to_be_visible()
    start(page, "A new prompt")
    expect(button(page, "Play")).to_be_visible()
    take_steps(page, 2)


def test_a_double_click_on_a_candidate_forces_once(page: Page):
    opened(page)
    force_buttons(page).nth(2).dblclick()
    expect(generated(page)).to_have_count(1)
    page.wait_for_timeout(500)
    expect(generated(page)).to_have_count(1)


def press(page: Page, *calls: str) -> None:
    """Actions called one right after the other, before any answer can come."""
    body = " ".join(f"actions.{call};" for call in calls)
    page.evaluate(f"() => {{ const {{actions}} = document.querySelector('.dv').decoding; {body} }}")


IS_QUIET = "!document.querySelector('.dv').decoding.actions.is_busy()"
NOTHING_CHANGES = 400  # ms; several round trips


def test_a_press_in_slow_motion_is_never_lost_or_counted_twice(page: Page):
    """Whatever is under way: settings that were just moved, the scores of the next token."""
    opened(page)
    start(page)
    button(page, "Pure sampling").click()
    page.get_by_label("slow motion").check()
    # The server is hearing of settings, and each press goes one stage on all the same.
    press(page, "limit({})", "next_stage()", "next_stage()")
    page.wait_for_function("document.querySelector('.dv').decoding.view.point === 1")
    assert state(page, "[view.points[view.point].name, state.steps.length]") == ["renormalised", 0]
    # At the draw a press waits for the answer, and then draws once.
    press(page, "next_stage()", "limit({})", "next_stage()")
    expect(generated(page)).to_have_count(1)
    page.wait_for_function(IS_QUIET)
    page.wait_for_timeout(NOTHING_CHANGES)
    expect(generated(page)).to_have_count(1)
    # The next token's scores are on their way: presses wait, and stop at a draw nobody has seen.
    press(page, *["next_stage()"] * 8)
    page.wait_for_function("document.querySelector('.dv').decoding.state.point === 2")
    page.wait_for_timeout(NOTHING_CHANGES)
    assert state(page, "[state.point, state.steps.length]") == [2, 1]
    button(page, "Next stage").click()
    expect(generated(page)).to_have_count(2)


def test_skipping_twice_draws_once(page: Page):
    opened(page)
    start(page)
    page.get_by_label("slow motion").check()
    button(page, "Step").click()
    page.wait_for_function("document.querySelector('.dv').decoding.state.point === 0")
    press(page, "skip_stages()", "skip_stages()")
    expect(generated(page)).to_have_count(1)
    page.wait_for_timeout(NOTHING_CHANGES)
    expect(generated(page)).to_have_count(1)


def test_what_is_proposed_anew_is_not_accepted_unseen(page: Page):
    """Manual mode: another seed proposes another token, and the press was for the first one."""
    opened(page)
    turn_random(page)
    page.get_by_label("manual").check()
    page.wait_for_function("document.querySelector('.dv').decoding.view?.is_pending")
    page.wait_for_function(IS_QUIET)
    before = state(page, "view.draw.id")
    press(page, "set({ seed: 4321 })", "step()")
    page.wait_for_function(
        "before => document.querySelector('.dv').decoding.view.draw.id !== before", arg=before
    )
    page.wait_for_timeout(NOTHING_CHANGES)
    expect(generated(page)).to_have_count(0)
    proposed = state(page, "view.draw.label")
    press(page, "limit({})", "step()")  # with an answer under way that changes nothing
    expect(generated(page)).to_have_count(1)
    expect(generated(page).first).to_have_text(proposed)


def test_nobody_left_is_said_before_a_step_and_in_the_refusal(page: Page):
    """Greedy, and behind it a ban of the best token: with the names of the cards, and a remedy."""
    opened(page)
    start(page)
    page.evaluate(
        "() => { const {view, actions} = document.querySelector('.dv').decoding;"
        " actions.set({ order: ['temperature', 'banned'], temperature: 0,"
        " banned: { sequences: [[view.rows[0].id]] } }); }"
    )
    remedy = "Move Banned words in front of Temperature, or switch one of the two off."
    reason = "Banned words took the last token"
    expect(page.locator("[data-part=notice]")).to_contain_text(
        f"Nothing is left to draw: {reason}. {remedy}"
    )
    expect(page.locator(".dv-status")).to_contain_text(f"kept none: {reason}")
    expect(page.get_by_role("button", name="Stage: Draw")).to_contain_text("nothing to draw")
    button(page, "Step").click()
    refusal = f"Every token was removed before the draw: {reason}. {remedy}"
    expect(page.get_by_role("alert").filter(has_text=refusal)).to_be_visible()
    expect(generated(page)).to_have_count(0)
