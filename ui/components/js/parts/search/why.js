// Why not my token? One token's way through the chain: rank, score and probability after every stage, where
// it went out, and the smallest change of one setting that would admit it.

import { stage_of } from '../../words/catalogue.js';
import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { count, percent, score_text, shorten, stage_label, stage_name } from '../../words/format.js';
import { is_settled, raw_rank_of } from '../../kernel/row.js';
import { stretch_text, u_text } from '../../kernel/sampling.js';
import { OFF, raw_score } from '../../kernel/shape.js';
import { trace_of } from '../../view/view.js';
import { admission } from '../../view/admit.js';
import { has_u, shape_of } from '../../view/chain.js';

const SETTLED_MS = 120; // without a change for so long, the smallest change is worked out
const SLICE_MS = 8; // of that work at a time: a slider must not wait for it
const LONGEST_TITLE = 120;
const COLUMNS = ['After', 'Rank', 'Score', 'Probability', ''];

/**
 * The table for one token; where it ranks is what the row knows of it.
 *
 * @param {object} actions
 * @param {() => void} on_close
 * @returns {{node: HTMLElement, token: object|null, show(token: object|null): void,
 *   update(state: object, view: object|null): void, destroy(): void}} `show` with null hides it
 */
export function create_why(actions, on_close) {
  let latest = { state: null, view: null };
  let change = null;
  let timer = 0;
  let stop_search = () => {};

  const title = element('span', { class: 'dv-token' });
  const close = element('button', { type: 'button', text: 'Close', onclick: on_close });
  const verdict = element('p', { class: 'dv-why-verdict' });
  const body = element('tbody');
  const heads = COLUMNS.map(text => element(text ? 'th' : 'td', { text, scope: text ? 'col' : null }));
  const head = element('thead', {}, element('tr', {}, ...heads));
  const table = element('table', { class: 'dv-why-table' }, head, body);
  const advice = element('span');
  const apply = element('button', {
    type: 'button',
    class: 'dv-hidden',
    onclick: () => {
      actions.set(change);
      actions.settle();
    },
  });
  const node = element(
    'section',
    { class: 'dv-why dv-hidden', 'aria-label': 'Why not my token?' },
    element(
      'div',
      { class: 'dv-why-head' },
      element('span', { text: 'Why not ' }),
      title,
      element('span', { text: '?' }),
      close,
    ),
    verdict,
    table,
    element('div', { class: 'dv-why-advice' }, advice, apply),
  );
  const rows = [];
  const why = { node, token: null, show, update, destroy: hush };

  function hush() {
    clearTimeout(timer);
    stop_search();
  }

  function show(token) {
    why.token = token;
    node.classList.toggle('dv-hidden', token === null);
    hush();
    if (token && latest.state) draw();
  }

  function update(state, view) {
    latest = { state, view };
    if (!why.token) return;
    // A playing text changes faster than anyone reads.
    node.classList.toggle('dv-waiting', state.mode !== 'paused' || !view);
    if (state.mode === 'paused') draw();
  }

  function draw() {
    hush();
    const { state, view } = latest;
    const { token } = why;
    set_text(title, token.label);
    set_attribute(title, 'title', shorten(token.label, LONGEST_TITLE));
    set_attribute(table, 'aria-label', `Way of ${shorten(token.label, LONGEST_TITLE)}`);
    const path = path_of(state, view, token);
    table.classList.toggle('dv-hidden', !path.points.length);
    set_text(verdict, path.verdict);
    draw_points(path.points, state.point);
    set_change(null);
    if (!path.is_removed) return set_text(advice, '');
    set_text(advice, 'Looking for the smallest change that would admit it.');
    timer = setTimeout(advise, SETTLED_MS);
  }

  function draw_points(points, point) {
    while (rows.length > points.length) rows.pop().tr.remove();
    while (rows.length < points.length) {
      const row = create_row();
      rows.push(row);
      body.append(row.tr);
    }
    // The view's points have one more between the last stage and the draw: the same figures as after it.
    const here = point === null ? -1 : Math.min(point, points.length - 1);
    rows.forEach((row, place) => update_row(row, points[place], place === here));
  }

  function advise() {
    const { state } = latest;
    if (!state?.row || !why.token) return;
    stop_search = in_slices(admission(state, placed(state.row, why.token)), found => {
      if (!found) return; // the draw has no such token to begin with
      set_change(found.blocked_by ? null : found);
      set_text(
        advice,
        found.blocked_by
          ? `${blocked_text(found)}.`
          : 'The smallest change of one setting that would admit it:',
      );
    });
  }

  /** The button that applies a change; where it vanishes under the focus, its neighbour takes that over. */
  function set_change(found) {
    change = found && { [found.setting]: found.value };
    if (found) set_text(apply, change_order(found));
    else if (apply.getRootNode().activeElement === apply) close.focus({ preventScroll: true });
    apply.classList.toggle('dv-hidden', !found);
  }

  return why;
}

/** Run a search a few milliseconds at a time; `done` gets its result. Gives what stops it. */
export function in_slices(search, done) {
  let timer = setTimeout(go);
  function go() {
    const end = performance.now() + SLICE_MS;
    do {
      const step = search.next();
      if (step.done) return done(step.value);
    } while (performance.now() < end);
    timer = setTimeout(go);
  }
  return () => clearTimeout(timer);
}

/** What changes, in words: "top-k 212", "top-p off", "XTC threshold 0.31", "its ban lifted". */
export function describe_change({ setting, value, field, bias, is_lifted }) {
  if (is_lifted) return 'its ban lifted';
  if (bias !== undefined) return `its bias ${score_text(bias, 1)}`;
  // Temperature 1 is said as the number that it is: temperature 0 might be taken for "off".
  if (setting !== 'temperature' && value === OFF[setting]) return `${stage_name(setting)} off`;
  if (field) return `${stage_name(setting)} ${field_name(setting, field)} ${number_text(value[field])}`;
  return `${stage_name(setting)} ${Number.isInteger(value) ? count(value) : number_text(value)}`;
}

/** The same as what a button would do. */
export const change_order = change => (change.is_lifted ? 'Lift its ban' : `Set ${describe_change(change)}`);

/** Why there is no such change: the stages that keep a token out together. */
export function blocked_text({ blocked_by }) {
  const names = blocked_by.map(stage_name);
  const last = names.pop();
  return `No change of one setting would admit it: ${names.join(', ')} and ${last} block it together`;
}

const number_text = value => String(Number(value.toPrecision(4)));

function field_name(setting, field) {
  const { label } = stage_of(setting)?.fields.find(({ name }) => name === field) ?? { label: field };
  return label.split(',')[0].toLowerCase(); // without its unit
}

/** The token with its place in the row, as `admit` and `trace_of` take it. */
function placed(row, { id }) {
  const raw_rank = raw_rank_of(row, id);
  return { id, raw_rank, logit: raw_rank ? raw_score(row, id, raw_rank) : null };
}

/** What is shown of a token: the points of its way, a sentence, and whether a stage removed it. */
function path_of(state, view, token) {
  const nothing = verdict => ({ points: [], verdict, is_removed: false });
  if (!view) return nothing('There are no scores here; press Back first.');
  const { row } = state;
  const place = placed(row, token);
  const { id, raw_rank } = place;
  if (!raw_rank && !is_settled(row, id)) return nothing('Its rank at this step is not known: search again.');
  if (!raw_rank || raw_rank > row.possible) return nothing('It is impossible here: its logit is −∞.');
  const trace = trace_of(state, place);
  const out = trace.findIndex(({ removed }) => removed);
  const points = trace.map((point, place) => ({
    ...point,
    label: place ? stage_label(point.name) : 'Logits',
    note: place === out ? 'went out here' : moved(trace[place - 1], point),
  }));
  const last = trace.at(-1);
  const end = end_of(state, view, raw_rank, last);
  points.push({ ...last, label: 'Draw', note: last.removed ? '' : end.note });
  if (out < 0) return { points, verdict: end.verdict, is_removed: false };
  const { rank, prob } = trace[out - 1];
  const start = removal({ removed_by: trace[out].name }).replace(/^./, first => first.toUpperCase());
  const verdict = `${start}; it came there as rank ${count(rank)} with ${percent(prob)}.`;
  return { points, verdict, is_removed: true };
}

/** What a stage did to the token's score. */
function moved(before, { removed, score }) {
  if (!before || removed || before.score === score) return '';
  const change = score - before.score;
  return `score ${change < 0 ? 'lowered' : 'raised'} by ${score_text(Math.abs(change))}`;
}

/** How a token that stays fares in the draw. */
function end_of(state, view, raw_rank, { removed, prob }) {
  if (removed) return {};
  if (view.greedy) return { note: 'taken', verdict: 'It has the highest score, which temperature 0 takes.' };
  const shaped = shape_of(state);
  const { ranking, before, mass } = shaped.final;
  const rank = shaped.trace(raw_rank).at(-1);
  const ends = [rank - 1, rank].map(each => Math.min(1, (ranking.cumulative_at(each) - before) / mass));
  const stretch = stretch_text(...ends);
  const stays = `It stays in the draw with ${percent(prob)}: u in ${stretch} draws it`;
  if (!has_u(state.row)) return { note: `u in ${stretch}`, verdict: `${stays}.` };
  const u = u_text(state.row.u);
  const is_hit = shaped.final.rank_at(state.row.u) === rank;
  return {
    note: is_hit ? `u = ${u} hits it` : `u = ${u} misses it`,
    verdict: is_hit ? `${stays}, and u = ${u} does.` : `${stays}, but u = ${u}.`,
  };
}

/** Which stage removed a token, in words. */
export const removal = ({ removed_by }) =>
  removed_by === 'temperature' ? 'removed: greedy takes the highest' : `removed by ${stage_name(removed_by)}`;

function create_row() {
  const row = {
    label: element('th', { scope: 'row' }),
    rank: element('td'),
    score: element('td'),
    prob: element('td'),
    note: element('td', { class: 'dv-why-note' }),
  };
  row.tr = element('tr', {}, ...Object.values(row));
  return row;
}

function update_row(row, { label, rank, score, prob, removed, note }, is_here) {
  set_class(row.tr, removed ? 'dv-why-out' : '');
  set_attribute(row.tr, 'aria-current', is_here ? 'step' : null);
  set_text(row.label, label);
  set_text(row.rank, removed ? '–' : count(rank));
  set_text(row.score, removed ? '–' : score_text(score));
  set_text(row.prob, removed ? '–' : percent(prob));
  set_text(row.note, note);
}
