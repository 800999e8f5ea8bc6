// The one thing about this step that is most worth a look, as a sentence computed from its figures.

import { in_text_of, setting_text } from '../kernel/table.js';
import { is_cut, nothing_left } from './chain.js';
import { count, formats, listed, quoted, tokens } from './format.js';
import { sampler_note } from './sentences.js';

/**
 * @import { SamplerView, State, Step, View, ViewRow } from '../types.js'
 * @import { Formats } from './format.js'
 *
 * @typedef {Pick<State, 'table' | 'steps' | 'row' | 'digits'>} NoticeState
 * @typedef {(state: NoticeState, view: View, words: Formats) => string} Noticed '' where there is nothing to say
 */

const LOOP_TOKENS = 8;
const LOOP_TIMES = 3;
const LONGEST_LOOP = 64;

const UNLIKELY = 0.02;
const FLAT = 0.1; // below it even the most likely token is unlikely
const UNLIKELY_FOR_MODEL = 0.005;
const CERTAIN = 0.95;
const UNCERTAIN = 4; // bits
const CLOSE = 0.03; // probabilities that are nearly the same
const MUCH = 0.1; // of the probability
const LITTLE = 0.001;

/**
 * The shortest run of tokens that a text ends with several times in a row.
 *
 * @param {number[]} ids generated tokens
 * @returns {{length: number, times: number} | null} null unless it came 3 times or more, over 8 tokens
 */
export function find_loop(ids) {
  const last = ids.length - 1;
  for (let length = 1; length <= Math.min(LONGEST_LOOP, Math.floor(ids.length / LOOP_TIMES)); length++) {
    let same = 0; // tokens at the end that equal the one `length` before
    while (same + length <= last && ids[last - same] === ids[last - same - length]) same++;
    const times = Math.floor(same / length) + 1;
    if (times >= LOOP_TIMES && times * length >= LOOP_TOKENS) return { length, times };
  }
  return null;
}

/** The whole chain is on screen, not a stage of it. @param {View} view */
const is_at_end = view => view.point === view.points.length - 1;

/** The samplers that are on and up to the point. @param {View} view */
function applied(view) {
  const names = view.points.slice(0, view.point + 1).map(({ name }) => name);
  return view.samplers.filter(({ on, name }) => on && names.includes(name));
}

/** "1 in 240", for a probability well below one half. @param {number} probability */
const odds = probability => `1 in ${count(Math.round(1 / probability))}`;

/** @param {NoticeState} state @param {View} view @returns {Step | null} */
const recorded_step = (state, view) => (view.is_pending ? null : state.steps[view.index]) ?? null;

// --- what can be noticed --------------------------------------------------------------------------

/** Said before a step is refused, and while the point is looked at that has no token left. @type {Noticed} */
function emptied({ table }, view) {
  const found = nothing_left(view, table);
  if (!found || (!is_at_end(view) && view.kept > 0)) return '';
  return `No token is left to draw: ${found.reason}. ${found.remedy}`;
}

/** @type {Noticed} */
function looping(state, view) {
  const end = view.is_pending ? view.index : view.index + 1;
  const loop = find_loop(state.steps.slice(0, end).map(step => step.id));
  if (!loop) return '';
  const what = loop.length === 1 ? 'the same token' : `the last ${tokens(loop.length)}`;
  const remedy = 'A penalty on repetition, or a higher temperature, can break the loop.';
  return `The text is looping: ${what} came ${count(loop.times)} times in a row. ${remedy}`;
}

/** @type {Noticed} */
function unlikely_draw(state, view, { percent }) {
  const step = recorded_step(state, view);
  if (!is_at_end(view) || !step || step.forced || !(step.probability > 0)) return '';
  const own = step.model_probability;
  const token = `${quoted(step.label)} (rank ${count(step.rank)})`;
  if (step.probability < UNLIKELY) {
    const leader = view.as_recorded ? view.leaders[0] : null;
    const is_flat = leader && (leader.final_prob ?? 1) < FLAT;
    const but = is_flat ? ` Even the most likely token had only ${percent(leader.share)}.` : '';
    return `An unlikely draw: ${token} had a chance of ${odds(step.probability)}.${but}`;
  }
  if (own > 0 && own < UNLIKELY_FOR_MODEL) {
    return `The model gave ${token} a chance of ${odds(own)}; the settings made that ${percent(step.probability)}.`;
  }
  return '';
}

/** @type {Noticed} */
function forced({ table, ...state }, view, { percent }) {
  const row = view.chosen;
  if (!recorded_step({ table, ...state }, view)?.forced || !row || !is_at_end(view)) return '';
  const token = `${quoted(row.label)} (rank ${count(row.rank)})`;
  if (row.removed_by) {
    return `${token} was chosen by hand. It could not be drawn: ${in_text_of(table, row.removed_by)} removes it.`;
  }
  return row.final_prob
    ? `${token} was chosen by hand. A draw would pick it in ${percent(row.final_prob)} of cases.`
    : '';
}

/** @type {Noticed} */
function greedy_choice(_, view, { percent }) {
  const samplers = applied(view);
  const greedy = samplers.find(sampler => sampler.case === 'greedy');
  const is_by_chance = samplers.some(({ figures, no_effect }) => 'u' in figures && !no_effect);
  const [taken] = view.leaders;
  if (!greedy || view.kept !== 1 || is_by_chance || !taken) return '';
  const beaten = view.rows.find(row => row.removed_by === greedy.name);
  const gap = beaten ? taken.model_prob - beaten.model_prob : 1;
  if (beaten && gap >= 0 && gap < CLOSE) {
    const pair = [taken, beaten].map(row => `${quoted(row.label)} ${percent(row.model_prob)}`);
    return `Greedy hides a near tie: ${pair[0]}, ${pair[1]} before any setting. The first wins every time.`;
  }
  return (
    `Greedy takes ${quoted(taken.label)} every time. ` +
    `Drawn from the model’s own distribution, it would come in ${percent(taken.model_prob)} of cases.`
  );
}

/** From the first cut on, the samplers that are no cuts. @param {View} view */
function behind_the_cut(view) {
  const samplers = applied(view);
  const first = samplers.findIndex(is_cut);
  return first < 0 ? [] : samplers.slice(first).filter(sampler => !is_cut(sampler));
}

/** Whether a sampler that is no cut did nothing. @param {SamplerView} sampler */
const is_idle = sampler => !sampler.changes_scores && sampler.after === sampler.before;

/**
 * Whether only cuts act behind the first cut: those left then have the odds that they had before.
 *
 * @param {View} view
 */
const is_only_cut = view => behind_the_cut(view).every(is_idle);

/** @type {Noticed} */
function much_cut(_, view, { percent }) {
  const { cut } = view;
  const first = applied(view).find(is_cut);
  // What is idle behind a cut might act on those that it removed.
  if (!cut || !first || view.greedy || behind_the_cut(view).length || !(1 - cut.mass > MUCH)) return '';
  const others = first.before - cut.kept;
  const held = `${tokens(cut.kept)} ${cut.kept === 1 ? 'holds' : 'hold'} ${percent(cut.mass)} of the probability`;
  const other = others === 1 ? 'the other one' : `one of the other ${count(others)}`;
  return `${held}. Without the cut-offs, ${percent(1 - cut.mass)} of draws would pick ${other}.`;
}

/** @type {Noticed} */
function nothing_cut({ table }, view, { percent }) {
  const cuts = applied(view).filter(sampler => sampler.kind === 'cut');
  if (!is_at_end(view) || view.greedy || !cuts.length) return '';
  const names = listed(cuts.map(({ name }) => in_text_of(table, name)));
  const removes = cuts.length === 1 ? 'removes' : 'remove';
  if (cuts.every(sampler => sampler.after === sampler.before)) {
    return capital(
      `${names} ${removes} nothing here: ${view.kept === 1 ? 'one token is' : `${tokens(view.kept)} are`} left.`,
    );
  }
  if (!is_only_cut(view) || !view.cut || 1 - view.cut.mass >= LITTLE) return '';
  return capital(
    `${names} ${removes} next to nothing here: ${percent(Math.max(0, 1 - view.cut.mass))} of the probability.`,
  );
}

/**
 * A word about the model's own distribution is in place at the logits, and about the step as a whole.
 *
 * @param {View} view
 */
const is_about_model = view => view.point === 0 || is_at_end(view);

/** Whose logits they are. @param {View} view */
const who = view => (view.is_guided ? 'The guided model' : 'The model');

/** @type {Noticed} */
function certain(_, view, { percent }) {
  const [leader] = view.model_leaders;
  if (!is_about_model(view) || !leader || leader.model_prob <= CERTAIN) return '';
  return `${who(view)} is almost certain: ${quoted(leader.label)} has ${percent(leader.model_prob)} before any setting.`;
}

/** @type {Noticed} */
function uncertain(_, view, { bits, percent }) {
  if (!is_about_model(view)) return '';
  const entropy = view.entropy.model;
  if (entropy > UNCERTAIN) {
    const choices = count(Math.round(2 ** entropy));
    return `${who(view)} is uncertain: ${bits(entropy)}, like ${choices} equally likely tokens.`;
  }
  const [first, second] = view.model_leaders;
  if (!second || first.model_prob - second.model_prob >= CLOSE) return '';
  const [one, other] = [first, second].map(row => `${quoted(row.label)} ${percent(row.model_prob)}`);
  return `${who(view)} hesitates between two tokens: ${one}, ${other}.`;
}

/** In front of the cuts: who gained or lost by what changed scores there. @type {Noticed} */
function leader_moved({ table, digits }, view, { percent }) {
  const [leader] = view.rows;
  const { name } = view.points[view.point];
  const here = view.samplers.find(sampler => sampler.name === name);
  if ((here && is_cut(here)) || name === 'renormalised') return ''; // these change no score
  if (!leader || Math.abs(leader.prob - leader.model_prob) < CLOSE) return '';
  const ranked = view.points.slice(1, 1 + view.ranked).map(point => point.name);
  const moving = view.samplers.filter(sampler => ranked.includes(sampler.name) && !is_idle(sampler));
  if (!moving.length) return '';
  const what =
    moving.length === 1 ? set_to(moving[0]) : `${listed(moving.map(each => in_text_of(table, each.name)))} together`;
  const verb = leader.prob > leader.model_prob ? 'raised' : 'lowered';
  const change = `${verb} ${quoted(leader.label)} from ${percent(leader.model_prob)} to ${percent(leader.prob)}`;
  return capital(`${what} ${change}${fate(leader)}.`);

  /**
   * A sampler with its value or, where that has several numbers, what came of them.
   *
   * @param {SamplerView} sampler
   */
  function set_to(sampler) {
    const text = setting_text(table, sampler.name, sampler.value);
    const note = typeof sampler.value === 'number' ? '' : sampler_note(sampler, table, digits);
    return note ? `${text} (${note})` : text;
  }

  /** @param {ViewRow} row */
  function fate(row) {
    if (row.removed_by) return `; then ${in_text_of(table, row.removed_by)} removed it`;
    const is_scaled = row.final_prob && percent(row.final_prob) !== percent(row.prob);
    return is_scaled ? `; in the draw it has ${percent(row.final_prob ?? 0)}` : '';
  }
}

/**
 * Whose entropy it is that is on screen at the point.
 *
 * @param {NoticeState} state
 * @param {View} view
 * @param {Formats} words
 */
function entropy_words({ table }, view, { bits }) {
  const { name, kind } = view.points[view.point];
  const entropy = bits(view.entropy.shown);
  if (kind === 'logits') return `The ${view.is_guided ? 'guided model’s' : 'model’s own'} uncertainty is ${entropy}`;
  if (kind !== 'sampler') return `The uncertainty of the draw is ${entropy}`;
  return `The uncertainty after ${in_text_of(table, name)} is ${entropy}`;
}

/** Of those left at the point. @type {Noticed} */
function summary(state, view, words) {
  const [first, second] = view.leaders;
  if (!first) return '';
  const follows = second?.share ? `, ${quoted(second.label)} follows with ${words.percent(second.share)}` : '';
  return `${quoted(first.label)} leads with ${words.percent(first.share)}${follows}. ${entropy_words(state, view, words)}.`;
}

/** @param {string} sentence */
const capital = sentence => sentence.replace(/^./u, first => first.toUpperCase());

/** The first that has something to say is shown. @type {Noticed[]} */
const NOTICES = [
  emptied,
  looping,
  unlikely_draw,
  forced,
  greedy_choice,
  much_cut,
  nothing_cut,
  certain,
  uncertain,
  leader_moved,
  summary,
];

/**
 * One sentence about the step on show; '' while there is nothing to look at.
 *
 * @param {NoticeState} state
 * @param {View | null} view
 */
export function notice(state, view) {
  if (!view) return '';
  const words = formats(state.digits);
  for (const noticed of NOTICES) {
    const sentence = noticed(state, view, words);
    if (sentence) return sentence;
  }
  return '';
}
