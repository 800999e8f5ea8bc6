// Contrastive search: the candidates of the step on screen, each one's probability and likeness to the text so far, and
// the winner.

import { element, set_attribute, set_class, set_text } from '../lib/dom.js';
import { alpha_on_show, cost, scored } from '../words/contrastive.js';
import { count, percent, score_text } from '../words/format.js';
import { marked, say } from '../words/say.js';

/** @import { State } from '../types.js' */
/** @import { Scored } from '../words/contrastive.js' */
/** @typedef {Pick<State, 'searched' | 'draft' | 'read_only'>} Properties */

const COLUMNS = [
  marked('Candidate'),
  marked('Probability'),
  marked('Penalty'),
  marked('Most like'),
  marked('Score'),
  '',
];

function create_row() {
  const token = element('span', { class: 'dv-token' });
  const mark = element('span');
  const [probability, penalty, score] = Array.from({ length: 3 }, () => element('td', { class: 'dv-figure' }));
  const nearest_token = element('span', { class: 'dv-token' });
  const nearest_place = element('span', { class: 'dv-muted' });
  const bars = {
    loss: element('i', { class: 'dv-loss' }),
    gain: element('i', { class: 'dv-gain' }),
    score: element('i', { class: 'dv-score' }),
  };
  const gauge = element(
    'td',
    { 'aria-hidden': 'true' },
    element('span', { class: 'dv-gauge' }, ...Object.values(bars)),
  );
  const node = element(
    'tr',
    {},
    element('th', { scope: 'row' }, mark, ' ', token),
    probability,
    penalty,
    element('td', {}, nearest_token, nearest_place),
    score,
    gauge,
  );
  return { node, token, mark, probability, penalty, nearest_token, nearest_place, score, bars };
}

/** @param {HTMLElement} root */
export function create(root) {
  const costs = element('p', { class: 'dv-muted' });
  const body = element('tbody');
  /** @type {ReturnType<typeof create_row>[]} */
  const rows = [];
  const heads = COLUMNS.map(text => element(text ? 'th' : 'td', { scope: text ? 'col' : null, text: say(text) }));
  const table = element(
    'table',
    { class: 'dv-figures', 'aria-label': say('Candidates of the search') },
    element('thead', {}, element('tr', {}, ...heads)),
    body,
  );
  const key = element('p', {
    class: 'dv-muted',
    text: say(
      'Bars: (1 − alpha) × probability to the right, alpha × penalty hatched to the left, the mark is the score.',
    ),
  });
  root.append(table, key, costs);

  /**
   * @param {ReturnType<typeof create_row>} line
   * @param {Scored} row
   * @param {{is_winner: boolean, is_taken: boolean, low: number, width: number}} about
   */
  function fill(line, row, { is_winner, is_taken, low, width }) {
    set_text(line.token, row.label);
    set_text(line.mark, is_winner ? '▶' : is_taken ? '✓' : '');
    set_attribute(line.mark, 'title', is_winner ? say('the best score') : is_taken ? say('the one taken') : null);
    set_text(line.probability, percent(row.probability));
    set_text(line.penalty, score_text(row.penalty, 3));
    set_text(line.nearest_token, row.nearest_label);
    set_text(line.nearest_place, ` #${count(row.nearest + 1)}`);
    set_text(line.score, score_text(row.score, 3));
    set_class(line.node, is_winner ? 'chosen' : '');
    const at = (/** @type {number} */ value) => `${((100 * (value - low)) / width).toFixed(2)}%`;
    const span = (/** @type {HTMLElement} */ node, /** @type {number} */ from, /** @type {number} */ to) => {
      node.style.left = at(Math.min(from, to));
      node.style.width = `${((100 * Math.abs(to - from)) / width).toFixed(2)}%`;
    };
    span(line.bars.loss, -row.loss, 0);
    span(line.bars.gain, 0, row.gain);
    line.bars.score.style.left = at(row.score);
  }

  return {
    /** @param {Properties} state */
    update(state) {
      const { searched: step } = state;
      const shown = step ? scored(step, alpha_on_show(state)) : { rows: [], winner: -1 };
      while (rows.length < shown.rows.length) rows.push(create_row());
      body.replaceChildren(...rows.slice(0, shown.rows.length).map(({ node }) => node));
      const low = Math.min(0, ...shown.rows.map(({ loss }) => -loss));
      const high = Math.max(0, ...shown.rows.map(({ gain, loss }) => Math.max(gain, -loss)));
      shown.rows.forEach((row, place) =>
        fill(rows[place], row, {
          is_winner: place === shown.winner,
          is_taken: place === step?.chosen,
          low,
          width: high - low || 1,
        }),
      );
      table.hidden = key.hidden = !step;
      set_text(costs, step ? cost(step) : '');
    },
  };
}
