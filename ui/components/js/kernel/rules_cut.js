// The stages that remove tokens by their rank: cuts.py and adaptive.py of engine/stages/ over runs of equal
// scores. Each returns `after`, the tokens left (always at least one), and the figures its picture shows.

import { first_index } from './ranking.js';

const TOP_H_CONSIDERED = 100;
const STRAIGHT = 1e-6; // second differences of at most this share of the first weight are no bend

/** By name: (survivors, value, context) -> {after, ...figures}. */
export const CUTS = {
  top_h: (survivors, share) => top_h(survivors, share),
  top_k: (survivors, k) => ({ after: survivors.leading(k, true) }),
  top_p: (survivors, p) => ({ after: p < 1 ? survivors.reaching_mass(p) : survivors }),
  min_p: (survivors, ratio) => ({
    after: ratio > 0 ? survivors.above_ratio(ratio) : survivors,
    threshold: ratio * survivors.prob_at(survivors.start + 1),
  }),
  typical_p: (survivors, p) => ({
    after: p < 1 ? survivors.around_entropy(p) : survivors,
    entropy: survivors.entropy_bits,
  }),
  epsilon_cutoff: (survivors, epsilon) => above_least(survivors, epsilon),
  eta_cutoff: (survivors, epsilon) => ({
    ...above_least(survivors, Math.min(epsilon, Math.sqrt(epsilon) * Math.exp(-survivors.entropy))),
    entropy: survivors.entropy_bits,
  }),
  top_n_sigma: (survivors, n) => {
    const { highest, deviation: sigma } = survivors;
    const threshold = highest - n * sigma;
    return { after: survivors.above_score(threshold), sigma, highest, threshold };
  },
  tail_free: (survivors, z) => tail_free(survivors, z),
  xtc: (survivors, { threshold, probability }, { xtc_u }) => {
    const u = xtc_u ?? 0; // without a number it acts
    const acts = u < probability && threshold <= 0.5;
    const top = acts ? survivors.above_prob(threshold) : null;
    const after = top?.count > 1 ? survivors.between(top.stop - 1, survivors.stop) : survivors;
    return { after, threshold, u, acts, excluded: survivors.count - after.count };
  },
  mirostat: (survivors, { tau, eta }, { mirostat }) => {
    const mu = mirostat?.tau === tau && mirostat.mu !== null ? mirostat.mu : 2 * tau;
    const surprise_limit = Math.max(mu, 0); // no surprise is below 0
    const threshold = 2 ** -surprise_limit;
    return { after: survivors.above_prob(threshold), mu, tau, eta, surprise_limit, threshold };
  },
};

/** Whether a stage removes tokens by rank, as temperature 0 does too. */
export const is_cut_stage = ({ name, value }) => name in CUTS || (name === 'temperature' && value === 0);

/** Among the most likely 100, the leading ones that make up at most this share of the entropy. */
function top_h(survivors, share) {
  const top = survivors.upto(survivors.start + TOP_H_CONSIDERED);
  const { ranking, start, stop, mass } = top;
  const sums = [];
  let sum = 0;
  for (let rank = start + 1; rank <= stop; rank++) {
    const prob = ranking.weight_at(rank) / mass;
    if (prob <= 0) break; // below float64's smallest they have no entropy to speak of
    sum -= prob * Math.log(prob);
    sums.push(sum);
  }
  const kept = first_index(0, sums.length, place => sums[place] > share * sum);
  const after = survivors.upto(start + Math.max(1, kept));
  return { after, entropy: sum / Math.LN2, limit: (share * sum) / Math.LN2, considered: stop - start };
}

function above_least(survivors, threshold) {
  const kept = survivors.above_prob(threshold);
  // Where none reaches it, the most likely token stays, and every token equal to it.
  return { after: kept.count === 1 ? survivors.leading(1, true) : kept, threshold };
}

function tail_free(survivors, z) {
  const { ranking, start, count } = survivors;
  if (z === 1 || count <= 2) return { after: survivors };
  const bends = bends_of(survivors);
  const total = bends.sums.at(-1) ?? 0;
  if (total <= STRAIGHT * ranking.weight_at(start + 1)) return { after: survivors };
  const first = first_index(0, bends.sums.length, place => bends.sums[place] > z * total);
  const place = first < bends.sums.length ? bends.places[first] : count - 2;
  return { after: survivors.upto(start + place + 1) };
}

/**
 * Where the second differences of the weights are not 0 (places from 0), and their running sum. Within equal
 * scores they are 0, so there are at most two at the end of each run.
 */
function bends_of({ ranking, start, stop, count }) {
  const { weights } = ranking;
  const first = ranking.run_at(start + 1);
  const last = ranking.run_at(stop);
  const places = new Uint32Array(2 * (last - first) + 1);
  const sums = new Float64Array(places.length);
  let number = 0;
  let sum = 0;
  let latest = -1; // the place of the difference that is still growing
  let pending = 0;
  const close = () => {
    if (latest < 0 || latest > count - 3 || pending === 0) return;
    sum += Math.abs(pending);
    places[number] = latest;
    sums[number++] = sum;
  };
  const add = (place, difference) => {
    if (place !== latest) {
      close();
      latest = place;
      pending = 0;
    }
    pending += difference;
  };
  for (let run = first; run < last; run++) {
    const end = ranking.end_of(run) - start - 1; // place of the run's last token
    const step = weights[run + 1] - weights[run];
    if (end > 0) add(end - 1, step);
    add(end, -step);
  }
  close();
  return { places: places.subarray(0, number), sums: sums.subarray(0, number) };
}
