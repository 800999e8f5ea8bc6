// The one button that is pressed next, and so is the only blue one.

import { tour_stop } from '../words/tour.js';

/** @import { State } from '../types.js' */
/** @import { TourState } from '../words/tour.js' */
/** @typedef {TourState & Pick<State, 'drafted'>} Pressed */

/** @param {Pressed} state @returns {'play' | 'tour' | 'start' | 'stage' | 'step'} */
export function primary_of(state) {
  if (state.mode !== 'paused') return 'play';
  if (state.drafted) return 'start';
  if (tour_stop(state)?.next) return 'tour';
  return state.slow ? 'stage' : 'step';
}
