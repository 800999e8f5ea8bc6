// Keeps the document at the page in its address, whatever Streamlit has lost of a change of page.
//
// A browser's message names the page that it comes from. If a message of the old page, such as the clock of a fragment
// that watches work, reaches Streamlit after the request for another page, Streamlit may forget that request, or run the
// old page's fragment last; the browser then removes the new page.

const LOOK_MS = 3_000;

/** @type {ReturnType<typeof setInterval> | undefined} */
let clock;
// Streamlit may draw the page twice for a moment, and then removes either one.
let on_screen = 0;

/** @param {() => void} look */
function look_again(look) {
  clearInterval(clock);
  clock = setInterval(look, LOOK_MS);
}

/** Reload the document if twice in a row there was no page, and no script running that would draw one. */
function wait_for_page() {
  let was_white = false;
  look_again(() => {
    const app = document.querySelector('[data-testid="stApp"]');
    const is_white = app instanceof HTMLElement && app.dataset.testScriptState === 'notRunning';
    if (is_white && was_white) location.reload();
    was_white = is_white;
  });
}

/**
 * Ask for the page in the address if it has changed; once the present page is removed, wait for the next one.
 *
 * @returns {() => void} a function to call when the page is removed
 */
export function keep_page() {
  const drawn = location.pathname;
  on_screen += 1;
  look_again(() => {
    if (location.pathname !== drawn) window.dispatchEvent(new PopStateEvent('popstate'));
  });
  return () => {
    on_screen -= 1;
    if (on_screen === 0) wait_for_page();
  };
}
