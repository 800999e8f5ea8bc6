// Stage view on every page that decodes: its button in the header, and its keys.

import { element, set_attribute, set_text } from '../../lib/dom.js';
import { TYPING } from '../../lib/keys.js';
import { are_keys_on, is_on_stage, set_stage, take_up_stage, watch_stage } from '../../lib/stage.js';
import { say } from '../../words/say.js';

// Parts of stage view, by the class that the root has while the page contains one. A `:has` rule for them would make
// the browser restyle the whole page at each change inside it.
const PARTS = {
  'dv-has-step': ['dv-step'],
  'dv-has-stage': ['st-key-stage'],
  'dv-has-slider': ['st-key-stage_slider', 'st-key-stage_only_slider'],
};

const page = document.documentElement.classList;

function note_parts() {
  for (const [name, parts] of Object.entries(PARTS)) {
    page.toggle(
      name,
      parts.some(part => document.getElementsByClassName(part).item(0)),
    );
  }
}

/** @param {HTMLElement} root @returns {() => void} a function that ends this */
export function create_stage(root) {
  const button = element('button', {
    type: 'button',
    class: 'dv-stage-button',
    'aria-keyshortcuts': 'V',
    onclick: (/** @type {MouseEvent} */ event) => {
      set_stage(!is_on_stage());
      if (event.detail) button.blur(); // pressed by a pointer: later keys belong to the page
    },
  });
  root.append(button);
  function update() {
    const on = is_on_stage();
    set_text(button, on ? '✕' : say('Stage view'));
    set_attribute(button, 'aria-label', on ? say('Leave stage view') : null);
    set_attribute(
      button,
      'title',
      on ? say('Back to the whole page (Esc)') : say('Readable from the back of a room (V)'),
    );
  }
  const stop = watch_stage(update);
  take_up_stage();
  const changes = new MutationObserver(note_parts);
  changes.observe(document.body, { childList: true, subtree: true });
  note_parts();

  /** @param {KeyboardEvent} event */
  function on_key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (!page.contains('dv-has-step') && !page.contains('dv-has-stage')) return;
    if (event.key === 'Escape' && is_on_stage()) set_stage(false);
    if (!(event.target instanceof Element) || event.target.closest(TYPING)) return;
    if (event.key.toLowerCase() === 'v' && are_keys_on()) set_stage(!is_on_stage());
  }
  document.addEventListener('keydown', on_key);
  return () => {
    stop();
    changes.disconnect();
    document.removeEventListener('keydown', on_key);
    button.remove();
  };
}
