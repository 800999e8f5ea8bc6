// The distribution that a stage which cuts finds. The curve stands before all cuts: what earlier cuts took, and
// every temperature behind the first of them, is not in it yet.

import { stage_of } from '../../words/catalogue.js';
import { at_rank } from './geometry_bars.js';

const HIGHEST = 1e100; // of a share, relative to the leader in the race

/** The temperature that a stage divides by; 1 for one that does not. */
export function temperature_of({ name, on, value, figures }) {
  if (!on || stage_of(name).group !== 'temperature') return 1;
  const temperature = name === 'temperature' ? value : figures.temperature;
  return temperature > 0 ? temperature : 1;
}

/** What several stages divide by together. */
export const product = stages => stages.reduce((all, stage) => all * temperature_of(stage), 1);

/** Where the first stage stands that cuts; -1 for none. */
export const first_cut = stages =>
  stages.findIndex(
    ({ name, on, value }) => on && (stage_of(name).kind === 'cut' || (name === 'temperature' && value === 0)),
  );

/** The ranks that a stage leaves, and those it found, as [first, last] in the ranking before the cuts. */
export function windows_of(view, stage, applied) {
  const all = [1, view.vocab];
  if (!applied) return { kept: all, race: all };
  const window = each => [each.first_rank, each.last_rank ?? view.vocab];
  const earlier = view.stages.slice(0, view.stages.indexOf(stage)).filter(each => each.last_rank !== null);
  return { kept: window(stage), race: earlier.length ? window(earlier.at(-1)) : all };
}

/**
 * What a stage finds, by rank in the ranking before the cuts; what is out of the race already as if it had
 * been left. Before it is applied: the curve itself.
 *
 * @returns {{kept: number[], race: number[], at(rank: number): number, sum_to(rank: number): number}} the
 *   windows as `windows_of` gives them; probability of a token, and of the race to that rank
 */
export function found_by(view, stage, applied) {
  const windows = windows_of(view, stage, applied);
  const { ranks, probs, cumulative } = view.curve;
  const last = ranks.at(-1);
  const value_at = (values, rank) => (rank < 1 ? 0 : at_rank(ranks, values, Math.min(rank, last)));
  const { race } = windows;
  const first = applied ? first_cut(view.stages) : -1;
  const divided = first < 0 ? 1 : product(view.stages.slice(first, view.stages.indexOf(stage)));
  const leader = Math.max(value_at(probs, race[0]), 1e-300);
  const share = prob => Math.min(HIGHEST, (prob / leader) ** (1 / divided));
  const shares = divided === 1 ? probs : Array.from(probs, share);
  const sums = divided === 1 ? cumulative : running_sums(ranks, shares);
  const before = value_at(sums, race[0] - 1);
  const mass = applied ? value_at(sums, race[1]) - before || 1 : 1;
  return {
    ...windows,
    at: rank => value_at(shares, rank) / mass,
    sum_to: rank => Math.max(0, value_at(sums, Math.min(rank, race[1])) - before) / mass,
  };
}

/** Sums over all ranks up to each of these, of values that lie on a line between them. */
function running_sums(ranks, values) {
  const sums = [values[0]];
  for (let place = 1; place < ranks.length; place++) {
    const [from, to] = [values[place - 1], values[place]];
    const steps = ranks[place] - ranks[place - 1];
    sums.push(sums[place - 1] + ((from + to) / 2) * steps + (to - from) / 2);
  }
  return sums;
}
