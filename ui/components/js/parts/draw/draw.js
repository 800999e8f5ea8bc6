// The draw enlarged: the final distribution from 0 to 1 with u on it, as a bar or a prize wheel; and a thousand draws
// compared with the expected counts. Everything covers the full distribution.

import { Sampling, stretches_of } from '../../kernel/sampling.js';
import { element, set_attribute, set_live, set_text } from '../../lib/dom.js';
import { on_show } from '../../view/what_if.js';
import { nothing_left } from '../../words/chain.js';
import { count, percent, quoted, stretch_text, tokens, u_text } from '../../words/format.js';
import { marked, say, with_figures } from '../../words/say.js';
import { create_bar } from './bar.js';
import { create_counts } from './counts.js';
import { create_wheel } from './wheel.js';

/** @import { Reason, State, View } from '../../types.js' */
/** @import { Stretch } from './bar.js' */
/**
 * @typedef {Pick<State, 'view' | 'row' | 'table' | 'settings' | 'steps' | 'prompt_tokens' | 'mode' | 'model' | 'manual' | 'is_what_if' | 'guidance_scale' | 'row_count' | 'remarks' | 'point'>} Properties
 */

const DRAWS = 1000;
const PLAIN = marked(
  'Each token has a stretch of [0, 1) as long as its probability. The number u falls into one of these.',
);

/** The part with the figure `Draw`. @param {HTMLElement} root @param {object} _actions */
export function create(root, _actions) {
  /** @type {[Properties, Reason]|null} */
  let latest = null;
  let is_wheel = false;
  /** The draws so far. @type {Sampling|null} */
  let sampled = null;

  const bar = create_bar();
  const wheel = create_wheel();
  const counts = create_counts();
  /** @param {string} text @param {boolean} shows_wheel */
  const choose = (text, shows_wheel) =>
    element('button', {
      type: 'button',
      class: 'dv-quiet',
      text,
      onclick: () => {
        is_wheel = shows_wheel;
        draw();
      },
    });
  const pictures = [choose(say('Bar'), false), choose(say('Wheel'), true)];
  const many = element('button', {
    type: 'button',
    text: say('Draw {count} times', { count: count(DRAWS) }),
    onclick: draw_many,
  });
  const story = element('p');
  const result = element('p', { class: 'dv-muted', role: 'status' });
  root.append(
    element(
      'figure',
      { class: 'dv-draw', role: 'figure', 'aria-label': say('Draw') },
      element(
        'div',
        { class: 'dv-draw-controls' },
        element('div', { role: 'group', 'aria-label': say('Picture of the draw') }, ...pictures),
        many,
      ),
      story,
      bar.node,
      wheel.node,
      counts.node,
      result,
    ),
  );

  function draw() {
    if (!latest) return;
    const [state, reason] = latest;
    const { view } = state;
    for (const [place, button] of pictures.entries())
      set_attribute(button, 'aria-pressed', String(is_wheel === (place === 1)));
    bar.node.classList.toggle('dv-hidden', is_wheel);
    wheel.node.classList.toggle('dv-hidden', !is_wheel);
    const { row } = state;
    const shaped = view && row ? on_show({ ...state, row }).shaped : null;
    const u = view ? u_of(state, view) : null;
    const hit = u === null || !shaped ? null : shaped.final.rank_at(u);
    const shown = shaped?.final.count ? labelled(state, shaped.final, hit) : [];
    bar.update(is_wheel ? [] : shown, u);
    wheel.update(is_wheel ? shown : [], u);
    const sampling = shaped ? sampling_of(state) : null;
    counts.update(shown, sampling);
    set_live(story, state, reason);
    set_text(
      story,
      view && shaped ? story_of(state, view, shaped, u, hit) : say('There are no scores here to draw from.'),
    );
    const obstacle = obstacle_of(state);
    many.disabled = obstacle !== null;
    set_text(result, obstacle ?? (sampling ? describe(sampling) : idle()));
  }

  /** The draws so far, if they belong to the distribution on show. @param {Properties} state */
  function sampling_of(state) {
    if (sampled?.final !== final_of(state) || sampled?.seed !== seed_of(state)) sampled = null;
    return sampled;
  }

  function draw_many() {
    if (!latest) return;
    const [state] = latest;
    const final = final_of(state);
    if (obstacle_of(state) !== null || !final) return;
    sampled = sampling_of(state) ?? new Sampling(final, seed_of(state));
    sampled.draw(DRAWS);
    draw();
    counts.node.scrollIntoView?.({ block: 'nearest' }); // on a low screen it is below the picture
  }

  return {
    /** @param {Properties} state @param {Reason} reason */
    update(state, reason) {
      latest = [state, reason];
      draw();
    },
  };
}

/** The tokens in the draw on show: the same object as long as their inputs do not change. @param {Properties} state */
const final_of = ({ row, ...state }) => (row ? on_show({ ...state, row }).shaped.final : null);

/** @param {Properties} state */
const seed_of = ({ settings }) => Number(settings.seed ?? 0);

/** The reason why a thousand draws are impossible; null if they are possible. @param {Properties} state */
function obstacle_of({ view, mode }) {
  if (!view) return 'No scores, no draws.';
  if (view.emptied_by) return 'No tokens left to draw.';
  if (view.greedy) return say('Nothing is drawn at temperature 0: every draw would give the same token.');
  if (mode !== 'paused') return say('Pause to draw many times.');
  return view.exact ? null : say('The whole row has not come yet.');
}

/** The number to draw with; null if nothing is drawn. @param {Properties} state @param {View} view */
function u_of({ row }, view) {
  return row && row.u !== null && row.u !== undefined && !row.forced && !view.greedy && view.kept ? row.u : null;
}

/**
 * The stretches with their texts for pictures and table.
 *
 * @param {Properties} state
 * @param {any} final
 * @param {number|null} hit
 * @returns {Stretch[]}
 */
function labelled(state, final, hit) {
  return stretches_of(final, hit).map(stretch => {
    const { first, last } = stretch;
    const is_one = first === last;
    return {
      ...stretch,
      is_one,
      label: is_one ? label_of(state, final, first) : say('{count} others', { count: count(last - first + 1) }),
      is_hit: first === hit && is_one,
    };
  });
}

/** @param {Properties} state @param {any} final @param {number} rank */
function label_of({ row, steps }, { ranking }, rank) {
  const id = ranking.id_at(rank);
  if (id === null) return say('rank {rank}', { rank: count(rank) });
  return row?.labels.get(id) ?? (row && row.chosen === id ? steps[row.index]?.label : undefined) ?? `id ${id}`;
}

/** @param {Properties} state @param {View} view @param {any} shaped @param {number|null} u @param {number|null} hit */
function story_of(state, view, shaped, u, hit) {
  const emptied = nothing_left(view, state.table);
  if (emptied) return say('No tokens left to draw: {reason}. {remedy}', { ...emptied });
  if (view.greedy) return say('Temperature 0 is greedy: nothing is drawn, the highest score is taken.');
  const step = view.is_pending ? null : state.steps[view.index];
  if (step && 'forced' in step && step.forced)
    return `${say('{token} was forced: nothing was drawn.', { token: quoted(step.label) })} ${say(PLAIN)}`;
  if (u === null || hit === null) return say(PLAIN);
  const name = quoted(label_of(state, shaped.final, hit));
  const { from, to } = shaped.draw(u);
  const values = { u: u_text(u), token: name, stretch: stretch_text(from, to), share: percent(to - from) };
  if (!step)
    return say(
      'The next step has u = {u}. With these settings it draws {token}: its stretch is {stretch}, {share} of all.',
      values,
    );
  if (!view.what_if) return say('u = {u} drew {token}: its stretch is {stretch}, {share} of all.', values);
  const with_fact = { ...values, fact: quoted(view.what_if.label) };
  return view.draw?.same
    ? say(
        'What if: with these settings u = {u} would still draw {token}: its stretch is {stretch}, {share} of all. In fact {fact} was drawn.',
        with_fact,
      )
    : say(
        'What if: with these settings u = {u} would draw {token}: its stretch is {stretch}, {share} of all. In fact {fact} was drawn.',
        with_fact,
      );
}

const idle = () => say('Draw {count} times to see how near counts come to probabilities.', { count: count(DRAWS) });

/** @param {Sampling} sampling */
function describe({ total, seed, counts, variation, usual_variation }) {
  return say(
    '{draws} draws gave {tokens} (xoshiro128**, seed {seed}). Total variation distance {distance}: {share} of the draws would have to fall elsewhere to match every probability. Chance alone leaves {usual} on average.',
    {
      draws: count(total),
      tokens: tokens(counts.size),
      seed: count(seed),
      distance: with_figures(variation.toFixed(4)),
      share: percent(variation),
      usual: with_figures(usual_variation.toFixed(4)),
    },
  );
}
