// The draw: the final distribution from 0 to 1 with u on it, as a bar or a prize wheel; what the same u draws
// with other settings; and a thousand draws against what is expected. Everything over the full distribution.

import { element, set_attribute, set_live, set_text } from '../../lib/dom.js';
import { create_bar } from './bar.js';
import { create_counts } from './counts.js';
import { create_wheel } from './wheel.js';
import { nothing_left } from '../../view/emptied.js';
import { count, percent, quoted, tokens } from '../../words/format.js';
import { was_greedy } from '../loop.js';
import { Sampling, stretch_text, stretches_of, u_text } from '../../kernel/sampling.js';
import { chain_of, is_same_chain } from '../../kernel/shape.js';
import { context_of, has_u, shape_of } from '../../view/chain.js';

const DRAWS = 1000;
const NARROW = '(max-width: 700px)';
const NEARBY = '200px'; // what is so near to the screen is drawn before it scrolls into view

const PLAIN = 'Each token has a stretch of [0, 1) as long as its probability; u falls into one of them.';
const IDLE = `Draw ${count(DRAWS)} times to see how near counts come to probabilities.`;

/** The part with the figure `Draw`. */
export function create(root, actions) {
  let latest = { state: null, view: null, reason: 'step' };
  let is_near = true;
  let is_due = false; // something changed while nobody could see it
  let is_wheel = false;
  let sampled = null; // {sampling, values, chain, context, seed}: the draws, and what they are of

  const bar = create_bar();
  const wheel = create_wheel();
  const counts = create_counts();
  const choose = (text, shows_wheel) =>
    element('button', {
      type: 'button',
      text,
      onclick: () => {
        is_wheel = shows_wheel;
        draw();
      },
    });
  const pictures = [choose('Bar', false), choose('Wheel', true)];
  const many = element('button', { type: 'button', text: `Draw ${count(DRAWS)} times`, onclick: draw_many });
  const story = element('p', { class: 'dv-draw-story' });
  const result = element('p', { class: 'dv-draw-result', role: 'status' });
  const body = element(
    'div',
    { class: 'dv-draw-body' },
    element(
      'div',
      { class: 'dv-draw-controls' },
      element('div', { class: 'dv-draw-switch', role: 'group', 'aria-label': 'Picture' }, ...pictures),
      many,
    ),
    story,
    element('div', { class: 'dv-draw-picture' }, bar.node, wheel.node),
    counts.node,
    result,
  );
  const fold = element(
    'details',
    { class: 'dv-draw-fold', open: !window.matchMedia(NARROW).matches },
    element('summary', { text: 'The draw' }),
    body,
  );
  root.append(element('figure', { class: 'dv-draw', role: 'figure', 'aria-label': 'Draw' }, fold));
  fold.addEventListener('toggle', draw_if_due);
  const watch = new IntersectionObserver(
    entries => {
      is_near = entries.at(-1).isIntersecting;
      draw_if_due();
    },
    { rootMargin: NEARBY },
  );
  watch.observe(root);

  function update(state, view, reason) {
    latest = { state, view, reason };
    is_due = true;
    draw_if_due();
  }

  function draw_if_due() {
    if (is_due && is_near && fold.open) draw();
  }

  function draw() {
    is_due = false;
    const { state, view, reason } = latest;
    for (const [place, button] of pictures.entries()) {
      set_attribute(button, 'aria-pressed', String(is_wheel === (place === 1)));
    }
    bar.node.classList.toggle('dv-hidden', is_wheel);
    wheel.node.classList.toggle('dv-hidden', !is_wheel);
    if (!state) return;
    const obstacle = obstacle_of(state, view);
    const shaped = view && shape_of(state);
    const u = u_of(state, view, shaped);
    const hit = u === null ? null : shaped.final.rank_at(u);
    const shown = shaped?.final.count ? labelled(state, shaped.final, hit) : [];
    // Both, so that a change of picture is at once; the hidden one costs next to nothing.
    bar.update(shown, u);
    wheel.update(shown, u);
    const sampling = shaped && sampling_of(state);
    counts.update(shown, sampling);
    set_live(story, state, reason);
    set_text(story, view ? story_of(state, view, shaped, u, hit) : 'There are no scores here to draw from.');
    many.disabled = obstacle !== null;
    set_text(result, obstacle ?? (sampling ? describe(sampling) : IDLE));
  }

  /** The draws so far, where they are of the distribution on show. */
  function sampling_of(state) {
    const now = drawn_of(state);
    // XTC and mirostat make other distributions of the same scores where the context is another.
    const is_same =
      sampled?.values === now.values &&
      is_same_chain(sampled.chain, now.chain) &&
      sampled.context === now.context &&
      sampled.seed === now.seed;
    if (!is_same) sampled = null;
    return sampled?.sampling ?? null;
  }

  function draw_many() {
    const { state, view } = latest;
    if (obstacle_of(state, view) !== null) return;
    if (!sampling_of(state)) {
      const sampling = new Sampling(shape_of(state).final, state.settings.seed);
      sampled = { sampling, ...drawn_of(state) };
    }
    sampled.sampling.draw(DRAWS);
    draw();
  }

  return { update, destroy: () => watch.disconnect() };
}

/** What a thousand draws depend on. */
function drawn_of(state) {
  const { row, settings } = state;
  return { values: row.values, chain: chain_of(settings), context: context_of(state), seed: settings.seed };
}

/** Why there is nothing to draw a thousand times; null where there is. */
function obstacle_of(state, view) {
  if (!view) return 'No scores, no draws.';
  if (view.emptied_by) return 'Nobody is left to be drawn.';
  if (view.greedy) return 'Nothing is drawn: at temperature 0 a thousand times give the same token.';
  if (state.mode !== 'paused') return 'Pause to draw many times.';
  return view.exact ? null : `Only approximate here: ${view.inexact_because}`;
}

/** The number to draw with; null where nothing is drawn. */
function u_of({ row }, view, shaped) {
  const is_drawn = view && has_u(row) && !row.forced && !view.greedy && shaped.final.count;
  return is_drawn ? row.u : null;
}

/** The stretches with what pictures and table say of them. */
function labelled(state, final, hit) {
  return stretches_of(final, hit).map(stretch => {
    const { first, last } = stretch;
    const is_one = first === last;
    const label = is_one ? label_of(state, final, first) : `${count(last - first + 1)} others`;
    return { ...stretch, is_one, label, is_hit: first === hit && is_one };
  });
}

function label_of({ row, steps }, { ranking, start }, rank) {
  const id = ranking.id_at(rank);
  if (id === null) return `rank ${count(rank - start)}`;
  return row.labels.get(id) ?? (row.chosen === id ? steps[row.index]?.label : undefined) ?? `id ${id}`;
}

// --- in words --------------------------------------------------------------------------------------------

function story_of(state, view, shaped, u, hit) {
  const step = view.is_pending ? null : state.steps[view.index];
  const emptied = nothing_left(view);
  if (emptied) return `Nothing can be drawn: ${emptied.reason}. ${emptied.remedy}`;
  if (view.greedy) return 'Temperature 0 is greedy: nothing is drawn, the highest score is taken.';
  if (step?.forced) return `${quoted(step.label)} was chosen by hand: nothing was drawn. ${PLAIN}`;
  if (was_greedy(state, view)) return `The step took the highest score: nothing was drawn. ${PLAIN}`;
  if (u === null) return PLAIN;
  const name = quoted(label_of(state, shaped.final, hit));
  const { from, to } = shaped.draw(u);
  const lies = `its stretch is ${stretch_text(from, to)}, ${percent(to - from)} of all`;
  const number = `u = ${u_text(u)}`;
  if (!step) return `The next step has ${number}: with these settings it draws ${name}; ${lies}.`;
  if (view.as_recorded) return `${number} drew ${name}; ${lies}.`;
  const is_same = shaped.final.ranking.id_at(hit) === state.row.chosen;
  const now = `Same u, other settings: ${number} ${is_same ? 'still' : 'now'} draws ${name}`;
  return is_same
    ? `${now}, as the step did; ${lies}.`
    : `${now}, where the step drew ${quoted(step.label)}; now ${lies}.`;
}

function describe(sampling) {
  const { total, seed, counts, variation, usual_variation } = sampling;
  return (
    `${count(total)} draws gave ${tokens(counts.size)} (xoshiro128**, seed ${count(seed)}). ` +
    `Total variation distance ${variation.toFixed(4)}: ${percent(variation)} of the draws would have to ` +
    'fall elsewhere to match every probability. ' +
    `Chance alone leaves ${usual_variation.toFixed(4)} on average.`
  );
}
