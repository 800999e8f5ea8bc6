// A text as tokens: point at one for its facts, choose one for its making. Arrow keys move from token to token.

import { element, set_attribute, set_class } from '../../lib/dom.js';
import { next_place } from '../../lib/list_keys.js';
import { say } from '../../words/say.js';

/** @import { ShownToken, Side, TokensActions, TokensState } from '../../types.js' */

/** @param {ShownToken} token @param {number} place */
function look_of({ is_special, is_inserted, is_partial, pre_token }, place) {
  const names = ['dv-token', 'dv-cut-token', `shade-${(pre_token ?? place) % 2}`];
  if (is_special) names.push('special');
  if (is_inserted) names.push('inserted');
  if (is_partial) names.push('partial');
  return names.join(' ');
}

/** @param {HTMLElement} root @param {TokensActions} actions */
export function create(root, actions) {
  const list = element('div', { class: 'dv-cut-tokens', role: 'listbox', 'aria-orientation': 'horizontal' });
  root.append(list);
  /** @type {Side | null} */
  let side = null;
  /** @type {HTMLElement[]} */
  let items = [];
  let chosen = -1;

  /** @param {Event} event */
  const place_of = event => items.indexOf(/** @type {HTMLElement} */ (event.target));
  list.addEventListener('click', event => {
    const place = place_of(event);
    if (place >= 0) actions.choose(place);
  });
  list.addEventListener('pointerover', event => {
    const place = place_of(event);
    actions.point(place >= 0 ? place : null);
  });
  list.addEventListener('pointerleave', () => actions.point(null));
  list.addEventListener('keydown', event => {
    const to = next_place(event.key, chosen, items.length - 1);
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    actions.choose(to);
    items[chosen]?.focus();
  });

  /** @param {Side} now */
  function build(now) {
    items = now.tokens.map((token, place) =>
      element('span', { class: look_of(token, place), role: 'option', text: token.label, tabindex: -1 }),
    );
    list.replaceChildren(...items);
    set_attribute(list, 'aria-label', say('Tokens of {name}', { name: now.name }));
    chosen = -1;
  }

  return {
    /** @param {TokensState} state */
    update(state) {
      if (state.side !== side) {
        side = state.side;
        build(side);
      }
      if (chosen === state.chosen) return;
      for (const [place, is_chosen] of /** @type {[number, boolean][]} */ ([
        [chosen, false],
        [state.chosen, true],
      ])) {
        const item = items[place];
        if (!item) continue;
        set_attribute(item, 'aria-selected', String(is_chosen));
        set_attribute(item, 'tabindex', is_chosen ? 0 : -1);
        set_class(item, look_of(side.tokens[place], place) + (is_chosen ? ' chosen' : ''));
      }
      chosen = state.chosen;
    },
  };
}
