// Facts about one token: the one under the pointer, otherwise the chosen one.

import { element, set_text } from '../../lib/dom.js';
import { token_facts } from '../../words/making.js';
import { say } from '../../words/say.js';

/** @import { TokensState } from '../../types.js' */

/** @param {HTMLElement} root */
export function create(root) {
  const name = element('span', { class: 'dv-token' });
  const list = element('dl', { class: 'dv-token-facts' });
  root.append(element('h4', {}, `${say('Token')} `, name), list);
  /** @type {Map<string, HTMLElement>} */
  const values = new Map();
  return {
    /** @param {TokensState} state */
    update({ side, chosen, pointed }) {
      const place = pointed ?? chosen;
      if (!side.tokens[place]) return;
      set_text(name, side.tokens[place].label);
      for (const [fact, value] of token_facts(side, place)) {
        let node = values.get(fact);
        if (!node) {
          values.set(fact, (node = element('dd', { class: fact === 'pre-token' ? 'dv-token' : '' })));
          list.append(element('div', {}, element('dt', { text: say(fact) }), node));
        }
        set_text(node, value);
      }
    },
  };
}
