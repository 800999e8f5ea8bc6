// Streamlit writes a popover at the end of the page, where Tab reaches it last. So a popover opened by a key gets the
// focus.

const BUTTON = '[data-testid="stPopoverButton"][aria-expanded="false"]';
const BODY = '[data-testid="stPopoverBody"]';
const FIELDS = 'a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, [tabindex="0"]';
const LONGEST_MS = 2_000; // until it appears

/** @returns {() => void} a function that ends this */
export function focus_popovers() {
  let frame = 0;
  /** @param {number} until */
  const enter = until => {
    const body = [...document.querySelectorAll(BODY)].at(-1);
    const first = /** @type {HTMLElement|null|undefined} */ (body?.querySelector(FIELDS));
    if (first) first.focus();
    else if (performance.now() < until) frame = requestAnimationFrame(() => enter(until));
  };
  /** @param {MouseEvent} event */
  const on_click = event => {
    const by_key = event.detail === 0;
    if (!by_key || !(event.target instanceof Element) || !event.target.closest(BUTTON)) return;
    cancelAnimationFrame(frame);
    const until = performance.now() + LONGEST_MS;
    frame = requestAnimationFrame(() => enter(until));
  };
  document.addEventListener('click', on_click, true); // before Streamlit opens it
  return () => {
    cancelAnimationFrame(frame);
    document.removeEventListener('click', on_click, true);
  };
}
