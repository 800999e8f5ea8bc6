// What a person reads who has never been here: what this is, what to press first, what to try next. Gone once done.

import { tokens } from './format.js';

/** @import { State } from '../types.js' */

/**
 * The next thing to say to a newcomer; null for everybody else.
 * @param {Pick<State, 'lesson' | 'guided' | 'view' | 'steps' | 'mode' | 'strategy' | 'model'>} state `lesson`: how far they are
 * @returns {{title: string, text: string}|null}
 */
export function welcome({ lesson, guided, view, steps, mode, strategy, model }) {
  if (lesson === 'done' || guided || !view || !model || mode !== 'paused' || strategy) return null;
  if (lesson === 'first' && steps.length === 0) {
    return {
      title: 'Welcome.',
      text: `A language model read the prompt and scored all ${tokens(view.vocab)} that it knows as the next one. Press Step to draw one of them.`,
    };
  }
  if (steps.length === 0) return null;
  if (lesson === 'first' || lesson === 'stepped') {
    return {
      title: 'Try this:',
      text: 'drag Temperature and watch the bars. Then press Step again, or click another token to force it.',
    };
  }
  return null;
}
