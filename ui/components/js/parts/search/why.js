// Why not my token? One token's path through the samplers: rank, score and probability after each, and the one that
// removed it. Also the small change of one setting that would admit it, found by the engine.

import { is_settled, raw_rank_of } from '../../kernel/row.js';
import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { trace_of } from '../../view/view.js';
import { on_show } from '../../view/what_if.js';
import { count, listed, percent, score_text, set_number, shorten, stretch_text, u_text } from '../../words/format.js';
import { marked, say } from '../../words/say.js';

/** @import { Actions, Admission, FoundToken, Sampler, State, View } from '../../types.js' */
/** @typedef {Pick<State, 'view' | 'row' | 'table' | 'settings' | 'mode' | 'point' | 'prompt_tokens' | 'steps' | 'model' | 'is_what_if' | 'manual' | 'row_count' | 'remarks' | 'guidance_scale'>} Properties */

const SETTLED_MS = 120; // time without a change before the engine is asked
const LONGEST_TITLE = 120;
const COLUMNS = [marked('After'), marked('Rank'), marked('Score'), marked('Probability'), ''];

/**
 * @param {Pick<Actions, 'set' | 'settle' | 'admit'>} actions
 * @param {() => void} on_close
 */
export function create_why(actions, on_close) {
  /** @type {Properties|null} */
  let state = null;
  /** @type {Admission|null} */
  let change = null;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  let asked = 0;
  /** @type {FoundToken|null} */
  let token = null;

  const title = element('span', { class: 'dv-token' });
  const close = element('button', { type: 'button', class: 'dv-quiet', text: say('Close'), onclick: on_close });
  const verdict = element('p');
  const body = element('tbody');
  const heads = COLUMNS.map(text => element(text ? 'th' : 'td', { text: say(text), scope: text ? 'col' : null }));
  const table = element('table', { class: 'dv-why-table' }, element('thead', {}, element('tr', {}, ...heads)), body);
  const advice = element('span');
  const apply = element('button', {
    type: 'button',
    class: 'dv-hidden',
    onclick: () => {
      if (!change) return;
      actions.set(change.settings);
      actions.settle();
    },
  });
  const node = element(
    'section',
    { class: 'dv-why dv-hidden', 'aria-label': say('Why not my token?') },
    element('div', { class: 'dv-why-head' }, element('span', {}, ...around(say('Why not {token}?'), title)), close),
    verdict,
    table,
    element('div', { class: 'dv-why-advice' }, advice, apply),
  );
  /** @type {ReturnType<typeof create_row>[]} */
  const rows = [];

  function hush() {
    clearTimeout(timer);
    asked += 1;
  }

  function draw() {
    hush();
    if (!state || !token) return;
    set_text(title, token.label);
    set_attribute(title, 'title', shorten(token.label, LONGEST_TITLE));
    set_attribute(table, 'aria-label', say('Path of {token}', { token: shorten(token.label, LONGEST_TITLE) }));
    const { points, words, is_removed } = path_words(state, token);
    table.classList.toggle('dv-hidden', !points.length);
    set_text(verdict, words);
    while (rows.length > points.length) rows.pop()?.tr.remove();
    while (rows.length < points.length) {
      const row = create_row();
      rows.push(row);
      body.append(row.tr);
    }
    rows.forEach((row, place) => update_row(row, points[place]));
    set_change(null);
    set_text(advice, is_removed ? say('Looking for a change that would admit it …') : '');
    if (is_removed) timer = setTimeout(advise, SETTLED_MS);
  }

  async function advise() {
    const turn = ++asked;
    if (!token || !state) return;
    const found = await actions.admit(token.id);
    if (turn !== asked) return;
    set_change(found?.setting ? found : null);
    set_text(advice, found ? advice_text(found, state.table.samplers) : '');
  }

  /**
   * The button that applies a change; if it vanishes while focused, its neighbour takes the focus.
   *
   * @param {Admission|null} found
   */
  function set_change(found) {
    change = found;
    if (found && state) set_text(apply, change_order(found, state.table.samplers));
    else if (document.activeElement === apply) close.focus({ preventScroll: true });
    apply.classList.toggle('dv-hidden', !found);
  }

  return {
    node,
    get token() {
      return token;
    },
    /** Show a token's path; null hides it. @param {FoundToken|null} shown */
    show(shown) {
      token = shown;
      node.classList.toggle('dv-hidden', shown === null);
      draw();
    },
    /** @param {Properties} now */
    update(now) {
      state = now;
      if (!token) return;
      // A playing text changes faster than anyone reads.
      node.classList.toggle('dv-waiting', now.mode !== 'paused' || !now.view);
      if (now.mode === 'paused') draw();
    },
    destroy: hush,
  };
}

/** A sentence with an element in its place. @param {string} sentence @param {HTMLElement} placed */
function around(sentence, placed) {
  const [before, after] = sentence.split('{token}');
  return [before, placed, after];
}

/** @param {Sampler[]} samplers @param {string|null} name */
const named = (samplers, name) => samplers.find(sampler => sampler.name === name)?.in_text ?? name ?? '';

/**
 * The change in words: "top-k 212", "top-p off", "XTC threshold 0.31".
 *
 * @param {Admission} found
 * @param {Sampler[]} samplers
 */
function change_words({ setting, field, value, bias }, samplers) {
  const sampler = samplers.find(({ name }) => name === setting);
  const name = named(samplers, setting);
  if (bias !== null) return say('its bias {bias}', { bias: score_text(bias, 1) });
  if (value === null || (value === sampler?.off && sampler?.kind !== 'scale'))
    return say('{sampler} off', { sampler: name });
  if (field && typeof value === 'object') {
    const label = sampler?.numbers.find(number => number.name === field)?.label.toLowerCase() ?? field;
    return `${name} ${label} ${set_number(Number(Number(value[field]).toPrecision(4)))}`;
  }
  return `${name} ${set_number(Number.isInteger(value) ? Number(value) : Number(Number(value).toPrecision(4)))}`;
}

/** The change as a button's text. @param {Admission} found @param {Sampler[]} samplers */
export const change_order = (found, samplers) =>
  found.lifted ? say('Lift its ban') : say('Set {change}', { change: change_words(found, samplers) });

/** @param {Admission} found @param {Sampler[]} samplers */
export function advice_text(found, samplers) {
  if (found.setting) return say('This change of one setting would admit it:');
  return say('Switching off one sampler would not admit it: {samplers} remove it together.', {
    samplers: listed(found.blocked_by.map(name => named(samplers, name))),
  });
}

/** @typedef {{label: string, rank: number|null, score: number, prob: number, removed: boolean, note: string, is_here: boolean}} PathPoint */

/**
 * The description of a token: the points of its path, a sentence, and whether a sampler removed it.
 * @param {Properties} state
 * @param {FoundToken} token
 * @returns {{points: PathPoint[], words: string, is_removed: boolean}}
 */
function path_words(state, { id }) {
  const { view, row } = state;
  const nothing = (/** @type {string} */ words) => ({ points: [], words, is_removed: false });
  if (!view || !row) return nothing(say('There are no scores here; press Back first.'));
  const raw_rank = raw_rank_of(row, id);
  if (!raw_rank && !is_settled(row, id)) return nothing(say('Its rank at this step is not known: search again.'));
  if (!raw_rank || raw_rank > row.possible) {
    const most = row.listed ?? null;
    if (most === null) return nothing(say('It is impossible here: its logit is −∞.'));
    return nothing(say('It is not among the {count} tokens that the model names here.', { count: count(most.count) }));
  }
  const path = trace_of(state, { id });
  const out = path.findIndex(({ removed }) => removed);
  const points = path.map((point, place) => ({
    ...point,
    label: place ? (state.table.samplers.find(({ name }) => name === point.name)?.label ?? point.name) : say('Logits'),
    note: place === out ? say('removed here') : moved(path[place - 1], point),
    is_here: state.point !== null && place === Math.min(view.point, path.length - 1),
  }));
  if (out < 0) {
    const { final } = on_show({ ...state, row }).shaped;
    const rank = final.place(raw_rank);
    const [from, to] = [rank - 1, rank].map(each => final.cumulative_at(each));
    return { points, words: end_words(view, path[path.length - 1].prob, from, to), is_removed: false };
  }
  const { rank, prob } = path[out - 1];
  const by = named(state.table.samplers, path[out].name);
  return {
    points,
    words: say('Removed by {sampler}, where it had rank {rank} and {probability}.', {
      sampler: by,
      rank: count(rank ?? 0),
      probability: percent(prob),
    }),
    is_removed: true,
  };
}

/**
 * A sampler's effect on the token's score.
 *
 * @param {{score: number}|undefined} before
 * @param {{removed: boolean, score: number}} after
 */
function moved(before, { removed, score }) {
  if (!before || removed || before.score === score) return '';
  const change = score - before.score;
  const by = score_text(Math.abs(change));
  return change < 0 ? say('score lowered by {by}', { by }) : say('score raised by {by}', { by });
}

/**
 * The chances of a remaining token in the draw.
 *
 * @param {View} view
 * @param {number} prob
 * @param {number} from
 * @param {number} to end of its stretch
 */
function end_words(view, prob, from, to) {
  if (view.greedy) return say('It has the highest score, which temperature 0 takes.');
  const values = { probability: percent(prob), stretch: stretch_text(from, to), u: u_text(view.draw?.u ?? 0) };
  if (!view.draw) return say('It stays, with {probability}: it is drawn if u is in {stretch}.', values);
  const { u } = view.draw;
  return u >= from && u < to
    ? say('It stays, with {probability}: it is drawn if u is in {stretch}, and u = {u} is.', values)
    : say('It stays, with {probability}: it is drawn if u is in {stretch}, but u = {u}.', values);
}

function create_row() {
  const cells = {
    label: element('th', { scope: 'row' }),
    rank: element('td'),
    score: element('td'),
    prob: element('td'),
    note: element('td', { class: 'dv-muted' }),
  };
  return { ...cells, tr: element('tr', {}, ...Object.values(cells)) };
}

/** @param {ReturnType<typeof create_row>} row @param {PathPoint} point */
function update_row(row, { label, rank, score, prob, removed, note, is_here }) {
  set_class(row.tr, removed ? 'removed' : '');
  set_attribute(row.tr, 'aria-current', is_here ? 'step' : null);
  set_text(row.label, label);
  set_text(row.rank, removed ? '–' : count(rank ?? 0));
  set_text(row.score, removed ? '–' : score_text(score));
  set_text(row.prob, removed ? '–' : percent(prob));
  set_text(row.note, note);
}
