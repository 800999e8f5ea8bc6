// The browser side of every page besides its parts: charts in the visitor's theme, menus that keys reach, Streamlit's
// own texts in the page's language, stage view, and the page that the address names.

import { set_text } from '../../lib/dom.js';
import { say } from '../../words/say.js';
import { keep_page } from './keep.js';
import { focus_popovers } from './popovers.js';
import { create_stage } from './stage.js';

/**
 * @param {HTMLElement} root its `data-theme` is the theme that the visitor sees
 * @param {{theme: string}} drawn the theme in which the server drew the page
 * @param {(name: string, value: unknown) => void} tell called with 'theme' if it differs: the server chooses the
 *   colours of its charts
 */
export function mount(root, drawn, tell) {
  const restyle = () => tell('theme', root.dataset.theme);
  if (root.dataset.theme !== drawn.theme) restyle();
  const skip = document.querySelector('[data-testid="stSkipToContent"]');
  if (skip instanceof HTMLElement) set_text(skip, say('Skip to main content'));
  const stops = [focus_popovers(), create_stage(root), keep_page()];
  return {
    restyle,
    destroy() {
      for (const stop of stops) stop();
    },
  };
}
