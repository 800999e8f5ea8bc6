// The candidates in rank order: scores, probabilities, the stage that removed a token, the cut-off line.
// Rows are made once and reused, so that focus stays on its rank while the tokens change.

import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { count, percent, score_text, shorten, stage_name } from '../../words/format.js';
import { is_cut_stage } from '../../kernel/rules_cut.js';
import { BANS, EDITS, SCALES } from '../../kernel/rules_edit.js';
import { create_cuts } from './cuts.js';

const ROW_COUNTS = [5, 10, 15, 20, 30, 50, 100, 200];
const COLUMNS = ['rank', 'token', 'id', 'logit', 'prob', 'cumulative', 'stage', 'final'];
const LONGEST_TITLE = 120;
const HIGHEST_SCALES = [1, 0.5, 0.2]; // then ever smaller by 1, 2, 5

/** The part with the table `Candidates`. */
export function create(root, actions) {
  let shown_view = null;
  let pressed = null; // the row a pointer went down on, as it was then
  let measure = { key: '', scale: 0 }; // what a full bar of probability stands for, and where it was chosen

  const heads = Object.fromEntries(COLUMNS.map(name => [name, create_head(name)]));
  const body = element('tbody', { class: 'dv-rows' });
  const others = create_others();
  const beyond_body = element('tbody', { class: 'dv-beyond' });
  const table = element(
    'table',
    { class: 'dv-candidates', 'aria-label': 'Candidates' },
    element('colgroup', {}, ...COLUMNS.map(name => element('col', { class: `dv-col-${name}` }))),
    element('thead', {}, element('tr', {}, ...COLUMNS.map(name => heads[name].cell))),
    body,
    element('tbody', { class: 'dv-others' }, others.tr),
  );
  const cuts = create_cuts();
  const box = element('div', { class: 'dv-table-box' }, table, ...cuts.nodes);
  const hint = element('span', { class: 'dv-muted' });
  const row_count = create_row_count(actions);
  root.append(box, element('div', { class: 'dv-table-foot' }, hint, row_count.label));

  const rows = [];
  let beyond = null; // the chosen token's row where it ranks below the last one shown

  const row_at = target => {
    const button = target.closest('button');
    if (!button) return null;
    return rows.find(row => row.button === button) ?? (beyond?.button === button ? beyond : null);
  };

  table.addEventListener('pointerdown', event => {
    const row = row_at(event.target);
    pressed = row && { row, id: row.id, index: shown_view?.index };
  });

  table.addEventListener('click', event => {
    const row = row_at(event.target);
    if (!row || event.detail > 1) return; // the second half of a double click
    // While the text plays, a row may get another token between press and release.
    const is_stale =
      event.detail > 0 &&
      pressed?.row === row &&
      (pressed.id !== row.id || pressed.index !== shown_view?.index);
    pressed = null;
    if (!is_stale) actions.force(row.id);
  });

  function update(state, view, reason) {
    shown_view = view;
    row_count.update(state.row_count);
    // Without a row of scores the table keeps its size, but shows and offers nothing.
    box.classList.toggle('dv-empty', view === null);
    set_text(hint, view ? 'Choose a token to force it.' : 'No token can follow here.');
    if (view === null) return;

    const shown = view.rows;
    const last_rank = shown.length ? shown[shown.length - 1].rank : 0;
    const chosen = view.chosen && view.chosen.rank > last_rank ? view.chosen : null;
    const all = chosen ? [...shown, chosen] : shown;
    measure = next_measure(measure, state, view, all, reason);
    const context = describe_context(state, view, all, measure.scale);
    update_heads(heads, context);

    while (rows.length > shown.length) rows.pop().tr.remove();
    if (rows.length < shown.length) {
      const fresh = document.createDocumentFragment();
      while (rows.length < shown.length) {
        const row = create_row();
        rows.push(row);
        fresh.append(row.tr);
      }
      body.append(fresh);
    }
    const has_room = cuts.update(view, shown.length); // the row below a line makes room for its words
    rows.forEach((row, at) => update_row(row, shown[at], context, has_room.includes(at)));
    update_others(others, view, context);
    others.tr.classList.toggle('dv-after-cut', has_room.includes(shown.length));
    box.style.setProperty('--rooms-left', cuts.rooms_left);
    update_beyond(chosen, context);
  }

  function update_beyond(chosen, context) {
    box.classList.toggle('dv-has-beyond', chosen !== null); // its height is kept free otherwise
    if (chosen === null) {
      beyond_body.remove();
      return;
    }
    if (!beyond) {
      beyond = create_row();
      beyond_body.append(beyond.tr);
    }
    update_row(beyond, { ...chosen, chosen: true }, context);
    if (!beyond_body.isConnected) table.append(beyond_body);
  }

  return { update };
}

// --- what the columns mean at this point of the chain ------------------------------------------

function describe_context(state, view, shown, scale) {
  const passed = view.points
    .slice(1, view.point + 1)
    .map(({ name }) => ({ name, value: state.settings[name] }));
  const figure = passed.some(changes_scores) ? 'score' : 'logit';
  const figures = shown.map(row => row[figure]).filter(Number.isFinite);
  const lowest = Math.min(...figures);
  const highest = Math.max(...figures);
  return {
    figure,
    prob_name: probability_name(view),
    lowest,
    highest,
    scale,
    chosen_word: chosen_word(state, view),
  };
}

/** Whether a stage gives those that stay other scores. */
const changes_scores = stage =>
  (stage.name in EDITS || stage.name in SCALES) && !BANS.includes(stage.name) && !is_cut_stage(stage);

/** What the probabilities are of: the tokens as they stand in front of the first cut. */
function probability_name({ points, point, ranked }) {
  const { name } = points[point];
  const last = ranked ? points[ranked].name : 'raw';
  if (last in SCALES) return 'after temperature';
  if (name === 'raw') return 'probability';
  return name === last && name.endsWith('_penalty') ? 'after the penalty' : 'before the cuts';
}

function chosen_word(state, view) {
  if (view.is_pending) return 'proposed';
  return state.steps[view.index]?.forced ? 'chosen by force' : 'chosen';
}

/**
 * One measure per step, so that bars keep telling more from less while a setting moves them: it grows where
 * a bar would not fit, and is chosen anew only for another step or another point of the chain.
 */
function next_measure(before, { session, run, branch }, view, shown, reason) {
  const { name } = view.points[view.point];
  const key = [session, run, branch, view.index, name].join('/');
  const most = (largest, row) => Math.max(largest, row.raw_prob, row.prob, row.final_prob ?? 0);
  const needed = scale_for(shown.reduce(most, 0));
  const is_kept = reason === 'slide' || key === before.key;
  return { key, scale: is_kept ? Math.max(before.scale, needed) : needed };
}

/** What a full bar stands for: 1, 0.5, 0.2, 0.1 ...; round, so that bars rarely change their measure. */
function scale_for(largest) {
  let scale = 1;
  for (let power = 1; power > 1e-6; power /= 10) {
    for (const step of HIGHEST_SCALES) {
      if (largest <= step * power) scale = step * power;
      else return scale;
    }
  }
  return scale;
}

function update_heads(heads, { figure, lowest, highest, prob_name, scale }) {
  const range = `0–${Number((scale * 100).toPrecision(1))} %`;
  set_text(heads.logit.name, figure);
  const ends = [lowest, highest].map(score => score_text(score, 1));
  set_text(heads.logit.range, lowest <= highest ? ends.join(' to ') : '');
  set_attribute(heads.logit.cell, 'title', 'bars from the lowest to the highest row shown, not from zero');
  set_text(heads.prob.name, prob_name);
  set_text(heads.prob.range, range);
  set_text(heads.final.range, range);
}

// --- rows ----------------------------------------------------------------------------------------

const HEAD_TEXTS = {
  rank: '',
  token: 'token',
  id: 'id',
  logit: 'logit',
  prob: 'after temperature',
  cumulative: 'cumulative',
  stage: 'stage',
  final: 'in the draw',
};

function create_head(column) {
  const name = element('span', { text: HEAD_TEXTS[column] });
  if (column === 'rank') name.append(element('span', { class: 'dv-spoken', text: 'rank' }));
  const range = element('span', { class: 'dv-range' });
  const cell = element('th', { scope: 'col', class: `dv-c-${column}` }, name);
  if (['logit', 'prob', 'final'].includes(column)) cell.append(' ', range);
  return { cell, name, range };
}

function create_cell(column) {
  return element('td', { class: `dv-c-${column}` });
}

/** A text node that is kept: writing its data is cheaper than setting an element's text anew. */
function add_text(parent) {
  const text = document.createTextNode('');
  parent.append(text);
  return text;
}

function write(text, value) {
  if (text.data !== value) text.data = value;
}

function create_bar(column) {
  const bar = element('span', { class: 'dv-bar' });
  const cell = create_cell(column);
  cell.append(bar);
  return { cell, bar, text: add_text(bar), share: null };
}

function create_stage() {
  const before = element('span', { class: 'dv-spoken' });
  const name = element('span');
  const cell = create_cell('stage');
  cell.append(before, name);
  return { cell, before, name };
}

function create_row() {
  const rank = create_cell('rank');
  const mark = element('span', { class: 'dv-chosen-mark', 'aria-hidden': 'true' });
  const spoken = element('span', { class: 'dv-spoken' });
  const number = element('span');
  rank.append(mark, number, spoken);
  const label = element('span', { class: 'dv-token' });
  const button = element('button', { type: 'button', class: 'dv-force' }, label);
  const token = element('th', { scope: 'row', class: 'dv-token-cell' }, button);
  const id = create_cell('id');
  const cumulative = create_cell('cumulative');
  const [logit, prob, final] = ['logit', 'prob', 'final'].map(create_bar);
  const stage = create_stage();
  return {
    tr: element('tr', {}, rank, token, id, logit.cell, prob.cell, cumulative, stage.cell, final.cell),
    id: null,
    button,
    mark,
    spoken,
    logit,
    prob,
    stage,
    final,
    number: add_text(number),
    label: add_text(label),
    id_text: add_text(id),
    cumulative: add_text(cumulative),
  };
}

function update_row(row, data, { figure, lowest, highest, scale, chosen_word }, is_after_cut = false) {
  row.id = data.id;
  const names = [data.removed_by && 'removed', data.chosen && 'chosen', is_after_cut && 'dv-after-cut'];
  set_class(row.tr, names.filter(Boolean).join(' '));
  write(row.number, count(data.rank));
  set_text(row.mark, data.chosen ? '►' : '');
  set_text(row.spoken, data.chosen ? `, ${chosen_word}` : '');
  write(row.label, data.label);
  set_attribute(row.button, 'aria-label', `Force ${data.label}`);
  set_attribute(row.button, 'title', row_title(data, chosen_word));
  write(row.id_text, String(data.id));
  const score = data[figure];
  const place = Number.isFinite(score) ? (score - lowest) / (highest - lowest || 1) : 0;
  set_bar(row.logit, score_text(score), place);
  set_attribute(row.logit.cell, 'title', figure === 'score' ? `logit ${score_text(data.logit)}` : null);
  set_bar(row.prob, percent(data.prob), data.prob / scale);
  write(row.cumulative, percent(data.cumulative));
  set_stage(row.stage, data.removed_by, false, Number.isFinite(data.logit));
  set_final(row.final, data.final_prob, scale);
}

function row_title(data, chosen_word) {
  const words = [
    shorten(data.label, LONGEST_TITLE),
    `rank ${count(data.rank)}`,
    `id ${data.id}`,
    `logit ${score_text(data.logit)}`,
    `cumulative ${percent(data.cumulative)}`,
  ];
  if (data.chosen) words.push(chosen_word);
  return words.join(', ');
}

function set_bar(target, text, share) {
  write(target.text, text);
  set_class(target.bar, share > 1 ? 'dv-bar dv-broken' : 'dv-bar'); // longer than there is room
  const width = Math.min(Math.max(share, 0), 1).toFixed(4);
  if (target.share === width) return;
  target.share = width;
  target.bar.style.setProperty('--share', width);
}

function set_final(target, probability, scale) {
  if (probability === null) set_bar(target, '–', 0);
  else set_bar(target, percent(probability), probability / scale);
}

const IMPOSSIBLE = 'impossible: its logit is −∞';

/** `is_part`: the stage removed some of the tokens this row stands for, but not all. */
function set_stage({ before, name, cell }, removed_by, is_part, is_possible = true) {
  if (!is_possible) {
    set_text(before, IMPOSSIBLE);
    set_text(name, '–');
    set_class(name, '');
    set_attribute(cell, 'title', IMPOSSIBLE);
    return;
  }
  const several = removed_by === 'several';
  const greedy = removed_by === 'temperature';
  const stage = several ? 'several stages' : greedy ? 'greedy' : stage_name(removed_by);
  set_text(before, removed_by ? `${is_part ? 'partly ' : ''}removed by ` : '');
  set_text(name, removed_by ? (is_part ? 'in part' : several ? 'several' : stage) : 'kept');
  set_class(name, removed_by && !is_part ? 'dv-struck' : '');
  set_attribute(cell, 'title', removed_by ? `${is_part ? 'partly ' : ''}removed by ${stage}` : null);
}

function create_others() {
  const name = element('th', { scope: 'row', class: 'dv-token-cell' });
  const cumulative = create_cell('cumulative');
  cumulative.textContent = '100 %';
  const [prob, final] = ['prob', 'final'].map(create_bar);
  const stage = create_stage();
  const tr = element(
    'tr',
    {},
    create_cell('rank'),
    name,
    create_cell('id'),
    create_cell('logit'),
    prob.cell,
    cumulative,
    stage.cell,
    final.cell,
  );
  return { tr, name, prob, stage, final };
}

function update_others(row, view, { scale }) {
  const { count: number, kept, prob, final_prob, removed_by } = view.others;
  row.tr.classList.toggle('dv-hidden', number === 0);
  const is_part = removed_by !== null && kept > 0;
  row.tr.classList.toggle('removed', removed_by !== null && !is_part);
  set_text(row.name, `${count(number)} ${number === 1 ? 'other' : 'others'}`);
  set_bar(row.prob, percent(prob), prob / scale);
  set_stage(row.stage, removed_by, is_part);
  set_final(row.final, final_prob, scale);
}

function create_row_count(actions) {
  const select = element('select', { onchange: () => actions.show({ row_count: Number(select.value) }) });
  for (const number of ROW_COUNTS) select.append(element('option', { value: number, text: String(number) }));
  const label = element('label', { class: 'dv-row-count' }, element('span', { text: 'Rows' }), select);

  function update(number) {
    const value = String(number);
    if (select.value === value) return;
    const is_listed = Array.from(select.options).some(option => option.value === value);
    if (!is_listed) select.append(element('option', { value, text: value }));
    select.value = value;
  }

  return { label, update };
}
