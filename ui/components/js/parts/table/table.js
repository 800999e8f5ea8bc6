// The candidates in rank order: scores, probabilities, the sampler that removed a token, the line between kept and
// removed. Rows are created once and reused, so that focus stays on its rank while the tokens change.

import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { term } from '../../lib/term.js';
import { name_in } from '../../words/chain.js';
import { formats, isolated, score_text } from '../../words/format.js';
import { marked, say } from '../../words/say.js';
import { create_lines } from './lines.js';
import { create_row, others_of, update_others, update_row } from './rows.js';

/** @import { State, Actions, View } from '../../types.js' */
/**
 * @typedef {Pick<State, 'view' | 'mode' | 'slow' | 'row_count' | 'fitted_rows' | 'columns' | 'steps' | 'digits'> & {model?: State['model']}} Properties
 */
/** @import { Row, Meaning } from './rows.js' */

/** All columns; those in OPTIONAL are shown on request. */
export const COLUMNS = /** @type {const} */ (['rank', 'token', 'id', 'logit', 'model', 'prob', 'cumulative', 'final']);
const OPTIONAL = ['id', 'prob', 'cumulative'];
const FEWEST_ROWS = 5;
const LONG_SCORE = 100; // at this size the ends of the scale have room only for whole numbers

/**
 * @param {HTMLElement} root
 * @param {Partial<Pick<Actions, 'force'>> & Pick<Actions, 'fit_rows'>} actions without `force`: a read-only table
 */
export function create(root, actions) {
  /** @type {View|null} */
  let view_on_show = null;
  /** @type {{row: Row, id: number, index: number|undefined}|null} */
  let pressed = null; // the row where a pointer was pressed, as it was then

  const heads = Object.fromEntries(COLUMNS.map(name => [name, create_head(name)]));
  const body = element('tbody', { class: 'dv-rows' });
  const kind = actions.force ? 'choice' : 'token';
  const others = create_row('others');
  const beyond = create_row(kind);
  const beyond_body = element('tbody', { class: 'dv-beyond' }, beyond.tr);
  const table = element(
    'table',
    { class: 'dv-candidates', 'aria-label': say('Candidates') },
    element('colgroup', {}, ...COLUMNS.map(name => element('col', { class: `dv-col-${name}` }))),
    element('thead', {}, element('tr', {}, ...COLUMNS.map(name => heads[name].cell))),
    body,
    element('tbody', { class: 'dv-others' }, others.tr),
  );
  const lines = create_lines();
  const row_height = element('div', { class: 'dv-row-height' });
  const box = element('div', { class: 'dv-table' }, table, ...lines.nodes, row_height);
  const whose = element('p', { class: 'dv-whose dv-line' });
  if (actions.force) root.append(whose); // a read-only table is below a separate title
  root.append(box);
  /** @type {Row[]} */
  const rows = [];

  /** @param {EventTarget|null} target */
  function row_at(target) {
    const button = target instanceof Element ? target.closest('button.dv-force') : null;
    return button ? ([...rows, beyond].find(row => row.button === button) ?? null) : null;
  }

  table.addEventListener('pointerdown', event => {
    const row = row_at(event.target);
    pressed = row && { row, id: row.id, index: view_on_show?.index };
  });

  table.addEventListener('click', event => {
    const row = row_at(event.target);
    if (!row || event.detail > 1) return; // the second half of a double click
    // While the text plays, a row may get a new token between press and release.
    const is_stale =
      event.detail > 0 && pressed?.row === row && (pressed.id !== row.id || pressed.index !== view_on_show?.index);
    pressed = null;
    if (!is_stale) actions.force?.(row.id);
  });

  // As many rows as fit, unless a person has chosen a number.
  const watch = new ResizeObserver(() => {
    const row = row_height.offsetHeight;
    const head = table.tHead?.offsetHeight ?? 0;
    if (!row || !root.clientHeight) return;
    // Space for the others, the chosen token's row, and a line's words is left free.
    const room = root.clientHeight - whose.offsetHeight - head - 2.4 * row;
    actions.fit_rows(Math.max(FEWEST_ROWS, Math.floor(room / row)));
  });
  watch.observe(root);

  /** @param {Properties} state */
  function update(state) {
    const { view } = state;
    view_on_show = view;
    // Without scores the table keeps its size, but shows and offers nothing.
    box.classList.toggle('dv-empty', view === null);
    for (const name of OPTIONAL) box.classList.toggle(`dv-no-${name}`, !state.columns.includes(name));
    if (view === null) return;
    const shown = view.rows.slice(0, state.row_count || state.fitted_rows);
    const last_rank = shown.at(-1)?.rank ?? 0;
    const chosen = view.chosen && view.chosen.rank > last_rank ? view.chosen : null;
    set_text(whose, whose_text(state, view));
    const meaning = meaning_of(state, view, chosen ? [...shown, chosen] : shown);
    update_heads(heads, view, meaning, state.model?.has_logits !== false);
    while (rows.length > shown.length) rows.pop()?.tr.remove();
    if (rows.length < shown.length) {
      const fresh = document.createDocumentFragment();
      while (rows.length < shown.length) {
        const row = create_row(kind);
        rows.push(row);
        fresh.append(row.tr);
      }
      body.append(fresh);
    }
    const rooms = lines.update(view, shown.length, meaning.in_digits); // the row below a line leaves room for its words
    rows.forEach((row, at) => update_row(row, shown[at], meaning, rooms.includes(at)));
    update_others(others, others_of(view, shown.length, chosen), meaning);
    others.tr.classList.toggle('dv-after-line', rooms.includes(shown.length));
    box.classList.toggle('dv-has-beyond', chosen !== null);
    if (chosen === null) beyond_body.remove();
    else {
      update_row(beyond, { ...chosen, chosen: true }, meaning);
      if (!beyond_body.isConnected) table.append(beyond_body);
    }
  }

  return { update, destroy: () => watch.disconnect() };
}

/** The place in the text that the candidates are for. @param {Pick<State, 'steps'>} state @param {View} view */
function whose_text({ steps }, { is_pending, index }) {
  const label = is_pending ? undefined : steps[index]?.label;
  return label === undefined
    ? say('Candidates for the next token')
    : say('Candidates for {token}', { token: isolated(label, 24) });
}

/**
 * The columns' meaning at this point of the chain.
 * @param {Properties} state
 * @param {View} view
 * @param {View['rows']} shown
 * @returns {Meaning}
 */
function meaning_of(state, view, shown) {
  const figure = view.score_changes.length ? 'score' : 'logit';
  const scores = shown.map(row => row[figure]).filter(Number.isFinite);
  const taken = view.is_pending ? null : state.steps[view.index];
  return {
    figure,
    lowest: Math.min(...scores),
    highest: Math.max(...scores),
    has_probabilities: !(state.slow && view.points[view.point].kind === 'logits'),
    chosen_word: view.is_pending
      ? say('proposed')
      : taken && 'forced' in taken && taken.forced
        ? say('forced')
        : say('chosen'),
    in_digits: formats(state.digits),
    label_of: name => name_in(view.samplers, name),
  };
}

/** @type {Record<typeof COLUMNS[number], string>} */
const HEADS = {
  rank: '',
  token: marked('token'),
  id: 'id',
  logit: marked('logit'),
  model: marked('model’s own'),
  prob: marked('after scores change'),
  cumulative: marked('cumulative'),
  final: marked('after settings'),
};
/** @type {Record<string, string>} Columns whose head is explained. */
const TERMS = { token: 'token', logit: 'logit', model: 'model’s own', final: 'after settings' };

/** @param {typeof COLUMNS[number]} column */
function create_head(column) {
  const name = TERMS[column] ? term(TERMS[column], say(HEADS[column])) : element('span', { text: say(HEADS[column]) });
  if (column === 'rank') name.append(element('span', { class: 'dv-spoken', text: say('rank') }));
  const range = element('span', { class: 'dv-range' });
  return { cell: element('th', { scope: 'col', class: `dv-c-${column}` }, name, range), name, range };
}

/**
 * @param {Record<string, ReturnType<typeof create_head>>} heads
 * @param {View} view
 * @param {Meaning} meaning
 * @param {boolean} has_logits
 */
function update_heads(heads, { score_changes, samplers, is_guided }, { figure, lowest, highest }, has_logits) {
  set_text(heads.logit.name, figure !== 'logit' ? say('score') : has_logits ? say('logit') : say('log-prob.'));
  set_text(heads.model.name, is_guided ? say('under guidance') : say(HEADS.model));
  const digits = Math.max(Math.abs(lowest), Math.abs(highest)) < LONG_SCORE ? 1 : 0;
  set_text(
    heads.logit.range,
    lowest <= highest
      ? say('{low} … {high}', { low: score_text(lowest, digits), high: score_text(highest, digits) })
      : '',
  );
  set_attribute(heads.logit.cell, 'title', say('Bars go from the lowest to the highest row shown, not from zero.'));
  for (const name of ['model', 'prob', 'final']) set_text(heads[name].range, say('0 to 100 %'));
  const names = score_changes.map(name => name_in(samplers, name));
  set_text(heads.prob.name, names.length === 1 ? say('after {sampler}', { sampler: names[0] }) : say(HEADS.prob));
  set_class(heads.prob.name, names.length ? '' : 'dv-muted');
}
