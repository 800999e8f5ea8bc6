// The tokens still in the race, and the ways to cut them: `Survivors` of engine/ranking.py over runs.

import { deviation_of, entropy_of, first_index, sum_over } from './ranking.js';

/** The tokens still in the race: the ranks after `start` to `stop`; nobody where both are the same. */
export class Survivors {
  #sums = null;

  constructor(ranking, start = 0, stop = ranking.count) {
    this.ranking = ranking;
    this.start = start;
    this.stop = stop;
  }

  get count() {
    return this.stop - this.start;
  }

  get is_cut() {
    return this.count < this.ranking.count;
  }

  /** {total, moment, highest} of the survivors' weights, relative to the ranking's `highest` score. */
  get sums() {
    return (this.#sums ??= this.is_cut ? this.summed() : this.ranking.sums);
  }

  /** The same where no cut depends on its last digits. */
  get rough_sums() {
    return this.is_cut ? this.sums : this.ranking.rough_sums;
  }

  summed() {
    const { ranking, start, stop } = this;
    const { highest } = ranking;
    if (start === stop) return { total: 0, moment: 0, highest };
    // From the top the running sum will do; else its difference would drown small weights.
    const mass = (run, count) => count * ranking.weight_of(run);
    const shift = (run, count) => mass(run, count) * (ranking.values[run] - highest);
    return {
      total: start ? sum_over(ranking, start, stop, mass) : ranking.cumulative_at(stop),
      moment: sum_over(ranking, start, stop, shift),
      highest,
    };
  }

  /** Sum of the survivors' weights. */
  get mass() {
    return this.sums.total;
  }

  /** Sum of the weights in front of the survivors. */
  get before() {
    return this.ranking.cumulative_at(this.start);
  }

  /** Whether a rank is in the race. */
  has(rank) {
    return rank > this.start && rank <= this.stop;
  }

  /** Shannon entropy of the survivors' probabilities, in nats. */
  get entropy() {
    return this.count > 1 ? entropy_of(this.rough_sums) : 0;
  }

  /** The same in bits. */
  get entropy_bits() {
    return this.entropy / Math.LN2;
  }

  /** Population standard deviation of the survivors' scores. */
  get deviation() {
    return this.is_cut ? deviation_of(this.ranking, this.start, this.stop) : this.ranking.deviation;
  }

  /** The highest score in the race. */
  get highest() {
    return this.ranking.value_at(this.start + 1);
  }

  /** Probability of a token at a rank that is in the race. */
  prob_at(rank) {
    return this.ranking.weight_at(rank) / this.mass;
  }

  /** Nobody. */
  none() {
    return new Survivors(this.ranking, this.start, this.start);
  }

  /** Keep the ranks after `start` to `stop`, as far as they survive. */
  between(start, stop) {
    return new Survivors(this.ranking, Math.max(this.start, start), Math.min(this.stop, stop));
  }

  /** Keep the ranks to `stop`, at least one. */
  upto(stop) {
    return this.between(this.start, Math.max(this.start + 1, stop));
  }

  /** Keep the `count` best, and every token equal to the last of them where `with_ties`. */
  leading(count, with_ties) {
    if (count >= this.count) return this;
    const last = this.start + count;
    return this.upto(with_ties ? this.ranking.end_of(this.ranking.run_at(last)) : last);
  }

  /** Keep the smallest set of leading tokens that holds `fraction` of the survivors' mass. */
  reaching_mass(fraction) {
    const target = this.before + fraction * this.mass;
    return this.upto(this.first_rank(sum => sum >= target));
  }

  /** Keep the tokens whose probability is at least `ratio` times the highest one's. */
  above_ratio(ratio) {
    return this.above_weight(ratio * this.ranking.weight_at(this.start + 1));
  }

  /** Keep the tokens of at least this probability; without any, the most likely one. */
  above_prob(prob) {
    return this.above_weight(prob * this.mass);
  }

  above_weight(weight) {
    const { weights } = this.ranking;
    return this.before_run(first_index(0, weights.length, run => weights[run] < weight));
  }

  /** Keep the tokens whose score is at least this; without any, the most likely one. */
  above_score(score) {
    const { values } = this.ranking;
    return this.before_run(first_index(0, values.length, run => values[run] < score));
  }

  before_run(run) {
    return this.upto(run < this.ranking.starts.length ? this.ranking.starts[run] : this.ranking.count);
  }

  /**
   * Keep the tokens whose surprise is nearest to the entropy, until they hold `fraction` of the mass; all
   * tokens at the last one's distance stay.
   */
  around_entropy(fraction) {
    const { ranking, start, stop } = this;
    const { values } = ranking;
    const first = ranking.run_at(start + 1);
    const end = ranking.run_at(stop) + 1;
    const log_mass = Math.log(this.mass) + ranking.highest;
    const { entropy } = this;
    const distance = run => log_mass - values[run] - entropy; // rises with the rank
    const centre = first_index(first, end, run => distance(run) >= 0);
    const window = reach => [
      first_index(first, centre, run => -distance(run) <= reach),
      first_index(centre, end, run => distance(run) > reach),
    ];
    const ranks = ([from, to]) => this.between(ranking.starts[from], to < end ? ranking.starts[to] : stop);
    const target = fraction * this.mass;
    const suffices = reach => {
      const kept = ranks(window(reach));
      return ranking.cumulative_at(kept.stop) - ranking.cumulative_at(kept.start) >= target;
    };
    const right = first_index(centre, end, run => suffices(distance(run)));
    const left = first_index(first, centre, run => !suffices(-distance(run))) - 1;
    const reach = Math.min(
      right < end ? distance(right) : Infinity,
      left >= first ? -distance(left) : Infinity,
    );
    return reach === Infinity ? this : ranks(window(reach));
  }

  /** Rank at which the cumulative probability first exceeds `u`. */
  rank_at(u) {
    const target = this.before + u * this.mass;
    const rank = this.first_rank(sum => sum > target);
    return Math.max(this.start + 1, Math.min(rank, this.stop));
  }

  /** First rank whose cumulative weight satisfies `is_enough`; one past the last where none does. */
  first_rank(is_enough) {
    const { cumulative, starts, weights } = this.ranking;
    const run = first_index(0, cumulative.length, index => is_enough(cumulative[index]));
    if (run === cumulative.length) return this.ranking.count + 1;
    const before = run ? cumulative[run - 1] : 0;
    const is_reached = count => is_enough(before + count * weights[run]);
    return starts[run] + first_index(1, this.ranking.counts[run], is_reached);
  }
}
