// The tour: four stops that lead a newcomer to a first distribution they understand, and its end.

import { formats, isolated, tokens, u_text } from './format.js';
import { say } from './say.js';

/**
 * @import { State, Tour, TourEvent, View } from '../types.js'
 *
 * @typedef
 *   {Pick<State, 'tour' | 'guided' | 'view' | 'steps' | 'mode' | 'strategy' | 'manual' | 'slow' | 'model' | 'digits'>}
 *   TourState
 * @typedef {{title: string, text: string, target: string, next: string}} Stop the text of a stop; `target`: selector of
 *   the element it points at; `next`: the button to the next stop, empty if the person acts on the page
 */

/** The tour's next stop, by a person's action. @type {Record<Tour, Partial<Record<TourEvent, Tour>>>} */
const FLOW = {
  new: { next: 'step', step: 'draw', skip: 'done' },
  asked: { next: 'step', step: 'draw', skip: 'done' },
  step: { step: 'draw', skip: 'done' },
  draw: { next: 'slide', set: 'moved', skip: 'done' },
  slide: { set: 'moved', skip: 'done' },
  moved: { next: 'done', step: 'done', skip: 'done' },
  done: {},
};

/** @param {TourState} state @param {TourEvent} event @returns {Tour} */
export function tour_after(state, event) {
  if (event === 'begin') return 'asked';
  return (is_shown(state) && FLOW[state.tour][event]) || state.tour;
}

/**
 * Tell if the tour is shown. A newcomer sees it with the first text; in a text already under way it must be asked for.
 *
 * @param {TourState} state
 */
const is_shown = ({ tour, guided, view, steps, mode, strategy, manual, slow, model }) =>
  tour !== 'done' &&
  !guided &&
  !(tour === 'new' && steps.length > 0) &&
  Boolean(view && model) &&
  mode === 'paused' &&
  !(strategy || manual || slow);

/** The current stop; null for anyone not on the tour. @param {TourState} state @returns {Stop|null} */
export function tour_stop(state) {
  if (!is_shown(state)) return null;
  const view = /** @type {View} */ (state.view);
  return STOPS[state.tour](view, state);
}

/** @param {View} view @returns {Stop} */
const asked = view => ({
  title: say('{stop} of 4.', { stop: 1 }),
  text: say('The model has read this text and scored all {tokens} that it knows: which one comes next?', {
    tokens: tokens(view.vocab),
  }),
  target: '[data-part=strip]',
  next: say('Next'),
});

/** @type {Record<Tour, (view: View, state: TourState) => Stop>} */
const STOPS = {
  new: asked,
  asked,
  step: () => ({
    title: say('{stop} of 4.', { stop: 2 }),
    text: say('Press Step: one token is drawn by its probability and joins the text.'),
    target: '.dv-go',
    next: '',
  }),
  draw: (_, state) => ({
    title: say('{stop} of 4.', { stop: 3 }),
    text: drawn_sentence(state),
    target: '[data-part=table]',
    next: say('Next'),
  }),
  slide: () => ({
    title: say('{stop} of 4.', { stop: 4 }),
    text: say('Drag Temperature. Table and pictures follow at once, without running the model again.'),
    target: '[data-sampler=temperature]',
    next: '',
  }),
  moved: (view, state) => ({
    title: view.what_if ? say('What if:') : say('The tour ends here.'),
    text: moved_sentence(view, state),
    target: '[data-part=picture]',
    next: say('End the tour'),
  }),
  done: asked,
};

/** @param {TourState} state */
function drawn_sentence({ steps, digits }) {
  const step = steps.at(-1);
  if (!step) return say('The table has the likeliest tokens, each with its logit and its probability.');
  const token = isolated(step.label);
  if (step.u === null)
    return say('{token} was taken. The table shows the other candidates, each with its probability.', { token });
  const share = formats(digits).percent(step.probability);
  return say('{token} was drawn: u = {u} fell into its stretch of {share}. The table shows the other candidates.', {
    token,
    u: u_text(step.u),
    share,
  });
}

/** A slider's effect on the model's likeliest token. @param {View} view @param {TourState} state */
function moved_sentence({ rows, model_leaders, what_if }, { digits }) {
  const [first] = model_leaders;
  const now = rows.find(({ id }) => id === first?.id)?.final_prob ?? null;
  if (!first || now === null) return say('Settings change which tokens can be drawn. The next Step draws with them.');
  const { percent } = formats(digits);
  const values = { token: isolated(first.label), after: percent(now), before: percent(first.model_prob) };
  const has_gained = now > first.model_prob;
  if (values.after === values.before)
    return say('{token} still has {before}. Drag Temperature further to see it change.', values);
  if (what_if && has_gained)
    return say(
      '{token} would have {after}, not {before}. The drawn token stays; the next Step draws like this.',
      values,
    );
  if (what_if)
    return say(
      '{token} would have {after}, not {before}: others gain. The drawn token stays; the next Step draws like this.',
      values,
    );
  return has_gained
    ? say('{token} now has {after}, not {before}. Step draws like this.', values)
    : say('{token} now has {after}, not {before}: others gain. Step draws like this.', values);
}
