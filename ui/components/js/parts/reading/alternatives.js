// The chosen token of a text: its figures, what else the model expected there, and going on from it.

import { element, set_text } from '../../lib/dom.js';
import { bits, count, percent, quoted } from '../../words/format.js';
import { say } from '../../words/say.js';

/** @import { ReadActions, ReadState } from './types.js' */

/** @param {number | null} value @param {(value: number) => string} words */
const known = (value, words) => (value === null ? say('unknown') : words(value));

/** @param {HTMLElement} root @param {ReadActions} actions */
export function create(root, actions) {
  const title = element('h3');
  const facts = element('p', { class: 'dv-muted' });
  const rows = element('tbody');
  const head = [say('rank'), say('token'), say('probability')].map(text => element('th', { scope: 'col', text }));
  const table = element(
    'table',
    { class: 'dv-read-top' },
    element('caption', { class: 'dv-muted', text: say('Likeliest tokens here') }),
    element('thead', {}, element('tr', {}, ...head)),
    rows,
  );
  const go_on = element('button', { type: 'button', text: say('Go on from here'), onclick: () => actions.go_on() });
  root.append(title, facts, table, go_on);
  return {
    /** @param {ReadState} state */
    update({ reading, chosen }) {
      const token = reading.tokens[chosen];
      if (!token) return;
      set_text(title, say('Token {place}: {token}', { place: count(chosen + 1), token: quoted(token.label) }));
      const values = {
        share: known(token.probability, percent),
        rank: known(token.rank, count),
        surprisal: known(token.surprisal, bits),
        uncertainty: known(token.entropy, bits),
      };
      go_on.classList.toggle('dv-hidden', !reading.can_go_on);
      set_text(facts, say('{share} · rank {rank} · surprisal {surprisal} · uncertainty {uncertainty}', values));
      rows.replaceChildren(
        ...token.top.map(([label, probability, is_own], place) =>
          element(
            'tr',
            { class: is_own ? 'own' : '' },
            element('td', { text: count(place + 1) }),
            element('th', { scope: 'row', class: 'dv-token', text: label }),
            element(
              'td',
              {},
              element(
                'div',
                { class: 'dv-read-share' },
                element('i', { class: 'dv-read-bar', style: `--share: ${probability.toFixed(4)}` }),
                element('span', { text: percent(probability) }),
              ),
            ),
          ),
        ),
      );
    },
  };
}
