// What the loop band says of each of its boxes: this step's own figure, and a sentence for slow motion.

import { nothing_left } from '../view/emptied.js';
import {
  count,
  isolated,
  ms,
  percent,
  quoted,
  score_text,
  stage_label,
  stage_name,
  tokens,
} from './format.js';
import { is_cut_stage } from '../kernel/rules_cut.js';
import { BANS } from '../kernel/rules_edit.js';
import { stage_figure, stage_sentence } from './stages.js';

const HINT = 'Choose a stage to see the distribution as it stands there.';
const SLOW_HINT = 'Slow motion: Next stage begins the next step at its scores.';
/** Said of a step that took the highest score where the settings would draw. */
export const TAKEN_GREEDILY = 'taken greedily; Re-roll draws one';

/** The inspected step, null while it is still to be drawn. */
const recorded = (state, view) => (view.is_pending ? null : state.steps[view.index]) ?? null;

/** A step that took the highest score, looked at with settings that would draw. */
export function was_greedy(state, view) {
  const step = recorded(state, view);
  return (
    Boolean(step) &&
    !step.forced &&
    !view.greedy &&
    !view.draw &&
    !view.emptied_by &&
    (step.u ?? null) === null
  );
}

// --- figures ---------------------------------------------------------------------------------

function tokens_in(state, view) {
  const used = state.prompt_tokens.length + view.index;
  const limit = state.model?.context_length;
  return limit ? `${count(used)} of ${count(limit)}` : tokens(used);
}

/** A prefill reads the whole text; any later pass one token, all others are in the cache. */
function forward_pass(state, view) {
  const step = recorded(state, view);
  if (step?.reused) return 'from the record';
  const read = step?.positions ?? state.prompt_tokens.length + view.index;
  const is_prefill = step?.is_prefill ?? view.index === 0;
  if (state.negative_tokens) {
    const other = read - state.prompt_tokens.length + state.negative_tokens.length;
    return is_prefill
      ? `${count(read)} + ${count(other)} read`
      : `${count(read - 1)} + ${count(other - 1)} from cache`;
  }
  return is_prefill ? `${count(read)} read at once` : `${count(read - 1)} from cache + 1 new`;
}

function forward_time(state, view) {
  const step = recorded(state, view);
  if (!step || step.reused) return '';
  return (step.negative_forward_ms ?? null) === null
    ? ms(step.forward_ms)
    : `${ms(step.forward_ms)}, 2 passes`;
}

/**
 * What share of the probability those left held before they were scaled to 1; null where no distribution had
 * them so, because scores were changed between what the stages removed.
 */
function mass_kept(view) {
  const on = view.stages.filter(stage => stage.on);
  const removing = on.filter(stage => stage.mass_removed > 0);
  const between = on.slice(on.indexOf(removing[0]) + 1, on.indexOf(removing.at(-1)));
  if (removing.length > 1 && between.some(moves_scores)) return null;
  return removing.reduce((mass, stage) => mass * (1 - stage.mass_removed), 1);
}

/** Whether a stage changed odds, and did not only remove. */
export function moves_scores(stage) {
  if (!stage.on || stage.switched_off || is_cut_stage(stage) || BANS.includes(stage.name)) return false;
  const { edited_count } = stage.figures;
  return edited_count === undefined ? stage.before > 1 : edited_count > 0;
}

function softmax(state, view) {
  if (view.emptied_by) return 'none left';
  const mass = mass_kept(view);
  return mass === null || mass === 1 ? 'sum is 1' : `${percent(mass)} → 1`;
}

function is_revealed(state, view) {
  return !view.is_pending || state.point !== null || view.chosen !== null;
}

function drawn(state, view) {
  const step = recorded(state, view);
  if (step?.forced) return 'by hand';
  if (view.emptied_by) return 'nothing to draw';
  if (view.greedy) return 'the highest';
  if (was_greedy(state, view)) return 'taken greedily';
  const u = view.draw?.u ?? (step ?? state.row)?.u;
  return u === undefined || u === null ? '' : `u = ${u.toFixed(4)}`;
}

function append(state, view) {
  const step = recorded(state, view);
  return step ? isolated(step.label, 14) : 'to come';
}

const FIGURES = {
  tokens: tokens_in,
  forward: forward_pass,
  raw: (state, view) => tokens(view.vocab),
  renormalised: softmax,
  drawn,
  append,
};

/** What a box of the band shows below its name; `key` is the name of a point, or one of the band's own. */
export function figure_of(key, state, view) {
  if (key in FIGURES) return FIGURES[key](state, view);
  const stage = view.stages.find(({ name }) => name === key);
  return stage ? stage_figure(stage) : '';
}

/** What its title adds. */
export const more_of = (key, state, view) => (key === 'forward' ? forward_time(state, view) : '');

// --- sentences -------------------------------------------------------------------------------

/** Whether the logits on show are not the model's own, but those of guidance. */
export const is_guided = ({ row }) => Boolean(row?.guidance) && row.scale !== 1;

function raw_sentence(state, view) {
  const [first, second] = view.rows;
  const giver = is_guided(state) ? 'The model under guidance' : 'The model';
  const start = `${giver} gave each of its ${tokens(view.vocab)} a score`;
  if (!first || !second) return `${start}.`;
  const ahead = `${score_text(first.logit - second.logit)} ahead of ${quoted(second.label)}`;
  return `${start}; ${quoted(first.label)} leads with ${score_text(first.logit)}, ${ahead}.`;
}

/** What is said at the last two points where nobody is left. */
function emptied_sentence(view) {
  const { reason, remedy } = nothing_left(view);
  return `Nothing is left: ${reason}. ${remedy}`;
}

function softmax_sentence(state, view) {
  if (view.emptied_by) return emptied_sentence(view);
  const mass = mass_kept(view);
  const [leader] = view.leaders;
  const end = leader ? `: ${quoted(leader.label)} stands at ${percent(leader.share)}` : '';
  if (mass === 1) return `Scores become probabilities that sum to 1${end}.`;
  const left = view.kept === 1 ? 'one token' : tokens(view.kept);
  if (mass === null) return `The ${left} left are scaled to sum to 1 again${end}.`;
  return `The ${left} left held ${percent(mass)}; scaled up to sum to 1 again${end}.`;
}

function draw_sentence(state, view) {
  const step = recorded(state, view);
  if (step?.forced) return `${quoted(step.label)} was chosen by hand; no number was drawn.`;
  if (view.emptied_by) return emptied_sentence(view);
  if (view.greedy) return 'The highest score is taken; no random number is needed.';
  if (was_greedy(state, view)) return `${quoted(step.label)} was ${TAKEN_GREEDILY}.`;
  const draw = view.draw;
  if (!draw) return 'A random number u between 0 and 1 picks a token.';
  const range = `[${draw.from.toFixed(4)}, ${draw.to.toFixed(4)})`;
  if (!is_revealed(state, view)) return `u = ${draw.u.toFixed(4)} will pick a token.`;
  return `u = ${draw.u.toFixed(4)} falls into ${range}, the stretch of ${quoted(draw.label)}.`;
}

const SENTENCES = { raw: raw_sentence, renormalised: softmax_sentence, drawn: draw_sentence };

/** Where the walk stands: "Stage 3 of 7: temperature. Scores were divided by 0.7: …". */
export function point_sentence(state, view) {
  const { name, label } = view.points[view.point];
  const stage = view.stages.find(each => each.name === name);
  const title = stage ? stage_name(name) : label.toLowerCase();
  const sentence = stage ? stage_sentence(stage, view) : (SENTENCES[name]?.(state, view) ?? '');
  return `Stage ${view.point + 1} of ${view.points.length}: ${title}. ${sentence}`;
}

/** What the line says while no stage is looked at. */
export function hint(state, view) {
  if (state.manual && view.is_pending && view.chosen) {
    return `Proposed: ${quoted(view.chosen.label)}. Enter or Step accepts it; or choose another row.`;
  }
  return state.slow ? SLOW_HINT : HINT;
}

const LABELS = {
  tokens: 'Tokens in',
  forward: 'Forward pass',
  raw: 'Logits',
  renormalised: 'Softmax',
  drawn: 'Draw',
  append: 'Append',
};

/** The names of the boxes, for screen readers too. */
export const box_label = key => LABELS[key] ?? stage_label(key);
