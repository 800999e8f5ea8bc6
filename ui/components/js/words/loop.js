// Texts of the loop band for each of its stages: this step's own figure, and a sentence for slow motion.

import { in_text_of, label_of, sampler_of } from '../kernel/table.js';
import { nothing_left } from './chain.js';
import { count, formats, isolated, ms, quoted, stretch_text, tokens } from './format.js';
import { marked, say } from './say.js';
import { sampler_sentence } from './sentences.js';

/**
 * @import { SamplerView, State, Step, Table, View } from '../types.js'
 */

/**
 * The inspected step; null while it is still to be drawn.
 *
 * @param {State} state
 * @param {View} view
 * @returns {Step | null}
 */
const recorded = (state, view) => (view.is_pending ? null : state.steps[view.index]) ?? null;

/**
 * Tell if a step took the highest score and is shown with settings that would draw.
 *
 * @param {State} state
 * @param {View} view
 */
export function was_greedy(state, view) {
  const step = recorded(state, view);
  return step !== null && !step.forced && !view.greedy && !view.draw && !view.emptied_by && step.u === null;
}

// --- figures --------------------------------------------------------------------------------------

/** @typedef {(state: State, view: View) => string} Said */

/** @type {Said} */
function tokens_in(state, view) {
  const used = state.prompt_tokens.length + view.index;
  const limit = state.model?.context_length;
  return limit ? say('{one} of {all}', { one: count(used), all: count(limit) }) : tokens(used);
}

/**
 * Describe the pass. A prefill reads the whole text; a later pass reads one token, as the others are cached.
 *
 * @type {Said}
 */
function forward_pass(state, view) {
  const step = recorded(state, view);
  if (step?.reused) return say('not needed again');
  const read = step?.positions ?? state.prompt_tokens.length + view.index;
  const cached = (view.index === 0 && state.from_cache) || read - 1;
  const is_prefill = step?.is_prefill ?? (view.index === 0 && !state.from_cache);
  if (state.negative_tokens) {
    const other = read - state.prompt_tokens.length + state.negative_tokens.length;
    return is_prefill
      ? say('{one} + {other} read', { one: count(read), other: count(other) })
      : say('{one} + {other} from cache', { one: count(read - 1), other: count(other - 1) });
  }
  return is_prefill
    ? say('{count} read at once', { count: count(read) })
    : say('{count} from cache + {read} new', { count: count(cached), read: count(read - cached) });
}

/** @type {Said} */
function forward_time(state, view) {
  const step = recorded(state, view);
  if (!step || step.reused) return '';
  if (step.network_ms != null) return say('{time} on the server', { time: ms(step.forward_ms - step.network_ms) });
  return step.negative_forward_ms == null
    ? ms(step.forward_ms)
    : say('{time}, 2 passes', { time: ms(step.forward_ms) });
}

/**
 * The share of the probability that the remaining tokens held before rescaling to 1. Null if no distribution contained
 * them so, because scores were changed between removals.
 *
 * @param {View} view
 */
function mass_kept({ samplers }) {
  const on = samplers.filter(sampler => sampler.on);
  const removing = on.filter(sampler => sampler.mass_removed > 0);
  const between = on.slice(on.indexOf(removing[0]) + 1, on.indexOf(removing[removing.length - 1]));
  if (removing.length > 1 && between.some(sampler => sampler.changes_scores)) return null;
  return removing.reduce((mass, sampler) => mass * (1 - sampler.mass_removed), 1);
}

/** @type {Said} */
function softmax(state, view) {
  if (view.emptied_by) return say('none left');
  const mass = mass_kept(view);
  return mass === null || mass === 1 ? say('sum is 1') : `${formats(state.digits).percent(mass)} → 1`;
}

/** Tell if the draw is still to come in slow motion. @param {State} state @param {View} view */
const is_to_come = (state, view) => state.slow && view.is_pending && view.points[view.point].kind !== 'draw';

/** @type {Said} */
function drawn(state, view) {
  const step = recorded(state, view);
  if (step?.forced) return say('by hand');
  if (view.emptied_by) return say('nothing to draw');
  if (view.greedy) return say('the highest');
  if (is_to_come(state, view)) return say('to come');
  if (was_greedy(state, view)) return say('taken greedily');
  const u = view.draw?.u ?? (step ?? state.row)?.u ?? null;
  return u === null ? '' : `u = ${formats(state.digits).u(u)}`;
}

/** @type {Said} */
function append(state, view) {
  const step = recorded(state, view);
  return step ? isolated(step.label, 14) : say('to come');
}

/** @type {Record<string, Said>} */
const FIGURES = {
  tokens: tokens_in,
  forward: forward_pass,
  raw: ({ row }, view) =>
    row?.listed
      ? say('{one} of {all} named', { one: count(row.listed.count), all: count(view.vocab) })
      : tokens(view.vocab),
  renormalised: softmax,
  drawn,
  append,
};

/**
 * A sampler's effect, in the few words that fit its box.
 *
 * @param {SamplerView} sampler
 * @param {Table} table
 */
function sampler_figure(sampler, table) {
  const { kind, value, figures } = sampler;
  if (sampler.before === 0 || sampler.after === 0) return say('none left');
  if (sampler.no_effect) return say('no effect');
  if (sampler.case === 'greedy') return say('greedy');
  if (kind === 'cut') return say('{count} left', { count: count(sampler.after) });
  const { number, score } = formats();
  if (kind === 'scale')
    return typeof value === 'number' ? `÷ ${number(value)}` : `÷ ${score(Number(figures.temperature))}`;
  const moved = Number(figures.moved);
  if (!moved) return say('none here');
  if (sampler_of(table, sampler.name)?.removes_only) return say('{count} banned', { count: count(moved) });
  if (figures.rose === 0) return say('{count} lowered', { count: count(moved) });
  return figures.rose === moved
    ? say('{count} raised', { count: count(moved) })
    : say('{count} changed', { count: count(moved) });
}

/**
 * The text of a band's box below its name.
 *
 * @param {string} key the name of a point or of one of the band's boxes
 * @param {State} state
 * @param {View} view
 */
export function figure_of(key, state, view) {
  if (key in FIGURES) return FIGURES[key](state, view);
  const sampler = view.samplers.find(({ name }) => name === key);
  return sampler?.on ? sampler_figure(sampler, state.table) : '';
}

/** The addition in the box's title. @param {string} key @param {State} state @param {View} view */
export const more_of = (key, state, view) => (key === 'forward' ? forward_time(state, view) : '');

// --- sentences ------------------------------------------------------------------------------------

/** @type {Said} */
function raw_sentence(state, view) {
  const { score } = formats(state.digits);
  const [first, second] = view.model_leaders;
  const start = view.is_guided
    ? say('The model under guidance gives each of its {tokens} a score, its logit.', { tokens: tokens(view.vocab) })
    : say('The model gives each of its {tokens} a score, its logit.', { tokens: tokens(view.vocab) });
  if (!first || !second) return start;
  const leads = say('{first} leads with {score}, {gap} ahead of {second}.', {
    first: quoted(first.label),
    score: score(first.logit),
    gap: score(first.logit - second.logit),
    second: quoted(second.label),
  });
  return `${start} ${leads}`;
}

/** The sentence at the last two points if no token is left. @param {State} state @param {View} view */
function emptied_sentence(state, view) {
  const nothing = nothing_left(view, state.table);
  return nothing ? say('No token is left: {reason}. {remedy}', { ...nothing }) : '';
}

/** @type {Said} */
function softmax_sentence(state, view) {
  if (view.emptied_by) return emptied_sentence(state, view);
  const { percent } = formats(state.digits);
  const mass = mass_kept(view);
  const [leader] = view.leaders;
  const end = leader
    ? say('{token} has {probability}.', { token: quoted(leader.label), probability: percent(leader.share) })
    : '';
  return `${what_softmax_does(view, mass, percent)} ${end}`.trim();
}

/** @param {View} view @param {number | null} mass @param {(share: number) => string} percent */
function what_softmax_does(view, mass, percent) {
  if (mass === 1) return say('The softmax turns scores into probabilities that sum to 1.');
  const values = { tokens: tokens(view.kept), mass: percent(mass ?? 0) };
  if (mass === null)
    return view.kept === 1
      ? say('The one token left now has the whole probability.')
      : say('The {tokens} left now share the whole probability.', values);
  return view.kept === 1
    ? say('The only remaining token had {mass} of the probability; scaled up, it has all.', values)
    : say('The {tokens} left had {mass} of the probability; scaled up, they sum to 1.', values);
}

/** @type {Said} */
function draw_sentence(state, view) {
  const step = recorded(state, view);
  if (step?.forced) return say('{token} was chosen by hand; no number was drawn.', { token: quoted(step.label) });
  if (view.emptied_by) return emptied_sentence(state, view);
  if (view.greedy) return say('The highest score is taken; no random number is needed.');
  if (step && was_greedy(state, view))
    return say('{token} was taken greedily; press Re-roll to draw a token.', { token: quoted(step.label) });
  const { draw, what_if } = view;
  if (!draw) return say('A random number u between 0 and 1 picks a token.');
  const u = `u = ${formats(state.digits).u(draw.u)}`;
  const is_revealed = !view.is_pending || state.point !== null || view.chosen !== null;
  if (!is_revealed) return say('{u} will pick a token.', { u });
  const range = stretch_text(draw.from, draw.to);
  const values = { u, range, token: quoted(draw.label), taken: quoted(what_if?.label) };
  return what_if && !draw.same
    ? say('{u} would fall into {range}, the stretch of {token}. In fact it picked {taken}.', values)
    : say('{u} falls into {range}, the stretch of {token}.', values);
}

/** The names inside a sentence of points that are not samplers. @type {Record<string, string>} */
const TITLES = { raw: marked('logits'), renormalised: marked('softmax'), drawn: marked('draw') };

/** @type {Record<string, Said>} */
const SENTENCES = { raw: raw_sentence, renormalised: softmax_sentence, drawn: draw_sentence };

/**
 * The current stage of the walk: "Stage 3 of 7: temperature. Temperature divides all scores by 0.7 ...".
 *
 * @param {State} state
 * @param {View} view
 */
export function point_sentence(state, view) {
  const { name } = view.points[view.point];
  const sampler = view.samplers.find(each => each.name === name);
  const title = sampler ? in_text_of(state.table, name) : say(TITLES[name]);
  const sentence = sampler
    ? sampler_sentence(sampler, view, state.table, state.digits)
    : (SENTENCES[name]?.(state, view) ?? '');
  return say('Stage {place} of {all}: {title}. {sentence}', {
    place: view.point + 1,
    all: view.points.length,
    title,
    sentence,
  });
}

/** The line's text while no stage is inspected. @param {State} state @param {View} view */
export function hint(state, view) {
  if (state.manual && view.is_pending && view.chosen) {
    return say('Proposed: {token}. Press Enter or Step to accept it, or choose another row.', {
      token: quoted(view.chosen.label),
    });
  }
  return state.slow
    ? say('Slow motion: press Next stage to begin the next step.')
    : say('Click a stage to see the scores at that point.');
}

/** @type {Record<string, string>} */
const LABELS = {
  tokens: marked('Tokens in'),
  forward: marked('Forward pass'),
  raw: marked('Logits'),
  renormalised: marked('Softmax'),
  drawn: marked('Draw'),
  append: marked('Append'),
};

/** The names of the boxes, for screen readers too. @param {string} key @param {Table} table */
export const box_label = (key, table) => (LABELS[key] ? say(LABELS[key]) : label_of(table, key));
