"""Stage view on an open page: parts too small, cut off, overlapping, or left over."""

from playwright.sync_api import Page

from tests.browser.step_page import wait_until

SIZE = (1280, 720)
SMALLEST = 24  # px of type in a window of that size
WRONG = """
([own, smallest]) => {
  const found = [];
  const is_shown = node => node.checkVisibility({ visibilityProperty: true });
  const named = node => [node.tagName, node.className, node.getAttribute('aria-label'),
    node.textContent.slice(0, 30)].join(' ');
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const node = text.parentElement;
    if (!text.data.trim() || !is_shown(node)) continue;
    if (node.closest('.dv-spoken, script, style, [data-testid=stScreencast]')) continue;
    if (!node.closest(own)) found.push(`not of stage view: ${named(node)}`);
    const size = parseFloat(getComputedStyle(node).fontSize);
    if (size < smallest - 0.05) found.push(`${size} px: ${named(node)}`);
  }
  const slider = '[data-testid=stSlider]'; // what is focused in it lies where its thumb is
  const fields = [...document.querySelectorAll(`button, select, input[type=range], ${slider}`)]
    .filter(node => is_shown(node) && !node.closest('.dv-table, .dv-strip-box'))
    .filter(node => node.matches(slider) || !node.closest(slider));
  const boxes = [...fields, ...document.querySelectorAll('.dv-rows tr, .dv-others tr, .dv-staged')]
    .filter(is_shown).map(node => [node, node.getBoundingClientRect()]);
  for (const [node, box] of boxes) {
    if (box.left < 0 || box.top < 0 || box.right > innerWidth + 1 || box.bottom > innerHeight + 1)
      found.push(`leaves the window: ${named(node)}`);
    if (!node.matches(slider) && node.scrollWidth > node.clientWidth + 1)
      found.push(`cut off: ${named(node)}`);
    for (const [other, its] of boxes) {
      if (node === other || !fields.includes(node)) continue;
      const width = Math.min(box.right, its.right) - Math.max(box.left, its.left);
      const height = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
      if (width > 1 && height > 1) found.push(`${named(node)} lies over ${named(other)}`);
    }
  }
  return found;
}
"""
OWN = ".dv-stage, .st-key-stage, .st-key-stage_slider, .st-key-stage_only_slider, .st-key-page_app"
IS_ON = "on => document.documentElement.classList.contains('dv-on-stage') === on"


def on_stage(page: Page, size: tuple[int, int] = SIZE) -> None:
    """Enter stage view by its key, in a window of a size."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("v")
    wait_until(page, IS_ON, True)


def off_stage(page: Page) -> None:
    """Leave it by Escape."""
    page.keyboard.press("Escape")
    wait_until(page, IS_ON, False)


def wrong_on_stage(page: Page, smallest: float = SMALLEST) -> list[str]:
    """The current faults of stage view; in a smaller window type may be smaller."""
    found: list[str] = []
    for _ in range(600):
        found = page.evaluate(WRONG, [OWN, smallest])
        if not found:
            break
        page.wait_for_timeout(50)  # some parts are drawn later, on a busy machine much later
    return found
