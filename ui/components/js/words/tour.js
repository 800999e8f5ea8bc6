// The tour: four stops by which a newcomer gets to a first distribution that they have understood, and its end.

import { formats, isolated, tokens, u_text } from './format.js';

/**
 * @import { State, Tour, TourEvent, View } from '../types.js'
 *
 * @typedef {Pick<State, 'tour' | 'guided' | 'view' | 'steps' | 'mode' | 'strategy' | 'manual' | 'slow' | 'model' | 'digits'>} TourState
 * @typedef {{title: string, text: string, target: string, next: string}} Stop what is said at a stop; `target`: what
 *   it points at, as a selector; `next`: the button that leads on, empty where the person does it on the page
 */

/** Where the tour goes on, by what a person does. @type {Record<Tour, Partial<Record<TourEvent, Tour>>>} */
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

/** A newcomer finds it with the first text; whoever comes to a text that goes on already asks for it. @param {TourState} state */
const is_shown = ({ tour, guided, view, steps, mode, strategy, manual, slow, model }) =>
  tour !== 'done' &&
  !guided &&
  !(tour === 'new' && steps.length > 0) &&
  Boolean(view && model) &&
  mode === 'paused' &&
  !(strategy || manual || slow);

/** What is said just now; null for everybody who is not on the tour. @param {TourState} state @returns {Stop|null} */
export function tour_stop(state) {
  if (!is_shown(state)) return null;
  const view = /** @type {View} */ (state.view);
  return STOPS[state.tour](view, state);
}

/** @param {View} view @returns {Stop} */
const asked = view => ({
  title: '1 of 4.',
  text: `The model has read this text and scored all ${tokens(view.vocab)} that it knows: which one comes next?`,
  target: '[data-part=strip]',
  next: 'Next',
});

/** @type {Record<Tour, (view: View, state: TourState) => Stop>} */
const STOPS = {
  new: asked,
  asked,
  step: () => ({
    title: '2 of 4.',
    text: 'Press Step: one token is drawn by its probability and joins the text.',
    target: '.dv-go',
    next: '',
  }),
  draw: (_, state) => ({
    title: '3 of 4.',
    text: drawn_sentence(state),
    target: '[data-part=table]',
    next: 'Next',
  }),
  slide: () => ({
    title: '4 of 4.',
    text: 'Drag Temperature. Table and pictures follow at once, and the model need not run again.',
    target: '[data-sampler=temperature]',
    next: '',
  }),
  moved: (view, state) => ({
    title: view.what_if ? 'What if:' : 'The tour ends here.',
    text: moved_sentence(view, state),
    target: '[data-part=picture]',
    next: 'End the tour',
  }),
  done: asked,
};

/** @param {TourState} state */
function drawn_sentence({ steps, digits }) {
  const step = steps.at(-1);
  if (!step) return 'The table has the likeliest tokens, each with its logit and its probability.';
  const token = isolated(step.label);
  if (step.u === null) return `${token} was taken. The table has the other candidates, each with its probability.`;
  const share = formats(digits).percent(step.probability);
  return `${token} was drawn: u = ${u_text(step.u)} fell into its stretch of ${share}. The table has the other candidates.`;
}

/** What a slider did to the model's likeliest token. @param {View} view @param {TourState} state */
function moved_sentence({ rows, model_leaders, what_if }, { digits }) {
  const [first] = model_leaders;
  const now = rows.find(({ id }) => id === first?.id)?.final_prob ?? null;
  if (!first || now === null) return 'Settings change which tokens can be drawn. The next Step draws with them.';
  const { percent } = formats(digits);
  const [token, after, before] = [isolated(first.label), percent(now), percent(first.model_prob)];
  if (after === before) return `${token} still has ${before}. Drag Temperature further to see it change.`;
  if (what_if && now > first.model_prob)
    return `${token} would have ${after}, not ${before}. What was drawn stays; the next Step draws like this.`;
  if (what_if)
    return `${token} would have ${after}, not ${before}: others gain. What was drawn stays; the next Step draws like this.`;
  if (now > first.model_prob) return `${token} now has ${after}, not ${before}. Step draws like this.`;
  return `${token} now has ${after}, not ${before}: others gain. Step draws like this.`;
}
