// The keyboard: single keys for everything the transport does, while no field is being typed in.

import { marked } from '../words/say.js';

/** @import { Actions } from '../types.js' */

/** Each key's action, in the order of the help. @type {[string, string, (actions: Actions) => unknown][]} */
export const KEYS = [
  ['s', marked('Step'), actions => actions.step()],
  ['b', marked('Back'), actions => actions.back()],
  ['p', marked('Play / Pause'), actions => actions.toggle_play()],
  ['e', marked('Run to end'), actions => actions.run_to_end()],
  ['0', marked('Rewind'), actions => actions.rewind()],
  ['d', marked('Re-roll (draw again)'), actions => actions.reroll()],
  ['m', marked('Manual mode'), actions => actions.toggle('manual')],
  ['l', marked('Slow motion'), actions => actions.toggle('slow')],
  ['v', marked('Stage view'), actions => actions.stage()],
  ['h', marked('Hide and reveal the candidates'), actions => actions.reveal()],
  ['ArrowLeft', marked('Look at the previous step'), actions => actions.inspect_by(-1)],
  ['ArrowRight', marked('Look at the next step'), actions => actions.inspect_by(1)],
  ['Enter', marked('Accept the proposed token, or go to the next stage'), actions => actions.proceed()],
  [
    'Escape',
    marked('Cancel a long task; otherwise leave stage view, slow motion, a stage, a what-if or the enlarged picture'),
    actions => actions.leave(),
  ],
  ['/', marked('Search the vocabulary'), actions => actions.focus_search()],
];

/** Fields that handle their own keys. */
export const TYPING = 'input:not([type=range]):not([type=checkbox]), textarea, select, [contenteditable=true]';
const OWN_ARROWS = 'input[type=range], .dv-tokens *, select, [role=radiogroup] *, [role=tablist] *';
const OWN_ENTER = 'button, a, summary, [role=button], .dv-tokens *';

/**
 * Listen for keys; return a function that stops this.
 * @param {HTMLElement} root
 * @param {Actions} actions
 * @param {() => boolean} are_on
 */
export function listen(root, actions, are_on) {
  const by_key = new Map(KEYS.map(([key, , run]) => [key, run]));
  /** @param {KeyboardEvent} event */
  function on_key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const { target } = event;
    // A click on bare ground focuses the element that holds the page: the body, or Streamlit's frame around it.
    if (!(target instanceof Element) || !(root.contains(target) || target.contains(root))) return;
    // A waiting person may be typing or have shortcuts turned off.
    if (event.key === 'Escape' && actions.cancel()) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (!are_on() || target.closest(TYPING)) return;
    if (event.key.startsWith('Arrow') && target.closest(OWN_ARROWS)) return;
    if (event.key === 'Enter' && target.closest(OWN_ENTER)) return;
    const run = by_key.get(event.key.length === 1 ? event.key.toLowerCase() : event.key);
    if (!run) return;
    event.preventDefault();
    event.stopPropagation(); // Streamlit has its own keys
    if (event.repeat && actions.is_busy()) return; // a held key never runs ahead of the answers
    run(actions);
  }
  document.addEventListener('keydown', on_key, true);
  return () => document.removeEventListener('keydown', on_key, true);
}
