// A text as tokens, by one tokenizer or by two side by side.

import { element, set_attribute, set_text } from '../../lib/dom.js';
import { mount_part } from '../../parts/mount.js';
import * as facts from '../../parts/tokens/facts.js';
import * as making from '../../parts/tokens/making.js';
import * as strip from '../../parts/tokens/strip.js';

/** @import { Side, TokensActions, TokensState } from '../../types.js' */

/** @param {HTMLElement} list @param {(part: string, error: Error) => void} report */
function create_side(list, report) {
  const title = element('h3');
  const about = element('p', { class: 'dv-muted' });
  const note = element('p', { class: 'dv-muted' });
  const node = element('section', { class: 'dv-tokens-side' }, title, about);
  list.append(node);
  /** @type {TokensState | null} */
  let state = null;
  /** @param {Partial<TokensState>} changes */
  function change(changes) {
    if (!state) return;
    state = { ...state, ...changes };
    for (const part of parts) part.update(state, 'step');
  }
  /** @type {TokensActions} */
  const actions = { choose: chosen => change({ chosen }), point: pointed => change({ pointed }) };
  const places = { strip, facts, making };
  const parts = Object.entries(places).map(([name, module]) => {
    const place = element('div', { 'data-part': name });
    node.append(place);
    if (name === 'strip') node.append(note);
    return mount_part(place, name, module, actions, report);
  });
  return {
    /** @param {Side} side */
    update(side) {
      set_text(title, side.name);
      set_attribute(node, 'aria-label', `Text by ${side.name}`);
      set_text(about, side.facts);
      set_text(note, side.note);
      note.classList.toggle('dv-hidden', !side.note);
      state = { side, chosen: side.first, pointed: null };
      change({});
    },
    destroy() {
      for (const part of parts) part.destroy?.();
      node.remove();
    },
  };
}

/**
 * @param {HTMLElement} root the element with class `dv`
 * @param {{sides?: string}} data `sides`: sides from ui/tokens/message.py, as JSON
 */
export function mount(root, data) {
  root.classList.add('dv-tokens-page');
  /** @type {ReturnType<typeof create_side>[]} */
  const shown = [];
  let seen = '';
  const report = (/** @type {string} */ part, /** @type {Error} */ error) =>
    console.error(`The part ${part} has failed.`, error);

  /** @param {{sides?: string}} now */
  function update(now) {
    if (!now.sides || now.sides === seen) return; // the choice stays as long as the text does
    seen = now.sides;
    /** @type {Side[]} */
    const sides = JSON.parse(seen);
    while (shown.length > sides.length) shown.pop()?.destroy();
    while (shown.length < sides.length) shown.push(create_side(root, report));
    sides.forEach((side, place) => shown[place].update(side));
  }
  update(data);
  return {
    update,
    restyle: () => {},
    destroy() {
      for (const side of shown) side.destroy();
    },
  };
}
