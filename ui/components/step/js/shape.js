// A row of raw logits and a chain of settings -> what every stage leaves, and the draw: engine/sampling.py
// and engine/stages.py in the browser. Scores are float32 as there, weights float64.

import { EditedRanking, first_index, Ranking, ScaledRanking, Survivors } from './ranking.js';
import { raw_rank_of } from './row.js';

/** The value of each setting that leaves its stage out of the chain, in the order the stages apply. */
export const OFF = { repetition_penalty: 1, temperature: 1, top_k: 0, top_p: 1, min_p: 0 };

/** Beyond it whole numbers are no longer exact in a browser. */
export const LARGEST_SEED = Number.MAX_SAFE_INTEGER;

/** How many different tokens of the text, up to a step, the repetition penalty acts on. */
export function seen_count({ prompt_tokens, steps }, index) {
  return new Set([...prompt_tokens, ...steps.slice(0, index)].map(token => token.id)).size;
}

/** The stages that `settings` switch on, in the default order: [{name, value}]. */
export function chain_of(settings) {
  return Object.keys(OFF)
    .filter(name => settings[name] !== OFF[name])
    .map(name => ({ name, value: settings[name] }));
}

/** Whether a stage removes tokens by rank, as temperature 0 does too. */
export const is_cut_stage = ({ name, value }) => (
  name === 'top_k' || name === 'top_p' || name === 'min_p' || (name === 'temperature' && value === 0)
);

const APPLY = {
  repetition_penalty: (survivors, penalty, edits) => new Survivors(new EditedRanking(survivors, edits)),
  temperature: (survivors, temperature) => (
    temperature === 0 ? survivors.leading(1, false) : new Survivors(new ScaledRanking(survivors, temperature))
  ),
  top_k: (survivors, k) => survivors.leading(k, true),
  top_p: (survivors, p) => (p < 1 ? survivors.reaching_mass(p) : survivors),
  min_p: (survivors, ratio) => (ratio > 0 ? survivors.above_ratio(ratio) : survivors),
};

/** A seen token's score: divided by the penalty where positive, multiplied where negative. */
function penalised(score, penalty) {
  const factor = Math.fround(penalty);
  return Math.fround(score < 0 ? score * factor : score / factor);
}

/** What one stage did: `before` and `after` are the tokens in the race. */
class StageResult {
  /** `figures`, where given, are the engine's own, of a row that is here only in bins. */
  constructor({ name, value }, before, after, context, figures) {
    Object.assign(this, { name, value, before, after, context, figures });
  }

  /** Share of the probability just before that the tokens removed here held. */
  get mass_removed() {
    this.removed ??= this.figures?.mass_removed ?? removed_mass(this.before, this.after);
    return this.removed;
  }

  /** Shannon entropy in bits after it. */
  get entropy_bits() {
    this.entropy ??= this.figures?.entropy_bits ?? this.after.entropy_bits;
    return this.entropy;
  }

  /** Rank after this stage of what had this rank before it; 0 for a token that it removed. */
  follow(rank) {
    const { before, after } = this;
    const own = after.ranking === before.ranking ? rank : after.ranking.rank_from_parent(rank);
    return own && after.has(own) ? own : 0;
  }

  /** A token's score after this stage. */
  edit(score, id) {
    if (this.name === 'repetition_penalty' && this.context.has(id)) return penalised(score, this.value);
    if (this.name === 'temperature' && this.value !== 0) return Math.fround(score / Math.fround(this.value));
    return score;
  }
}

function removed_mass(before, after) {
  if (before.count === after.count) return 0;
  if (after.ranking === before.ranking) return Math.max(0, 1 - after.mass / before.mass);
  // An edit that sent scores below every float32 number.
  const { ranking } = after;
  if (!ranking.gone) return 1 - before.upto(before.start + after.count).mass / before.mass;
  const dropped = Array.from(ranking.gone).filter(rank => !ranking.came_ranks.has(rank));
  return dropped.reduce((sum, rank) => sum + before.ranking.weight_at(rank), 0) / before.mass;
}

/** What a chain made of a row. Tokens go by their rank in the raw row, from 1. */
class Shaped {
  constructor(row, start, stages) {
    Object.assign(this, { row, start, stages, raw: start.ranking });
    const cut = stages.findIndex(is_cut_stage);
    /** How many stages come before the first that cuts. */
    this.uncut = cut < 0 ? stages.length : cut;
    /** The tokens just before it: the ranking that tables are in. */
    this.before_cuts = this.after(this.uncut);
    this.final = this.after(stages.length);
  }

  /** The tokens in the race after the first `done` stages. */
  after(done) {
    return done ? this.stages[done - 1].after : this.start;
  }

  /** Entropy in bits after the temperature or, without one, just before the first cut. */
  get tempered_entropy() {
    const place = this.stages.findIndex(stage => stage.name === 'temperature');
    return this.entropy_after(place < 0 ? this.uncut : place + 1);
  }

  /** Entropy in bits after the first `done` stages. */
  entropy_after(done) {
    return done ? this.stages[done - 1].entropy_bits : this.raw.entropy_bits;
  }

  /** Ranks of a token after 0, 1, 2, ... stages; 0 from the stage on that removed it. */
  trace(rank, first = 0) {
    const ranks = [rank];
    for (const stage of this.stages.slice(first)) ranks.push(ranks.at(-1) && stage.follow(ranks.at(-1)));
    return ranks;
  }

  /** Score of a token after the first `done` stages. */
  score(logit, id, done) {
    return this.stages.slice(0, done).reduce((score, stage) => stage.edit(score, id), logit);
  }

  /** What a token of this rank before the cuts has in the draw. */
  final_prob_of(rank) {
    const last = this.trace(rank, this.uncut).at(-1);
    return last ? this.final.ranking.weight_at(last) / this.final.mass : 0;
  }

  /**
   * Where the survivors of the first `done` stages lie in the ranking before the cuts.
   *
   * @returns {{rank: number, mass: number}} rank of the last one there, and the probability they held
   */
  extent(done) {
    const { ranking, mass } = this.before_cuts;
    const { stop } = this.after(done);
    const edit = this.late_edit(done);
    if (!edit) return { rank: stop, mass: ranking.cumulative_at(stop) / mass };
    // Every stage keeps the leading tokens, but these include moved ones from anywhere.
    const staying = edit.staying_upto(stop);
    let rank = staying ? edit.parent_rank_of_staying(staying) : 0;
    let held = ranking.cumulative_at(rank);
    const last = rank;
    for (const place of edit.gone) {
      const is_in = edit.came_ranks.get(place) <= stop;
      if (place <= last && !is_in) held -= ranking.weight_at(place);
      if (place > last && is_in) held += ranking.weight_at(place);
      if (is_in) rank = Math.max(rank, place);
    }
    return { rank, mass: held / mass };
  }

  /** The penalty's ranking, where it comes after a cut. */
  late_edit(done) {
    const late = this.stages.slice(this.uncut, done).find(stage => stage.name === 'repetition_penalty');
    return late?.after.ranking;
  }

  /** Rank before the cuts of what has this rank at the end. */
  rank_before_cuts(rank) {
    const id = this.final.ranking.id_at(rank);
    if (id !== null) {
      const ranks = this.trace(raw_rank_of(this.row, id));
      if (ranks.at(-1) === rank) return ranks[this.uncut];
    }
    const edit = this.late_edit(this.stages.length);
    if (!edit) return rank;
    for (const [place, own] of edit.came_ranks) if (own === rank) return place;
    return edit.parent_rank_of_staying(edit.staying_upto(rank));
  }

  /**
   * The token at `u` on the cumulative distribution, in rank order from the most likely.
   *
   * @returns {{rank: number, id: number|null, probability: number, from: number, to: number}} rank at the
   *   end of the chain; the id where it is known; its stretch of the cumulative distribution
   */
  draw(u) {
    const { ranking, mass, before } = this.final;
    const rank = this.final.rank_at(u);
    return {
      rank,
      id: ranking.id_at(rank),
      probability: ranking.weight_at(rank) / mass,
      from: (ranking.cumulative_at(rank - 1) - before) / mass,
      to: Math.min(1, (ranking.cumulative_at(rank) - before) / mass),
    };
  }
}

// By the array of scores: the raw tokens, and what the last chain made of them.
const MEMORY = new WeakMap();
const NO_CONTEXT = new Set();

/**
 * Run a chain over a row. What the last call for this row has in common with this one is not computed again.
 *
 * @param {object} row see row.js
 * @param {{name: string, value: number}[]} chain the stages that are on, in any order
 * @param {object} [options]
 * @param {Set<number>} [options.context] ids of the tokens so far, which the penalty looks at
 * @param {object[]|null} [options.figures] the engine's results by stage, for a row whose tail is in bins
 * @param {boolean} [options.keep] false for a trial, which leaves what is remembered alone
 * @returns {Shaped}
 */
export function shape(row, chain, { context = NO_CONTEXT, figures = null, keep = true } = {}) {
  let memory = MEMORY.get(row.values);
  if (!memory) {
    memory = { start: new Survivors(new Ranking(row.values, row.counts, row.ids)), stages: [] };
    MEMORY.set(row.values, memory);
  }
  const stages = [];
  let survivors = memory.start;
  let is_same = true;
  for (const [place, stage] of chain.entries()) {
    const own = stage.name === 'repetition_penalty' ? context : NO_CONTEXT;
    const known = memory.stages[place];
    is_same &&= known?.name === stage.name && known.value === stage.value && known.context === own
      && known.figures === figures?.[place];
    const result = is_same ? known : run_stage(row, stage, survivors, stages, own, figures?.[place]);
    stages.push(result);
    survivors = result.after;
  }
  if (keep) memory.stages = stages;
  return new Shaped(row, memory.start, stages);
}

function run_stage(row, stage, before, earlier, context, figures) {
  const is_penalty = stage.name === 'repetition_penalty';
  const edits = is_penalty ? edits_of(row, stage.value, before, earlier, context) : null;
  let after = APPLY[stage.name](before, stage.value, edits);
  if (figures) after = new Survivors(after.ranking, after.start, after.start + figures.survivors);
  return new StageResult(stage, before, after, context, figures);
}

/** The context's tokens in the race: rank just before the penalty, and the score that it gives them. */
function edits_of(row, penalty, before, earlier, context) {
  const edits = [];
  for (const id of context) {
    const raw_rank = raw_rank_of(row, id);
    let rank = raw_rank;
    let score = raw_rank && raw_score(row, id, raw_rank);
    for (const stage of earlier) {
      score = stage.edit(score, id);
      rank = rank && stage.follow(rank);
    }
    if (rank && before.has(rank)) edits.push({ rank, id, value: penalised(score, penalty) });
  }
  return edits;
}

/** Logit of a token whose rank is known; exact in a binned tail too, where its score came along. */
export function raw_score(row, id, raw_rank) {
  if (!row.exact && raw_rank > row.ids.length) {
    const place = first_index(0, row.seen_ids.length, index => row.seen_ids[index] >= id);
    if (row.seen_ids[place] === id) return row.seen_values[place];
  }
  return MEMORY.get(row.values).start.ranking.value_at(raw_rank);
}
