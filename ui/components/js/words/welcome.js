// What a person reads who has never been here: what this is, what to press first, what to try next. Gone once done.

import { tokens } from './format.js';
import { say } from './say.js';

/** @import { State } from '../types.js' */

/**
 * The next thing to say to a newcomer; null for everybody else.
 * @param {Pick<State, 'lesson' | 'view' | 'steps' | 'mode' | 'strategy' | 'model'>} state `lesson`: how far they are
 * @returns {{title: string, text: string}|null}
 */
export function welcome({ lesson, view, steps, mode, strategy, model }) {
  if (lesson === 'done' || !view || !model || mode !== 'paused' || strategy) return null;
  if (lesson === 'first' && steps.length === 0) {
    return {
      title: say('Welcome.'),
      text: say(
        'A language model read the prompt and scored all {tokens} that it knows as the next one. Press Step to draw one of them.',
        { tokens: tokens(view.vocab) },
      ),
    };
  }
  if (steps.length === 0) return null;
  if (lesson === 'first' || lesson === 'stepped') {
    return {
      title: say('Try this:'),
      text: say('drag Temperature and watch the bars. Then press Step again, or click another token to force it.'),
    };
  }
  return null;
}
