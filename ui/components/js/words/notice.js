// The most notable fact about this step, as a sentence computed from its figures.

import { in_text_of } from '../kernel/table.js';
import { is_cut, nothing_left } from './chain.js';
import { count, formats, listed, quoted, setting_text, tokens } from './format.js';
import { say } from './say.js';
import { sampler_note } from './sentences.js';

/**
 * @import { SamplerView, State, Step, View, ViewRow } from '../types.js'
 * @import { Formats } from './format.js'
 *
 * @typedef {Pick<State, 'table' | 'steps' | 'row' | 'digits'>} NoticeState
 * @typedef {(state: NoticeState, view: View, words: Formats) => string} Noticed '' if there is nothing to say
 */

const LOOP_TOKENS = 8;
const LOOP_TIMES = 3;
const LONGEST_LOOP = 64;

const UNLIKELY = 0.02;
const FLAT = 0.1; // below this, even the most likely token is unlikely
const UNLIKELY_FOR_MODEL = 0.005;
const CERTAIN = 0.95;
const UNCERTAIN = 4; // bits
const CLOSE = 0.03; // probabilities that are nearly equal
const MUCH = 0.1; // of the probability
const LITTLE = 0.001;

/**
 * Find the shortest run of tokens that a text ends with several times in a row.
 *
 * @param {number[]} ids generated tokens
 * @returns {{length: number, times: number} | null} null unless it occurs at least 3 times, over 8 tokens
 */
export function find_loop(ids) {
  const last = ids.length - 1;
  for (let length = 1; length <= Math.min(LONGEST_LOOP, Math.floor(ids.length / LOOP_TIMES)); length++) {
    let same = 0; // tokens at the end that equal the token `length` earlier
    while (same + length <= last && ids[last - same] === ids[last - same - length]) same++;
    const times = Math.floor(same / length) + 1;
    if (times >= LOOP_TIMES && times * length >= LOOP_TOKENS) return { length, times };
  }
  return null;
}

/** Tell if the whole chain is on screen rather than one stage. @param {View} view */
const is_at_end = view => view.point === view.points.length - 1;

/** The active samplers up to the point. @param {View} view */
function applied(view) {
  const names = view.points.slice(0, view.point + 1).map(({ name }) => name);
  return view.samplers.filter(({ on, name }) => on && names.includes(name));
}

/** "1 in 240", for a probability well below one half. @param {number} probability */
const odds = probability => say('1 in {count}', { count: count(Math.round(1 / probability)) });

/** @param {{label: string, rank: number}} token */
const with_rank = ({ label, rank }) => say('{token} (rank {rank})', { token: quoted(label), rank: count(rank) });

/** @param {NoticeState} state @param {View} view @returns {Step | null} */
const recorded_step = (state, view) => (view.is_pending ? null : state.steps[view.index]) ?? null;

// --- what can be noticed --------------------------------------------------------------------------

/** The sentence before a step is refused, and at a point with no token left. @type {Noticed} */
function emptied({ table }, view) {
  const found = nothing_left(view, table);
  if (!found || (!is_at_end(view) && view.kept > 0)) return '';
  return say('No token is left to draw: {reason}. {remedy}', { ...found });
}

/** Say how a text repeats itself; '' if it does not. @param {Step[]} steps */
export function loop_sentence(steps) {
  const loop = find_loop(steps.map(step => step.id));
  if (!loop) return '';
  const values = { times: count(loop.times), tokens: tokens(loop.length) };
  const found =
    loop.length === 1
      ? say('The text is looping: the same token came {times} times in a row.', values)
      : say('The text is looping: the last {tokens} came {times} times in a row.', values);
  const remedy = say('A penalty on repetition, or a higher temperature, can break the loop.');
  return `${found} ${remedy}`;
}

/** @type {Noticed} */
const looping = (state, view) => loop_sentence(state.steps.slice(0, view.is_pending ? view.index : view.index + 1));

/** @type {Noticed} */
function unlikely_draw(state, view, { percent }) {
  const step = recorded_step(state, view);
  if (!is_at_end(view) || !step || step.forced || !(step.probability > 0)) return '';
  const own = step.model_probability;
  const token = with_rank(step);
  if (step.probability < UNLIKELY) {
    const leader = view.as_recorded ? view.leaders[0] : null;
    const is_flat = leader && (leader.final_prob ?? 1) < FLAT;
    const found = say('An unlikely draw: {token} had a chance of {odds}.', { token, odds: odds(step.probability) });
    const but = say('Even the most likely token had only {probability}.', { probability: percent(leader?.share ?? 0) });
    return is_flat ? `${found} ${but}` : found;
  }
  if (own > 0 && own < UNLIKELY_FOR_MODEL) {
    return say('The model gave {token} a chance of {odds}; the settings made that {probability}.', {
      token,
      odds: odds(own),
      probability: percent(step.probability),
    });
  }
  return '';
}

/** @type {Noticed} */
function forced({ table, ...state }, view, { percent }) {
  const row = view.chosen;
  if (!recorded_step({ table, ...state }, view)?.forced || !row || !is_at_end(view)) return '';
  const token = with_rank(row);
  if (row.removed_by) {
    const sampler = in_text_of(table, row.removed_by);
    return say('{token} was chosen by hand. It could not be drawn: {sampler} removes it.', { token, sampler });
  }
  if (!row.final_prob) return '';
  const probability = percent(row.final_prob);
  return say('{token} was chosen by hand. A draw would pick it in {probability} of cases.', { token, probability });
}

/** @type {Noticed} */
function greedy_choice(_, view, { percent }) {
  const samplers = applied(view);
  const greedy = samplers.find(sampler => sampler.case === 'greedy');
  const is_by_chance = samplers.some(({ figures, no_effect }) => 'u' in figures && !no_effect);
  const [taken] = view.leaders;
  if (!greedy || view.kept !== 1 || is_by_chance || !taken) return '';
  const beaten = view.rows.find(row => row.removed_by === greedy.name);
  if (beaten && taken.logit === beaten.logit && taken.score === beaten.score)
    return say('An exact tie: {first} and {second} have the same score. Greedy takes the lower id every time.', {
      first: quoted(taken.label),
      second: quoted(beaten.label),
    });
  const gap = beaten ? taken.model_prob - beaten.model_prob : 1;
  if (beaten && gap >= 0 && gap < CLOSE) {
    const [first, second] = [taken, beaten].map(row => `${quoted(row.label)} ${percent(row.model_prob)}`);
    return say('Greedy hides a near tie: {first}, {second} before any setting. The first wins every time.', {
      first,
      second,
    });
  }
  return say(
    'Greedy takes {token} every time. Drawn from the model’s own distribution, it would come in {probability} of cases.',
    { token: quoted(taken.label), probability: percent(taken.model_prob) },
  );
}

/** From the first cut on, the samplers that are not cuts. @param {View} view */
function behind_the_cut(view) {
  const samplers = applied(view);
  const first = samplers.findIndex(is_cut);
  return first < 0 ? [] : samplers.slice(first).filter(sampler => !is_cut(sampler));
}

/** Tell if a sampler that is not a cut did nothing. @param {SamplerView} sampler */
const is_idle = sampler => !sampler.changes_scores && sampler.after === sampler.before;

/**
 * Tell if only cuts act after the first cut: then the remaining tokens keep their earlier odds.
 *
 * @param {View} view
 */
const is_only_cut = view => behind_the_cut(view).every(is_idle);

/** @type {Noticed} */
function much_cut(_, view, { percent }) {
  const { cut } = view;
  const first = applied(view).find(is_cut);
  // A sampler that is idle after a cut might act on the tokens that the cut removed.
  if (!cut || !first || view.greedy || behind_the_cut(view).length || !(1 - cut.mass > MUCH)) return '';
  const others = first.before - cut.kept;
  const values = {
    tokens: tokens(cut.kept),
    mass: percent(cut.mass),
    rest: percent(1 - cut.mass),
    others: count(others),
  };
  const held =
    cut.kept === 1
      ? say('{tokens} holds {mass} of the probability.', values)
      : say('{tokens} hold {mass} of the probability.', values);
  const else_ =
    others === 1
      ? say('Without the cut-offs, {rest} of draws would pick the other one.', values)
      : say('Without the cut-offs, {rest} of draws would pick one of the other {others}.', values);
  return `${held} ${else_}`;
}

/** @type {Noticed} */
function nothing_cut({ table }, view, { percent }) {
  const cuts = applied(view).filter(sampler => sampler.kind === 'cut');
  if (!is_at_end(view) || view.greedy || !cuts.length) return '';
  const names = listed(cuts.map(({ name }) => in_text_of(table, name)));
  const is_one = cuts.length === 1;
  if (cuts.every(sampler => sampler.after === sampler.before)) {
    const left = view.kept === 1 ? say('one token is left') : say('{tokens} are left', { tokens: tokens(view.kept) });
    return capital(
      is_one
        ? say('{sampler} removes nothing here: {left}.', { sampler: names, left })
        : say('{samplers} remove nothing here: {left}.', { samplers: names, left }),
    );
  }
  if (!is_only_cut(view) || !view.cut || 1 - view.cut.mass >= LITTLE) return '';
  const mass = percent(Math.max(0, 1 - view.cut.mass));
  return capital(
    is_one
      ? say('{sampler} removes next to nothing here: {mass} of the probability.', { sampler: names, mass })
      : say('{samplers} remove next to nothing here: {mass} of the probability.', { samplers: names, mass }),
  );
}

/**
 * Tell if a remark on the model's own distribution fits: at the logits, and for the step as a whole.
 *
 * @param {View} view
 */
const is_about_model = view => view.point === 0 || is_at_end(view);

/** @type {Noticed} */
function certain(_, view, { percent }) {
  const [leader] = view.model_leaders;
  if (!is_about_model(view) || !leader || leader.model_prob <= CERTAIN) return '';
  const values = { token: quoted(leader.label), probability: percent(leader.model_prob) };
  return view.is_guided
    ? say('The guided model is almost certain: {token} has {probability} before any setting.', values)
    : say('The model is almost certain: {token} has {probability} before any setting.', values);
}

/** @type {Noticed} */
function uncertain(_, view, { bits, percent }) {
  if (!is_about_model(view)) return '';
  const entropy = view.entropy.model;
  if (entropy > UNCERTAIN) {
    const values = { entropy: bits(entropy), choices: count(Math.round(2 ** entropy)) };
    return view.is_guided
      ? say('The guided model is uncertain: {entropy}, like {choices} equally likely tokens.', values)
      : say('The model is uncertain: {entropy}, like {choices} equally likely tokens.', values);
  }
  const [first, second] = view.model_leaders;
  if (!second || first.model_prob - second.model_prob >= CLOSE) return '';
  const [one, other] = [first, second].map(row => `${quoted(row.label)} ${percent(row.model_prob)}`);
  return view.is_guided
    ? say('The guided model hesitates between two tokens: {one}, {other}.', { one, other })
    : say('The model hesitates between two tokens: {one}, {other}.', { one, other });
}

/** Before the cuts: the token that gained or lost by score changes there. @type {Noticed} */
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
    moving.length === 1
      ? set_to(moving[0])
      : say('{samplers} together', { samplers: listed(moving.map(each => in_text_of(table, each.name))) });
  const values = {
    what,
    token: quoted(leader.label),
    before: percent(leader.model_prob),
    after: percent(leader.prob),
    fate: fate(leader),
  };
  return capital(
    leader.prob > leader.model_prob
      ? say('{what} raised {token} from {before} to {after}{fate}.', values)
      : say('{what} lowered {token} from {before} to {after}{fate}.', values),
  );

  /**
   * A sampler with its value or, if that has several numbers, with its results.
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
    if (row.removed_by) return say('; then {sampler} removed it', { sampler: in_text_of(table, row.removed_by) });
    const is_scaled = row.final_prob && percent(row.final_prob) !== percent(row.prob);
    return is_scaled ? say('; in the draw it has {probability}', { probability: percent(row.final_prob ?? 0) }) : '';
  }
}

/**
 * The name of the entropy on screen at the point.
 *
 * @param {NoticeState} state
 * @param {View} view
 * @param {Formats} words
 */
function entropy_words({ table }, view, { bits }) {
  const { name, kind } = view.points[view.point];
  const entropy = bits(view.entropy.shown);
  if (kind === 'logits')
    return view.is_guided
      ? say('The guided model’s uncertainty is {entropy}.', { entropy })
      : say('The model’s own uncertainty is {entropy}.', { entropy });
  if (kind !== 'sampler') return say('The uncertainty of the draw is {entropy}.', { entropy });
  return say('The uncertainty after {sampler} is {entropy}.', { sampler: in_text_of(table, name), entropy });
}

/** A summary of the tokens left at the point. @type {Noticed} */
function summary(state, view, words) {
  const [first, second] = view.leaders;
  if (!first) return '';
  const values = {
    first: quoted(first.label),
    share: words.percent(first.share),
    second: quoted(second?.label),
    other: words.percent(second?.share ?? 0),
  };
  const leads = second?.share
    ? say('{first} leads with {share}, {second} follows with {other}.', values)
    : say('{first} leads with {share}.', values);
  return `${leads} ${entropy_words(state, view, words)}`;
}

/** @param {string} sentence */
const capital = sentence => sentence.replace(/^./u, first => first.toUpperCase());

/** The notices by priority: the first with something to say is shown. @type {Noticed[]} */
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
 * One sentence about the step on show; '' if there is nothing to look at.
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
