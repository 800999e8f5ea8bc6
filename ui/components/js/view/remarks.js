// What stages do to each other: which have no effect, and what to know of the others. The rules and the words
// are those of engine/stages/remarks.py; a test compares them.

import { is_cut_stage } from '../kernel/rules_cut.js';
import { BANS, SCALES } from '../kernel/rules_edit.js';

const KEPT_IN_FRONT = 'temperature 0 takes the most likely token, which this keeps in front';

/** Why a stage cannot change anything as it is set; null where it can. */
const NO_EFFECT = {
  dry: ({ multiplier }) => (multiplier === 0 ? 'its multiplier is 0' : null),
  dynamic_temperature: ({ low, high }) => (low === 1 && high === 1 ? 'both of its ends are 1' : null),
  xtc: ({ threshold, probability }) => {
    if (probability === 0) return 'its probability is 0';
    return threshold > 0.5 ? 'no two tokens can both reach a threshold above one half' : null;
  },
};

const is_greedy = ({ name, value }) => name === 'temperature' && value === 0;
const is_temperature = ({ name }) => name in SCALES;
const moves_the_start = ({ name }) => name === 'typical_p' || name === 'xtc';
const keeps_the_best = stage => !moves_the_start(stage) && (is_temperature(stage) || is_cut_stage(stage));

/**
 * Of each stage of a chain what there is to know about it there, or null.
 *
 * @param {{name: string, value: number|object}[]} chain the stages that are on, in their order
 * @returns {({reason: string, has_effect: boolean}|null)[]}
 */
export function remarks(chain) {
  const greedy = chain.findIndex(is_greedy);
  const mirostat = chain.findIndex(({ name }) => name === 'mirostat');
  return chain.map((stage, place) => remark(chain, stage, place, { greedy, mirostat }));
}

const idle = reason => ({ reason, has_effect: false });
const known = reason => ({ reason, has_effect: true });

function remark(chain, stage, place, { greedy, mirostat }) {
  const reason = NO_EFFECT[stage.name]?.(stage.value) ?? null;
  if (reason) return idle(reason);
  if (greedy >= 0 && place > greedy) {
    return BANS.includes(stage.name)
      ? known('temperature 0 has left one token: it can only refuse that one')
      : idle('temperature 0 has already left a single token');
  }
  if (greedy >= 0 && place < greedy && keeps_the_best(stage)) {
    // What Typical and XTC remove depends on the tokens left and on their odds.
    return chain.slice(place, greedy).some(moves_the_start) ? null : idle(KEPT_IN_FRONT);
  }
  if (is_temperature(stage) && chain.slice(0, place).some(is_temperature)) {
    return known('it divides what another temperature has divided before');
  }
  if (mirostat < 0 || place === mirostat || !is_cut_stage(stage) || is_greedy(stage)) return null;
  return known(
    place < mirostat
      ? 'mirostat sees only the tokens left here, and may not reach its tau'
      : 'it cuts what mirostat let through, so the surprise falls short of tau',
  );
}
