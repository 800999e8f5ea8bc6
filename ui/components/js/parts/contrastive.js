// Contrastive search: the candidates of the step on screen, how likely each is, how much like the text so far,
// and which of them wins.

import { element, set_attribute, set_class, set_live, set_text } from '../lib/dom.js';
import { count, ms, percent, quoted, score_text } from '../words/format.js';

const COLUMNS = ['Candidate', 'Probability', 'Penalty', 'Most like', 'Score', ''];

/**
 * The candidates at any alpha, as the engine scores them: most likely first.
 *
 * @param {{candidates: object[]}} step as the message brings it
 * @param {number} alpha
 * @returns {{rows: object[], winner: number}} each row with `gain`, `loss` and `score`; of equal ones the likelier
 *   wins
 */
export function scored({ candidates }, alpha) {
  const rows = candidates.map(candidate => {
    const [gain, loss] = [(1 - alpha) * candidate.probability, alpha * candidate.penalty];
    return { ...candidate, gain, loss, score: gain - loss };
  });
  const best = Math.max(...rows.map(({ score }) => score));
  return { rows, winner: rows.findIndex(({ score }) => score === best) };
}

/** Which candidate wins at this alpha, and why. */
export function story(step, alpha) {
  const { rows, winner } = scored(step, alpha);
  const [won, likeliest] = [rows[winner], rows[0]];
  const like =
    `penalty ${score_text(won.penalty)}, most like ${quoted(won.nearest_label)} at position ` +
    `${count(won.nearest + 1)}`;
  let text = `${quoted(won.label)} wins: probability ${percent(won.probability)}, ${like}.`;
  if (winner > 0) {
    const better = likeliest.penalty > won.penalty ? 'it repeats the text more' : 'its score is lower';
    text +=
      ` ${quoted(likeliest.label)} is likelier (${percent(likeliest.probability)}), but ${better}: penalty ` +
      `${score_text(likeliest.penalty)}.`;
  } else if (rows.length > 1) {
    text += ' It is the likeliest too.';
  }
  if (winner !== step.chosen) {
    text += ` The step took ${quoted(rows[step.chosen].label)}, at alpha ${step.penalty_alpha}.`;
  }
  return text;
}

/** What the step cost, by its record. */
export function cost({ index, passes, candidates, prefill_ms, forward_ms, score_ms }) {
  const read = prefill_ms > 0 ? `${ms(prefill_ms)} to read the text so far, ` : '';
  return (
    `Step ${count(index + 1)}: ${count(passes)} forward ${passes === 1 ? 'pass' : 'passes'}; ${read}` +
    `${ms(forward_ms)} for the ${count(candidates.length)} candidates, ${ms(score_ms)} to score them.`
  );
}

function new_row() {
  const token = element('span', { class: 'dv-token' });
  const mark = element('span', { class: 'dv-search-mark' });
  const [probability, penalty, score] = Array.from({ length: 3 }, () =>
    element('td', { class: 'dv-search-number' }),
  );
  const nearest = element(
    'td',
    {},
    element('span', { class: 'dv-token' }),
    element('span', { class: 'dv-muted' }),
  );
  const bar = element(
    'td',
    { class: 'dv-search-cell', 'aria-hidden': 'true' },
    element('span', { class: 'dv-search-loss' }),
    element('span', { class: 'dv-search-gain' }),
    element('span', { class: 'dv-search-score' }),
  );
  const node = element(
    'tr',
    {},
    element('th', { scope: 'row' }, mark, token),
    probability,
    penalty,
    nearest,
    score,
    bar,
  );
  return { node, token, mark, probability, penalty, nearest, score, bar };
}

/** Mounts into `root`; see README.md for what a part is. */
export function create(root) {
  const sentence = element('p', { class: 'dv-search-story' });
  const costs = element('p', { class: 'dv-muted' });
  const body = element('tbody');
  const rows = [];
  const head = element(
    'tr',
    {},
    ...COLUMNS.map(text => element(text ? 'th' : 'td', { scope: text && 'col', text })),
  );
  const table = element(
    'table',
    { class: 'dv-search-table', 'aria-label': 'Candidates of the search' },
    element('thead', {}, head),
    body,
  );
  const key = element(
    'p',
    { class: 'dv-muted dv-search-key' },
    element('span', { class: 'dv-search-swatch gain' }),
    '(1 − alpha) × probability ',
    element('span', { class: 'dv-search-swatch loss' }),
    'alpha × penalty ',
    element('span', { class: 'dv-search-swatch score' }),
    'score',
  );
  root.append(
    element(
      'section',
      { class: 'dv-search-box', 'aria-label': 'Contrastive search' },
      element('h2', { text: 'Contrastive search' }),
      sentence,
      element('div', { class: 'dv-search-scroll' }, table),
      key,
      costs,
    ),
  );

  function fill(line, row, { is_winner, is_taken, low, width }) {
    set_text(line.token, row.label);
    set_text(line.mark, is_winner ? '▶' : is_taken ? '✓' : '');
    set_attribute(line.mark, 'title', is_winner ? 'the best score' : is_taken ? 'the one taken' : null);
    set_text(line.probability, percent(row.probability));
    set_text(line.penalty, score_text(row.penalty, 3));
    set_text(line.nearest.firstChild, row.nearest_label);
    set_text(line.nearest.lastChild, ` #${count(row.nearest + 1)}`);
    set_text(line.score, score_text(row.score, 3));
    set_class(line.node, is_winner ? 'chosen' : '');
    const at = value => `${((100 * (value - low)) / width).toFixed(2)}%`;
    const [loss, gain, mark] = line.bar.children;
    const span = (node, from, to) => {
      node.style.left = at(Math.min(from, to));
      node.style.width = `${((100 * Math.abs(to - from)) / width).toFixed(2)}%`;
    };
    span(loss, -row.loss, 0);
    span(gain, 0, row.gain);
    mark.style.left = at(row.score);
  }

  return {
    update(state, _view, reason) {
      const { strategy, searched: step, wanted } = state;
      root.hidden = strategy === null;
      if (strategy === null) return;
      const alpha = wanted.is_search ? wanted.penalty_alpha : (step?.penalty_alpha ?? 0);
      const shown = step ? scored(step, alpha) : { rows: [], winner: -1 };
      while (rows.length < shown.rows.length) rows.push(new_row());
      body.replaceChildren(...rows.slice(0, shown.rows.length).map(({ node }) => node));
      const low = Math.min(0, ...shown.rows.map(({ loss }) => -loss));
      const high = Math.max(0, ...shown.rows.map(({ gain, loss }) => Math.max(gain, -loss)));
      shown.rows.forEach((row, place) =>
        fill(rows[place], row, {
          is_winner: place === shown.winner,
          is_taken: place === step.chosen,
          low,
          width: high - low || 1,
        }),
      );
      table.hidden = key.hidden = !step;
      set_live(sentence, state, reason);
      const first =
        'Press Step: the likeliest tokens are each tried as the next one, and the best score wins.';
      set_text(sentence, step ? story(step, alpha) : first);
      set_text(costs, step ? cost(step) : '');
    },
  };
}
