// Rows of the candidates table: their cells and contents.

import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { count, score_text, shorten } from '../../words/format.js';
import { marked, say } from '../../words/say.js';

/** @import { Others, View, ViewRow } from '../../types.js' */
/** @import { Formats } from '../../words/format.js' */

/**
 * @typedef {object} Meaning the columns' meaning at a point of the chain
 * @property {'logit' | 'score'} figure
 * @property {number} lowest of the scores shown
 * @property {number} highest
 * @property {boolean} has_probabilities false before the softmax of slow motion
 * @property {string} chosen_word
 * @property {Formats} in_digits
 * @property {(name: string) => string} label_of a sampler's name inside a sentence
 */
/** @typedef {ReturnType<typeof create_row>} Row */

const LONGEST_TITLE = 120;
const IMPOSSIBLE = marked('impossible: its logit is −∞');

/** @param {string} column */
const create_cell = column => element('td', { class: `dv-c-${column}` });

/**
 * A number, next to a bar whose track is the whole scale.
 * @param {string} column
 */
function create_bar(column) {
  const number = element('span', { class: 'dv-number' });
  const track = element('span', { class: 'dv-track', 'aria-hidden': 'true' });
  const cell = create_cell(column);
  cell.append(track, number);
  return { cell, track, number, share: '' };
}

/** @param {ReturnType<typeof create_bar>} bar @param {string} text @param {number} share */
function set_bar(bar, text, share) {
  set_text(bar.number, text);
  const width = Math.min(Math.max(share, 0), 1).toFixed(4);
  if (bar.share === width) return;
  bar.share = width;
  bar.track.style.setProperty('--share', width);
}

/**
 * @param {'choice' | 'token' | 'others'} kind a token that can be forced; a read-only token; all others together
 */
export function create_row(kind) {
  const rank = create_cell('rank');
  const mark = element('span', { class: 'dv-mark', 'aria-hidden': 'true' });
  const spoken = element('span', { class: 'dv-spoken' });
  const number = document.createTextNode('');
  rank.append(mark, spoken, number);
  const label = element('span', { class: kind === 'others' ? '' : 'dv-token' });
  const button = element('button', { type: 'button', class: 'dv-force' }, label);
  const token = element('th', { scope: 'row', class: 'dv-c-token' }, kind === 'choice' ? button : label);
  const id = create_cell('id');
  const cumulative = create_cell('cumulative');
  const [logit, model, prob, final] = ['logit', 'model', 'prob', 'final'].map(create_bar);
  const by = element('span', { class: 'dv-by', text: `${say('removed by')} ` });
  const removed = element('span');
  final.cell.append(element('span', { class: 'dv-removed-by' }, by, removed));
  return {
    tr: element('tr', {}, rank, token, id, logit.cell, model.cell, prob.cell, cumulative, final.cell),
    id: -1,
    button,
    mark,
    spoken,
    logit,
    model,
    prob,
    final,
    removed,
    by,
    number,
    label,
    id_cell: id,
    cumulative,
  };
}

/**
 * @param {Row} row
 * @param {ViewRow} data
 * @param {Meaning} meaning
 * @param {boolean} [is_after_line] whether it leaves space for a line's words above it
 */
export function update_row(row, data, meaning, is_after_line = false) {
  row.id = data.id;
  const names = [data.removed_by && 'removed', data.chosen && 'chosen', is_after_line && 'dv-after-line'];
  set_class(row.tr, names.filter(Boolean).join(' '));
  set_text(row.number, count(data.rank));
  set_text(row.mark, data.chosen ? '►' : '');
  set_text(row.spoken, data.chosen ? `${meaning.chosen_word}, ` : '');
  set_text(row.label, data.label);
  set_attribute(row.button, 'aria-label', say('Force {token}', { token: data.label }));
  set_attribute(row.button, 'title', title_of(data, meaning));
  set_text(row.id_cell, String(data.id));
  const score = data[meaning.figure];
  const height = meaning.highest - meaning.lowest;
  set_bar(
    row.logit,
    meaning.in_digits.score(score),
    Number.isFinite(score) ? (score - meaning.lowest) / (height || 1) : 0,
  );
  set_attribute(
    row.logit.cell,
    'title',
    meaning.figure === 'score' ? say('logit {logit}', { logit: score_text(data.logit) }) : null,
  );
  const share = (/** @type {number|null} */ prob) =>
    meaning.has_probabilities && prob !== null ? meaning.in_digits.percent(prob) : '–';
  set_bar(row.model, share(data.model_prob), meaning.has_probabilities ? data.model_prob : 0);
  set_bar(row.prob, share(data.prob), meaning.has_probabilities ? data.prob : 0);
  set_text(row.cumulative, share(data.cumulative));
  const is_possible = Number.isFinite(data.logit);
  const gone = !is_possible ? say('impossible') : data.removed_by ? meaning.label_of(data.removed_by) : '';
  set_removed(row, gone, is_possible);
  set_attribute(
    row.final.cell,
    'title',
    !is_possible ? say(IMPOSSIBLE) : gone ? say('removed by {sampler}', { sampler: gone }) : null,
  );
  set_bar(row.final, gone ? '' : share(data.final_prob), data.final_prob ?? 0);
}

/**
 * Write the last column: the sampler that removed a token; a narrow table has room only for its name.
 *
 * @param {Row} row
 * @param {string} text
 * @param {boolean} has_by
 */
function set_removed(row, text, has_by) {
  set_text(row.removed, text);
  set_class(row.by, text && has_by ? 'dv-by' : 'dv-hidden');
}

/** @param {ViewRow} data @param {Meaning} meaning */
function title_of(data, { chosen_word, in_digits: { percent } }) {
  const words = [
    say('Force this token'),
    shorten(data.label, LONGEST_TITLE),
    say('rank {rank}', { rank: count(data.rank) }),
    `id ${data.id}`,
    say('logit {logit}', { logit: score_text(data.logit) }),
    say('cumulative {probability}', { probability: percent(data.cumulative) }),
  ];
  if (data.chosen) words.push(chosen_word);
  return words.join(', ');
}

/**
 * All tokens without a row, as one: those of the view, and the view's rows that are not shown.
 * @param {View} view
 * @param {number} shown number of the view's rows that are shown
 * @param {ViewRow|null} chosen the row that is shown separately
 */
export function others_of(view, shown, chosen) {
  const hidden = view.rows.slice(shown).filter(row => row.id !== chosen?.id);
  const sum = (/** @type {(row: ViewRow) => number|null} */ figure) =>
    hidden.reduce((total, row) => total + (figure(row) ?? 0), 0);
  const { others, rows } = view;
  // A chosen token beyond the view's rows is not among the others; a chosen token among its hidden rows is shown
  // separately.
  const removers = new Set([
    ...hidden.map(row => row.removed_by).filter(Boolean),
    ...(others.removed_by ? [others.removed_by] : []),
  ]);
  return {
    count: others.count + hidden.length,
    kept: others.kept + hidden.filter(row => !row.removed_by).length,
    prob: others.prob + sum(row => row.prob),
    model_prob: Math.max(
      0,
      1 - [...rows.slice(0, shown), ...(chosen ? [chosen] : [])].reduce((total, row) => total + row.model_prob, 0),
    ),
    final_prob: others.final_prob === null ? null : others.final_prob + sum(row => row.final_prob),
    removed_by: removers.size > 1 ? 'several' : ([...removers][0] ?? null),
  };
}

/**
 * @param {Row} row
 * @param {Others & {model_prob: number}} others
 * @param {Meaning} meaning
 */
export function update_others(row, { count: number, kept, prob, model_prob, final_prob, removed_by }, meaning) {
  const is_gone = removed_by !== null && kept === 0;
  set_class(row.tr, `${number === 0 ? 'dv-hidden' : ''} ${is_gone ? 'removed' : ''}`.trim());
  const values = { count: count(number), kept: count(kept) };
  const all = number === 1 ? say('{count} other', values) : say('{count} others', values);
  set_text(row.label, removed_by && kept > 0 ? say('{count} others, {kept} kept', values) : all);
  const share = (/** @type {number|null} */ value) =>
    meaning.has_probabilities && value !== null ? meaning.in_digits.percent(value) : '–';
  set_bar(row.model, share(model_prob), meaning.has_probabilities ? model_prob : 0);
  set_bar(row.prob, share(prob), meaning.has_probabilities ? prob : 0);
  set_text(row.cumulative, '100 %');
  const by = removed_by === 'several' ? say('several') : removed_by ? meaning.label_of(removed_by) : '';
  set_removed(row, is_gone ? by : '', true);
  set_bar(row.final, is_gone ? '' : share(final_prob), final_prob ?? 0);
}
