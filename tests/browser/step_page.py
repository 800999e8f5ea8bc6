"""A visitor's actions on the step page; elements are found by the names a screen reader says."""

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, expect

PATIENCE_MS = 120_000  # the first page loads a model: seen to take 60 s on a very busy machine
CAPITAL = "The capital of France is"
FIVE_ON = {"repetition_penalty": 1.2, "temperature": 0.9, "top_k": 12, "top_p": 0.97, "min_p": 0.02}

# --- elements of the page -------------------------------------------------------------------------


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def slider(page: Page, name: str) -> Locator:
    return page.get_by_role("slider", name=name, exact=True)


def prompt(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Prompt", exact=True)


def tokens(page: Page) -> Locator:
    return page.get_by_role("list", name="Tokens", exact=True).get_by_role("listitem")


GENERATED = '[aria-label="Tokens"] li.generated'


def generated(page: Page) -> Locator:
    return page.locator(GENERATED)


def table(page: Page) -> Locator:
    return page.get_by_role("table", name="Candidates", exact=True)


def force_buttons(page: Page) -> Locator:
    return table(page).get_by_role("button", name=re.compile("^Force "))


def figure(page: Page, name: str) -> Locator:
    return page.get_by_role("figure", name=name, exact=True)


def alert(page: Page, text: str) -> Locator:
    return page.get_by_role("alert").filter(has_text=text)


# --- its state ------------------------------------------------------------------------------------

# The app on the page that decodes.
APP = "[...document.querySelectorAll('.dv')].find(app => app.decoding)"


def state(page: Page, expression: str, arg: Any = None) -> Any:
    """Evaluate a JavaScript expression over `state`, `view`, `actions` and `arg`."""
    return page.evaluate(
        f"arg => {{ const {{state, view, actions}} = {APP}.decoding; return {expression}; }}",
        arg,
    )


def wait_for(page: Page, condition: str, arg: Any = None) -> None:
    """Wait until such an expression is true."""
    wait_until(
        page,
        f"arg => {{ const {{ state, view, actions }} = {APP}?.decoding ?? {{}};"
        f" return state && ({condition}); }}",
        arg,
    )


_IS_OF_SCHEME = """
scheme => {
  const ground = getComputedStyle(document.querySelector('.stApp')).backgroundColor;
  const [red] = ground.match(/\\d+/g).map(Number);
  return (red < 128) === (scheme === 'dark');
}
"""


def wait_until(page: Page, function: str, arg: Any = None) -> None:
    """Wait until a JavaScript function is true. The page's policy forbids `wait_for_function`."""
    page.evaluate(
        """async ({ arg, patience }) => {
          const condition = FUNCTION, until = performance.now() + patience;
          while (!condition(arg)) {
            if (performance.now() > until) throw new Error(`it never came: ${condition}`);
            await new Promise(resolve => setTimeout(resolve, 15));
          }
        }""".replace("FUNCTION", function),
        {"arg": arg, "patience": PATIENCE_MS},
    )


def cancel_run(page: Page) -> None:
    """Cancel the page's current run, which keeps its figures so far."""
    cancel = page.locator("[class*=_cancel] button")
    cancel.evaluate_all("buttons => buttons[0]?.click()")
    expect(cancel).to_have_count(0)


def wait_for_scheme(page: Page, scheme: str) -> None:
    """Wait until the app is drawn in the browser's scheme, ``light`` or ``dark``."""
    wait_until(page, _IS_OF_SCHEME, scheme)


def settle(page: Page) -> None:
    """Wait until the server has answered everything and the page has drawn it."""
    wait_for(page, "state.run && !actions.is_busy() && state.mode === 'paused'")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    wait_for(page, "!actions.is_busy()")


def round_trip(page: Page) -> None:
    """Wait for the server's answer to an event that changes nothing."""
    state(page, "actions.limit({}).then(() => null)")


def ids(page: Page) -> list[int]:
    return state(page, "state.steps.map(step => step.id)")


# --- a person's actions ---------------------------------------------------------------------------


def opened(page: Page) -> Page:
    page.goto("/")
    expect(force_buttons(page).first).to_be_visible()
    return page


# Preferences that a person sets for the page itself.
_CHOSEN = (
    "['speed', 'row_count', 'keys', 'stage_slider', 'colouring', 'columns', 'picture', 'enlarged']"
)


def remember_opening(page: Page) -> None:
    """Remember the state of an opened step page for `as_opened`."""
    settle(page)
    page.evaluate(
        f"""() => {{
          const {{ state }} = {APP}.decoding, {{ settings, limits, draft, guidance_scale }} = state;
          const chosen = Object.fromEntries({_CHOSEN}.map(name => [name, state[name]]));
          window.opening = structuredClone({{ settings, limits, draft, guidance_scale, chosen }});
        }}"""
    )


def as_opened(page: Page) -> None:
    """Restore a step page to its opening state and start its text over."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    page.mouse.move(0, 0)
    page.evaluate(
        f"""async () => {{
          const {{ state, actions }} = {APP}.decoding, opening = structuredClone(window.opening);
          document.activeElement.blur();
          for (const menu of document.querySelectorAll('.dv details[open]')) menu.open = false;
          const search = document.querySelector('[data-part=search] input');
          search.value = '';
          search.dispatchEvent(new Event('input'));
          actions.pause();
          if (state.stage) actions.stage(false);
          if (state.hiding) actions.hide(false);
          for (const name of ['manual', 'slow']) if (state[name]) actions.toggle(name, false);
          while (state.error || state.visit_notice) actions.forget();
          actions.show(opening.chosen);
          actions.draft(opening.draft);
          actions.guide(opening.guidance_scale);
          state.settings = {{}};
          actions.set(opening.settings);
          await actions.limit(opening.limits);
          await actions.start();
        }}"""
    )
    wait_for(page, "state.prompt === window.opening.draft.prompt && !state.steps.length")
    settle(page)
    expect(force_buttons(page).first).to_be_visible()


_IS_ANOTHER = """
was => document.title !== was
  && document.querySelector('.stApp').dataset.testScriptState === 'notRunning'
"""


def go_on_to(page: Page, path: str) -> None:
    """Go to a page in the same tab like the browser's "Forward": no document is loaded."""
    was = page.title()
    page.evaluate(
        """path => {
          history.pushState({}, '', path);
          dispatchEvent(new PopStateEvent('popstate'));
        }""",
        path,
    )
    wait_until(page, _IS_ANOTHER, was)


def start(page: Page, text: str = CAPITAL) -> None:
    prompt(page).fill(text)
    button(page, "Start").click()
    wait_for(page, "state.prompt === arg && state.steps.length === 0 && !state.starting", text)


def take_steps(page: Page, count: int) -> None:
    settle(page)  # so that a pending step is counted
    before = generated(page).count()
    for number in range(before + 1, before + count + 1):
        button(page, "Step").click()
        # `expect` would look again only after 0.1, then 0.25, then 0.5 s.
        has_grown = f"count => document.querySelectorAll('{GENERATED}').length === count"
        wait_until(page, has_grown, number)


def set_samplers(page: Page, **settings: Any) -> None:
    """Set several samplers at once, as an example does; the page's other samplers stay."""
    order = state(
        page,
        "state.table.order.filter(n => n in arg || state.settings.order.includes(n))",
        settings,
    )
    state(page, "actions.set(arg)", {**settings, "order": order})
    state(page, "actions.settle()")
    settle(page)


def turn_random(page: Page) -> None:
    """Make the text nearly random, so that it neither ends soon nor repeats."""
    set_samplers(page, temperature=2)


def choose_setting(page: Page, role: str, name: str, value: str | bool) -> None:
    """Choose a value in the menu `Settings`."""
    menu = page.locator("details.dv-settings")
    menu.locator("summary").click()
    field = menu.get_by_role(role, name=name, exact=True)
    if role == "combobox":
        field.select_option(value)
    elif role == "checkbox":
        field.set_checked(value)
    else:
        field.fill(value)
        field.press("Tab")
    menu.locator("summary").click()


def choose_example(page: Page, name: str) -> None:
    menu = page.locator("details.dv-menu", has=page.locator("summary", has_text="Examples"))
    menu.locator("summary").click()
    menu.get_by_role("button").filter(has=page.get_by_text(name, exact=True)).click()
    wait_for(page, "state.examples.list.find(e => e.name === arg).prompt === state.prompt", name)
    settle(page)


def count_frames(page: Page) -> Callable[[], int]:
    """Count the frames sent from now on, except questions about labels and the row."""
    page.evaluate(
        """() => {
          const send = WebSocket.prototype.send;
          window.frames_sent = 0;
          WebSocket.prototype.send = function (data) {
            if (!/"kind":"(labels|row)"/.test(String(data))) window.frames_sent += 1;
            return send.call(this, data);
          };
        }"""
    )
    return lambda: page.evaluate("() => window.frames_sent")
