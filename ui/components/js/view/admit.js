// What would let a removed token in: the smallest change of one setting, or the stages that block it together.
// Every answer is a trial that went well: the chain is run with it.

import { values_to_try } from './admit_values.js';
import { DEFAULT_ORDER, OFF } from '../kernel/shape.js';
import { context_of, shape_of } from './chain.js';

/**
 * The search for it, which takes hundreds of runs of the chain where a change is hard to find: a generator that
 * pauses after each of them. What it returns is `admit`'s result. A state that changes meanwhile is not seen.
 *
 * What takes less away is tried first. Only where no such change admits the token, the rest follows: a stage
 * that takes more may admit too, as it leaves fewer rivals, or larger shares.
 *
 * @param {object} state
 * @param {{id: number, raw_rank: number, logit: number|null}} token as a search found it
 */
export function* admission(state, { id, raw_rank, logit }) {
  const { row, settings } = state;
  if (raw_rank < 1 || raw_rank > row.possible || !Number.isFinite(logit)) return null;
  const scene = { ...state };
  const shaped = shape_of(scene);
  const survives = run => run.trace(raw_rank).at(-1) > 0;
  if (survives(shaped)) return null;
  const entering = setting => {
    const place = shaped.stages.findIndex(({ name }) => name === setting);
    return place < 0 ? NaN : shaped.trace(raw_rank)[place] - shaped.stages[place].before.start;
  };
  const order = settings.order ?? DEFAULT_ORDER;
  const { looser, tighter } = values_to_try(scene, { id, order, context: context_of(scene), entering });
  for (const lists of [looser, tighter]) {
    let best = null;
    for (const list of lists) {
      const admits = ({ value }) => survives(shape_of(scene, { [list.setting]: value }));
      const find = list.is_halved ? halved : scanned;
      const place = yield* find(list, admits, best?.travel ?? Infinity);
      if (place === null) continue;
      const gap = list.gap?.(place);
      const nearest = gap ? gap.at(yield* halved(gap, admits)) : list.at(place);
      const found = { setting: list.setting, ...nearest };
      if (!best || found.travel < best.travel) best = found;
    }
    if (best) return best;
  }
  return { blocked_by: blockers(scene, raw_rank) };
}

/**
 * The smallest change of one setting that would let a removed token survive.
 *
 * Tried are all positions of every slider on a card (and a few beyond its ends), each stage off, the token's
 * own bias where biases have a card, and the bans of the token lifted.
 *
 * @param {object} state
 * @param {{id: number, raw_rank: number, logit: number|null}} token as a search found it
 * @returns {{setting: string, value: number|object|null, travel: number, field?: string, bias?: number,
 *   is_lifted?: boolean} | {blocked_by: string[]} | null} null where it survives or is impossible. `field` is the
 *   one field that differs, where the value has several; `bias` the token's own; `is_lifted`: its bans are
 *   gone, others stay. `blocked_by` are the stages that only together keep it out, where no such change does.
 */
export function admit(state, token) {
  const search = admission(state, token);
  for (;;) {
    const { value, done } = search.next();
    if (done) return value;
  }
}

/** The first place that admits, where whatever lies beyond one that admits does too; null if none does. */
function* halved({ length, at }, admits) {
  yield;
  if (!admits(at(length - 1))) return null;
  let [low, high] = [0, length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    yield;
    if (admits(at(middle))) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The same where more need not be better, as far as it is less far than what was found before. */
function* scanned({ length, at }, admits, limit) {
  for (let place = 0; place < length && at(place).travel < limit; place++) {
    yield;
    if (admits(at(place))) return place;
  }
  return null;
}

/** A smallest set of stages that, all switched off, would let the token through; in the order of the chain. */
function blockers(state, raw_rank) {
  const removed_by = off => {
    const shaped = shape_of(state, Object.fromEntries(off.map(name => [name, OFF[name]])));
    const out = shaped.trace(raw_rank).findIndex(rank => rank === 0);
    return out < 0 ? null : shaped.stages[out - 1].name;
  };
  let off = [];
  for (let name = removed_by(off); name !== null; name = removed_by(off)) off.push(name);
  for (const name of off) {
    const without = off.filter(each => each !== name);
    if (removed_by(without) === null) off = without;
  }
  const order = shape_of(state).stages.map(({ name }) => name);
  return off.sort((one, other) => order.indexOf(one) - order.indexOf(other));
}
