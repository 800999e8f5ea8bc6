// The loop band: one iteration from the tokens in to the token appended, with this step's own figures.
// In slow motion it says where the walk through the stages stands, and leads on.

import { element, set_attribute, set_class, set_live, set_text } from './dom.js';
import {
  bits, count, isolated, ms, percent, quoted, score_text, stage_label, stage_name, tokens,
} from './format.js';
import { seen_count } from './shape.js';

const FASTEST_LIT = 3; // tokens a second: beyond that a wave of light would only flicker
const HINT = 'Choose a stage to see the distribution as it stands there.';
const SLOW_HINT = 'Slow motion: Next stage begins the next step at its scores.';
/** Said of a step that took the highest score where the settings would draw. */
export const TAKEN_GREEDILY = 'taken greedily; Re-roll draws one';
const ALWAYS = ['raw', 'renormalised', 'drawn']; // points of every chain

/** The parts of the band in order; those without `point` are no points of the chain, plain text. */
const ITEMS = [
  { key: 'tokens', label: 'Tokens in', figure: tokens_in },
  { key: 'forward', label: 'Forward pass', figure: forward_pass, more: forward_time },
  { key: 'raw', label: 'Logits', point: true, figure: (state, view) => tokens(view.vocab) },
  { key: 'repetition_penalty', label: stage_label('repetition_penalty'), point: true, figure: penalty },
  { key: 'temperature', label: stage_label('temperature'), point: true, figure: temperature },
  { key: 'top_k', label: stage_label('top_k'), point: true, figure: left_over },
  { key: 'top_p', label: stage_label('top_p'), point: true, figure: left_over },
  { key: 'min_p', label: stage_label('min_p'), point: true, figure: left_over },
  { key: 'renormalised', label: 'Softmax', point: true, figure: softmax },
  { key: 'drawn', label: 'Draw', point: true, figure: drawn },
  { key: 'append', label: 'Append', figure: append },
];

/** A setting as it was set; commas where it is large. */
const plain = value => (value >= 1000 ? count(value) : String(value));

/** The inspected step, null while it is still to be drawn. */
const recorded = (state, view) => (view.is_pending ? null : state.steps[view.index]) ?? null;

/** A step that took the highest score, looked at with settings that would draw. */
export function was_greedy(state, view) {
  const step = recorded(state, view);
  return Boolean(step) && !step.forced && !view.greedy && !view.draw && (step.u ?? null) === null;
}

/** Of what a stage has removed its share: the whole mass, or what earlier cuts had left of it. */
export function whole_of(view, stage) {
  const earlier = view.stages.slice(0, view.stages.indexOf(stage));
  return earlier.some(each => each.after < each.before) ? 'what was left' : 'the mass';
}

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
  return is_prefill ? `${count(read)} read at once` : `${count(read - 1)} from cache + 1 new`;
}

function forward_time(state, view) {
  const step = recorded(state, view);
  return step && !step.reused ? ms(step.forward_ms) : '';
}

function penalty(state, view, stage) {
  return `factor ${plain(stage.value)}`;
}

function temperature(state, view, stage) {
  return stage.value === 0 ? 'greedy' : `scores ÷ ${plain(stage.value)}`;
}

function left_over(state, view, stage) {
  return `${count(stage.after)} left`;
}

/** What share of the probability the survivors held, before they were scaled to 1: over all cuts. */
function mass_kept(view) {
  return view.stages.reduce((mass, stage) => (stage.on ? mass * (1 - stage.mass_removed) : mass), 1);
}

function softmax(state, view) {
  const mass = mass_kept(view);
  return mass === 1 ? 'sum is 1' : `${percent(mass)} → 1`;
}

function is_revealed(state, view) {
  return !view.is_pending || state.point !== null || view.chosen !== null;
}

function drawn(state, view) {
  const step = recorded(state, view);
  if (step?.forced) return 'by hand';
  if (view.greedy) return 'the highest';
  if (was_greedy(state, view)) return 'taken greedily';
  const u = view.draw?.u ?? (step ?? state.row)?.u;
  return u === undefined || u === null ? '' : `u = ${u.toFixed(4)}`;
}

function append(state, view) {
  const step = recorded(state, view);
  return step ? isolated(step.label, 14) : 'to come';
}

const place_of = (view, name) => view.points.findIndex(point => point.name === name);

function penalty_sentence(state, view, stage) {
  const seen = tokens(seen_count(state, view.index));
  const result = stage.value > 1 ? 'fell' : 'rose';
  const how = `positive scores were divided by ${plain(stage.value)}, negative ones multiplied`;
  return `${seen} of the text so far ${result}: ${how}.`;
}

function temperature_sentence(state, view, stage) {
  if (stage.value === 0) return 'Temperature 0 is greedy: the highest score alone stays, nothing is divided.';
  const effect = stage.value < 1 ? 'gaps grow, the leader gains' : 'gaps shrink, the tail gains';
  const change = `entropy ${stage.entropy_before.toFixed(2)} → ${bits(stage.entropy_after)}`;
  return `Scores were divided by ${plain(stage.value)}: ${effect} (${change}).`;
}

function cut_sentence(state, view, stage) {
  const share = `${Number((stage.value * 100).toFixed(4))} %`;
  const some = `The ${count(stage.value)} highest scores stay`;
  const highest = stage.value === 1 ? 'Only the highest score stays' : some;
  const rule = {
    top_k: highest,
    top_p: `The fewest tokens that together hold ${share} stay`,
    min_p: `Tokens stay that are at least ${share} as likely as the leader`,
  }[stage.name];
  const removed = stage.before - stage.after;
  if (removed === 0 && stage.after === 1) return `${rule}: a single token was left anyway.`;
  if (removed === 0) return `${rule}: here that is all ${count(stage.after)}, so nothing changes.`;
  const tied = stage.tied > 0 ? `, ${count(stage.tied)} of them tied with the last` : '';
  const went = `${tokens(removed)} with ${percent(stage.mass_removed)} of ${whole_of(view, stage)} went`;
  return `${rule}: ${count(stage.before)} → ${count(stage.after)}${tied}; ${went}.`;
}

function raw_sentence(state, view) {
  const [first, second] = view.rows;
  const start = `The model gave each of its ${tokens(view.vocab)} a score`;
  if (!first || !second) return `${start}.`;
  const ahead = `${score_text(first.logit - second.logit)} ahead of ${quoted(second.label)}`;
  return `${start}; ${quoted(first.label)} leads with ${score_text(first.logit)}, ${ahead}.`;
}

function softmax_sentence(state, view) {
  const mass = mass_kept(view);
  const leader = view.rows.find(row => row.final_prob > 0);
  const end = leader ? `: ${quoted(leader.label)} stands at ${percent(leader.final_prob)}` : '';
  if (mass === 1) return `Scores become probabilities that sum to 1${end}.`;
  const left = view.kept === 1 ? 'one token' : tokens(view.kept);
  return `The ${left} left held ${percent(mass)}; scaled up to sum to 1 again${end}.`;
}

function draw_sentence(state, view) {
  const step = recorded(state, view);
  if (step?.forced) return `${quoted(step.label)} was chosen by hand; no number was drawn.`;
  if (view.greedy) return 'The highest score is taken; no random number is needed.';
  if (was_greedy(state, view)) return `${quoted(step.label)} was ${TAKEN_GREEDILY}.`;
  const draw = view.draw;
  if (!draw) return 'A random number u between 0 and 1 picks a token.';
  const range = `[${draw.from.toFixed(4)}, ${draw.to.toFixed(4)})`;
  if (!is_revealed(state, view)) return `u = ${draw.u.toFixed(4)} will pick a token.`;
  return `u = ${draw.u.toFixed(4)} falls into ${range}, the stretch of ${quoted(draw.label)}.`;
}

const SENTENCES = {
  raw: raw_sentence,
  repetition_penalty: penalty_sentence,
  temperature: temperature_sentence,
  top_k: cut_sentence,
  top_p: cut_sentence,
  min_p: cut_sentence,
  renormalised: softmax_sentence,
  drawn: draw_sentence,
};

/** What the line says while no stage is looked at. */
function hint(state, view) {
  if (state.manual && view.is_pending && view.chosen) {
    return `Proposed: ${quoted(view.chosen.label)}. Enter or Step accepts it; or choose another row.`;
  }
  return state.slow ? SLOW_HINT : HINT;
}

/** Where the walk stands: "Stage 3 of 7: temperature. Scores were divided by 0.7: …". */
function stage_sentence(state, view) {
  const { name, label } = view.points[view.point];
  const title = stage_name(name) === name ? label.toLowerCase() : stage_name(name);
  const stage = view.stages.find(each => each.name === name);
  const sentence = SENTENCES[name]?.(state, view, stage) ?? '';
  return `Stage ${view.point + 1} of ${view.points.length}: ${title}. ${sentence}`;
}

function make_item(item, on_click) {
  const line = element('span', { class: 'dv-loop-figure' });
  const inside = [element('span', { class: 'dv-loop-name', text: item.label }), line];
  const box = item.point
    ? element('button', {
      type: 'button', class: 'dv-loop-box', 'aria-label': `Stage: ${item.label}`,
      onclick: () => on_click(item.key),
    }, ...inside)
    : element('div', { class: 'dv-loop-box' }, ...inside);
  const node = element('li', { class: 'dv-loop-item', 'data-part-of-loop': item.key }, box);
  return { ...item, line, box, node };
}

/** Keep the stage that is looked at in sight inside the band; the page itself never scrolls. */
function bring_into_sight(track, node) {
  if (track.scrollWidth <= track.clientWidth) return;
  const left = node.offsetLeft - track.offsetLeft - (track.clientWidth - node.offsetWidth) / 2;
  track.scrollTo({ left: Math.max(0, left) });
}

/** The band, and below it the line that says what the looked-at stage did. */
export function create(root, actions) {
  let view_now = null;
  let state_now = null;
  let last_length = 0;
  let last_run = '';
  let last_point = null;
  let wave = 0;

  const choose = key => {
    if (!view_now) return;
    const place = place_of(view_now, key);
    if (place >= 0) actions.show({ point: state_now.point === place ? null : place });
  };
  const button = (text, run, look) => element('button', { type: 'button', text, onclick: run, class: look });
  const items = ITEMS.map(item => make_item(item, choose));
  const track = element(
    'ol',
    { class: 'dv-loop-track', 'aria-label': 'One step of the loop', 'data-wave': '0' },
    ...items.map(item => item.node),
  );
  const sentence = element('p', { class: 'dv-loop-sentence', 'aria-live': 'polite' });
  const next = button('Next stage', () => actions.next_stage(), 'dv-primary');
  const skip = button('Skip to the end', () => actions.skip_stages());
  const walk = element('div', { class: 'dv-loop-walk' }, next, skip);
  const line = element('div', { class: 'dv-loop-line' }, sentence, walk);
  root.append(track, line);

  /** A step that ran by itself lights the stages in turn; only for the eye, nothing waits for it. */
  function light_up(state) {
    const has_grown = state.run === last_run && state.steps.length === last_length + 1;
    const is_slow_enough = state.speed > 0 && state.speed <= FASTEST_LIT;
    const is_watched = state.mode === 'paused' || (state.mode === 'playing' && is_slow_enough);
    if (has_grown && is_watched && !state.slow && state.index === last_length) {
      wave = wave === 1 ? 2 : 1; // two equal animations by turns: changing the name starts it again
      set_attribute(track, 'data-wave', wave);
    }
    last_length = state.steps.length;
    last_run = state.run;
  }

  function update_item(item, state, view) {
    const place = item.point && view ? place_of(view, item.key) : -1;
    const stage = view?.stages.find(each => each.name === item.key);
    const is_shown = !item.point || place >= 0 || (!view && ALWAYS.includes(item.key));
    const is_lit = state.point !== null && place >= 0 && place === view.point;
    const is_later = place >= 0 && place > view.point;
    const looks = [is_shown ? '' : ' dv-hidden', is_lit ? ' dv-lit' : '', is_later ? ' dv-later' : ''];
    set_class(item.node, `dv-loop-item${looks.join('')}`);
    if (!is_shown) return;
    const figure = view ? item.figure(state, view, stage) : '';
    const more = view ? item.more?.(state, view) : '';
    set_text(item.line, figure);
    set_attribute(item.box, 'title', more ? `${figure} · ${more}` : figure);
    if (!item.point) return;
    set_attribute(item.box, 'aria-current', is_lit ? 'step' : null);
    set_attribute(item.box, 'aria-description', figure || null);
    set_attribute(item.box, 'disabled', !view);
    if (is_lit && last_point !== state.point) bring_into_sight(track, item.node);
  }

  function update_walk(state, view, reason) {
    const is_over = Boolean(state.stop?.is_over);
    set_class(walk, state.slow ? 'dv-loop-walk' : 'dv-loop-walk dv-hidden');
    set_attribute(next, 'disabled', is_over);
    set_attribute(skip, 'disabled', is_over || state.point === null || !view?.is_pending);
    // Stages have sentences of different lengths: only where they follow each other is room kept for all.
    set_class(line, state.slow || state.point !== null ? 'dv-loop-line dv-loop-told' : 'dv-loop-line');
    set_live(sentence, state, reason);
    if (!view) set_text(sentence, '');
    else if (state.point !== null) set_text(sentence, stage_sentence(state, view));
    else set_text(sentence, hint(state, view));
  }

  return {
    update(state, view, reason) {
      state_now = state;
      view_now = view;
      light_up(state);
      for (const item of items) update_item(item, state, view);
      update_walk(state, view, reason);
      last_point = state.point;
    },
  };
}
