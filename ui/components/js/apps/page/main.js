// What every page needs of the browser besides its parts: charts in the theme that the visitor sees, menus that keys reach,
// Streamlit's own words in the language of the page, stage view, and the page that the address names.

import { set_text } from '../../lib/dom.js';
import { say } from '../../words/say.js';
import { focus_popovers } from './popovers.js';
import { create_stage } from './stage.js';

const ASKED_AGAIN_MS = 3_000;

/**
 * @param {HTMLElement} root whose `data-theme` is what the visitor sees
 * @param {{theme: string}} drawn the theme in which the server drew the page
 * @param {(name: string, value: unknown) => void} tell 'theme', where it is another: the server chooses the colours of its charts
 */
export function mount(root, drawn, tell) {
  const restyle = () => tell('theme', root.dataset.theme);
  if (root.dataset.theme !== drawn.theme) restyle();
  const skip = document.querySelector('[data-testid="stSkipToContent"]');
  if (skip instanceof HTMLElement) set_text(skip, say('Skip to main content'));
  const stops = [focus_popovers(), create_stage(root), keep_to_address()];
  return {
    restyle,
    destroy() {
      for (const stop of stops) stop();
    },
  };
}

/**
 * Ask Streamlit again for the page in the address. It forgets what the browser's Back or Forward asked for if a part of
 * the page that looks at work under way is drawn at that moment: its request is the newer one, and names the old page.
 *
 * @returns {() => void} ends it
 */
function keep_to_address() {
  const drawn = location.pathname;
  const timer = setInterval(() => {
    if (location.pathname !== drawn) dispatchEvent(new PopStateEvent('popstate'));
  }, ASKED_AGAIN_MS);
  return () => clearInterval(timer);
}
