// The step on screen of a text read only from a trace: its leading tokens, as in the file.

import { element, set_class, set_text } from '../lib/dom.js';
import { count, percent, score_text } from '../words/format.js';
import { marked, say } from '../words/say.js';

/** @import { State } from '../types.js' */
/** @typedef {Pick<State, 'recorded' | 'model'>} Properties */

const TOKEN = 1; // the token's column
const COLUMNS = [marked('Rank'), marked('Token'), marked('Logit'), marked('Model’s own'), marked('In the draw'), ''];

/** @param {string} text */
const figure = text => element('td', { class: 'dv-figure', text });

/** @param {HTMLElement} root */
export function create(root) {
  const heads = COLUMNS.map((text, place) =>
    element(text ? 'th' : 'td', {
      scope: text ? 'col' : null,
      class: place === TOKEN ? '' : 'dv-figure',
      text: say(text),
    }),
  );
  const body = element('tbody');
  const table = element(
    'table',
    { class: 'dv-figures dv-recorded', 'aria-label': say('Leading tokens in the trace') },
    element('thead', {}, element('tr', {}, ...heads)),
    body,
  );
  root.append(table);

  return {
    /** @param {Properties} state */
    update({ recorded, model }) {
      set_text(heads[2], model?.has_logits === false ? say('log-prob.') : say('Logit'));
      const rows = (recorded?.rows ?? []).map(([label, id, rank, score, own, drawn]) => {
        const is_chosen = id === recorded?.chosen;
        const bar = element('i');
        bar.style.setProperty('--share', String(drawn));
        const row = element(
          'tr',
          {},
          figure(`${is_chosen ? '▶ ' : ''}${count(rank)}`),
          element('th', { scope: 'row' }, element('span', { class: 'dv-token', text: label })),
          figure(score_text(score, 3)),
          figure(percent(own)),
          figure(percent(drawn)),
          element('td', { 'aria-hidden': 'true' }, element('span', { class: 'dv-gauge' }, bar)),
        );
        set_class(row, is_chosen ? 'chosen' : '');
        return row;
      });
      body.replaceChildren(...rows);
      table.hidden = !recorded;
    },
  };
}
