// The one button to press next, and so the only blue one.

import { what_to_say } from '../words/line.js';
import { wants_reply } from './chat.js';

/** @import { State } from '../types.js' */

/** @param {State} state @returns {'play' | 'tour' | 'start' | 'reply' | 'stage' | 'step'} */
export function primary_of(state) {
  if (state.mode !== 'paused') return 'play';
  if (state.drafted) return wants_reply(state) ? 'reply' : 'start';
  if (what_to_say(state).next) return 'tour';
  return state.slow ? 'stage' : 'step';
}
