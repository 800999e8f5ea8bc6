// The single message of the line below the loop: what matters most at this moment.

import { what_if_text } from './chain.js';
import { search_sentence } from './contrastive.js';
import { quoted } from './format.js';
import { hint, point_sentence } from './loop.js';
import { loop_sentence, notice } from './notice.js';
import { say } from './say.js';
import { tour_stop } from './tour.js';

/**
 * @import { State } from '../types.js'
 *
 * @typedef
 *   {{kind: 'busy' | 'error' | 'warning' | 'what-if' | 'tour' | 'plain', title: string, text: string, next?: string}}
 *   Said `next`: the tour's button to the next stop
 */

/** @param {State} state @returns {Said} */
export function what_to_say(state) {
  const { view, error, busy, cancelled, offline, visit_notice, said, stop, mode, point } = state;
  if (busy) return { kind: 'busy', title: '', text: busy.is_cancelling ? say('Cancelling') : say(busy.what) };
  if (error) return { kind: cancelled ? 'warning' : 'error', title: '', text: error };
  if (offline)
    return {
      kind: 'warning',
      title: say('No connection.'),
      text: say('Nothing is lost: the page continues when the server answers again.'),
    };
  if (visit_notice) return { kind: 'warning', title: '', text: visit_notice };
  if (state.covered) return { kind: 'plain', title: say('Hidden:'), text: covered_text(state) };
  const stop_of_tour = tour_stop(state);
  if (stop_of_tour && state.tour === 'moved') return { kind: 'tour', ...stop_of_tour };
  if (view?.what_if) return { kind: 'what-if', title: say('What if:'), text: what_if_text(view.what_if, state.table) };
  if (view && point !== null) return { kind: 'plain', title: '', text: point_sentence(state, view) };
  if (mode === 'paused' && said) return { kind: 'plain', title: '', text: said };
  if (state.read_only) return { kind: 'plain', title: '', text: state.read_only };
  if (state.strategy) return { kind: 'plain', title: '', text: search_sentence(state) };
  if (stop_of_tour) return { kind: 'tour', ...stop_of_tour };
  if (mode === 'paused' && stop?.sentence)
    return { kind: 'plain', title: '', text: `${stop.sentence} ${loop_sentence(state.steps)}`.trim() };
  const waiting = view && (state.manual || state.slow) ? hint(state, view) : '';
  if (waiting) return { kind: 'plain', title: '', text: waiting };
  if (state.example && state.steps.length === 0) return { kind: 'plain', title: say('Look at:'), text: state.example };
  const found = view ? notice(state, view) : '';
  return { kind: 'plain', title: found ? say('Notice:') : '', text: found };
}

/** A question for a class to guess. @param {State} state */
function covered_text({ steps, index }) {
  const step = steps[index];
  return step
    ? say('which tokens could have come here besides {token}?', { token: quoted(step.label) })
    : say('which token comes next?');
}
