// A row of raw logits and a chain of settings -> what every stage leaves, and the draw: engine/sampling.py
// in the browser. The stages themselves are in stages_edit.js and stages_cut.js.

import { chain_of, DEFAULT_ORDER, is_on, is_same_chain, OFF } from './chain.js';
import { is_same_value, NO_CONTEXT } from './context.js';
import { EditedRanking } from './edited.js';
import { Ranking, ScaledRanking } from './ranking.js';
import { is_settled, knowledge_of, raw_rank_of, told_score } from './row.js';
import { CUTS, is_cut_stage } from './rules_cut.js';
import { EDITS, SCALES } from './rules_edit.js';
import { Survivors } from './survivors.js';

export { chain_of, DEFAULT_ORDER, is_cut_stage, is_on, is_same_chain, OFF };

/** Beyond it whole numbers are no longer exact in a browser. */
export const LARGEST_SEED = Number.MAX_SAFE_INTEGER;

/** How many different tokens of the text, up to a step, the repetition penalty acts on. */
export function seen_count({ prompt_tokens, steps }, index) {
  return new Set([...prompt_tokens, ...steps.slice(0, index)].map(token => token.id)).size;
}

/** What one stage did: `before` and `after` are the tokens in the race. */
class StageResult {
  /**
   * @param {{name: string, value: number|object}} stage
   * @param {Survivors} before
   * @param {object} made `after`, and the stage's own figures; an edit's `touched` and `edits` are in it
   * @param {Context} context
   * @param {object} [figures] the engine's own, of a row that is here only in bins
   */
  constructor({ name, value }, before, made, context, figures) {
    Object.assign(this, { name, value, before, after: made.after, made, context, figures });
  }

  /** Share of the probability just before that the tokens removed here held. */
  get mass_removed() {
    this.removed ??= this.figures?.mass_removed ?? removed_mass(this);
    return this.removed;
  }

  /** Shannon entropy in bits after it. */
  get entropy_bits() {
    this.entropy ??= this.figures?.entropy_bits ?? this.after.entropy_bits;
    return this.entropy;
  }

  /** Whether it left nobody in the race. */
  get has_emptied() {
    return this.before.count > 0 && this.after.count === 0;
  }

  /** Rank after this stage of what had this rank before it; 0 for a token that it removed. */
  follow(rank) {
    const { after } = this;
    const own = this.is_in_place ? rank : after.ranking.rank_from_parent(this.in_parent(rank));
    return own && after.has(own) ? own : 0;
  }

  /** Rank before this stage of what has this rank after it. */
  follow_back(rank) {
    const { before, after } = this;
    if (this.is_in_place) return rank;
    const in_parent = after.ranking.rank_in_parent(rank);
    const is_parent = before.ranking === after.ranking.parent.ranking;
    return is_parent ? in_parent : before.ranking.rank_from_parent(in_parent);
  }

  /** Whether the ranking before it is the one after it. */
  get is_in_place() {
    return this.before.ranking === this.after.ranking;
  }

  /** A rank before this stage, in the ranking of which the one after it was made: several edits share it. */
  in_parent(rank) {
    const { before, after } = this;
    return before.ranking === after.ranking.parent.ranking ? rank : before.ranking.rank_in_parent(rank);
  }

  /** A token's score after this stage. */
  edit(score, id) {
    const { touched, divisor } = this.made;
    if (divisor !== undefined) return Math.fround(score / divisor);
    const argument = touched?.get(id);
    return argument === undefined ? score : EDITS[this.name].move(score, argument);
  }
}

function removed_mass({ before, after, made }) {
  if (before.count === after.count) return 0;
  if (after.count === 0) return 1;
  if (after.ranking === before.ranking) return Math.max(0, 1 - after.mass / before.mass);
  if (made.edits) {
    const dropped = made.edits.filter(edit => edit.value === -Infinity);
    const { total, highest } = before.rough_sums;
    return dropped.reduce((sum, { score }) => sum + Math.exp(score - highest), 0) / total;
  }
  // A division that sent scores below every float32 number.
  return 1 - before.upto(before.start + after.count).mass / before.mass;
}

const LARGEST_EDGE = 4096; // tokens of one score, cut apart, that are looked at one by one

/** What a chain made of a row. Tokens go by their rank in the raw row, from 1. */
class Shaped {
  constructor(row, start, stages) {
    Object.assign(this, { row, start, stages, raw: start.ranking });
    const cut = stages.findIndex(is_cut_stage);
    /** How many stages come before the first that cuts. */
    this.uncut = cut < 0 ? stages.length : cut;
    // A ban that left nobody ends the ranking too: the tokens just before it are the last to be seen.
    const emptied = stages.findIndex(stage => stage.has_emptied);
    if (emptied >= 0) this.uncut = Math.min(this.uncut, emptied);
    /** The stage that left nobody in the race; null where somebody is left. */
    this.emptied_by = stages[emptied] ?? null;
    /** The tokens just before it: the ranking that tables are in. */
    this.before_cuts = this.after(this.uncut);
    this.final = this.after(stages.length);
  }

  /** The tokens in the race after the first `done` stages. */
  after(done) {
    return done ? this.stages[done - 1].after : this.start;
  }

  /** Tokens that a stage moves though their rank in the row is not known here. */
  get unknown() {
    return this.stages.flatMap(stage => stage.made.unknown ?? []);
  }

  /** Entropy in bits after the temperature or, without one, just before the first cut. */
  get tempered_entropy() {
    const place = this.stages.findLastIndex(({ name }) => name in SCALES);
    return this.entropy_after(place < 0 ? this.uncut : place + 1);
  }

  /** Entropy in bits after the first `done` stages. */
  entropy_after(done) {
    return done ? this.stages[done - 1].entropy_bits : this.raw.entropy_bits;
  }

  /** Ranks of a token after 0, 1, 2, ... stages; 0 from the stage on that removed it. */
  trace(rank, first = 0) {
    const ranks = [rank];
    for (let place = first; place < this.stages.length; place++) {
      ranks.push((rank &&= this.stages[place].follow(rank)));
    }
    return ranks;
  }

  /** Score of a token after the first `done` stages. */
  score(logit, id, done) {
    let score = logit;
    for (let place = 0; place < done; place++) score = this.stages[place].edit(score, id);
    return score;
  }

  /** What a token of this rank before the cuts has in the draw. */
  final_prob_of(rank) {
    const last = this.trace(rank, this.uncut).at(-1);
    return last ? this.final.prob_at(last) : 0;
  }

  /** Rank before the cuts of what has this rank after the first `done` stages. */
  rank_before_cuts(rank, done = this.stages.length) {
    for (let place = done - 1; place >= this.uncut; place--) rank = this.stages[place].follow_back(rank);
    return rank;
  }

  /** Rank in the raw row of what has this rank at the end. */
  rank_in_row(rank) {
    return this.stages.reduceRight((own, stage) => stage.follow_back(own), rank);
  }

  /**
   * Where the survivors of the first `done` stages lie in the ranking before the cuts.
   *
   * @returns {{first: number, rank: number, mass: number}} ranks of the first and the last one there, and the
   *   probability they held
   */
  extent(done) {
    const { ranking, mass } = this.before_cuts;
    const now = this.after(done);
    if (now.count === 0) return { first: 1, rank: 0, mass: 0 };
    if (now.ranking === ranking) return { first: now.start + 1, rank: now.stop, mass: now.mass / mass };
    return this.late_extent(done, now);
  }

  /** The same after an edit behind a cut: all but a few tokens still stand in the order they had before. */
  late_extent(done, now) {
    const { ranking, mass } = this.before_cuts;
    const single = this.displaced(done, now);
    let [first, last, held] = [Infinity, 0, 0];
    const include = rank => {
      first = Math.min(first, rank);
      last = Math.max(last, rank);
    };
    const stays = rank => this.trace(rank, this.uncut)[done - this.uncut] > 0;
    for (const rank of single) {
      if (!stays(rank)) continue;
      include(rank);
      held += ranking.weight_at(rank);
    }
    const outermost = (from, to, step) => {
      for (let rank = from; rank !== to + step; rank += step) {
        const back = this.rank_before_cuts(rank, done);
        if (!single.has(back)) return back;
      }
      return 0;
    };
    const low = outermost(now.start + 1, now.stop, 1);
    if (low) {
      const high = outermost(now.stop, now.start + 1, -1);
      held += ranking.cumulative_at(high) - ranking.cumulative_at(low - 1);
      for (const rank of single) if (rank >= low && rank <= high) held -= ranking.weight_at(rank);
      include(low);
      include(high);
    }
    return { first, rank: last, mass: Math.min(1, Math.max(0, held / mass)) };
  }

  /** Ranks before the cuts of tokens that later stages moved singly, or whose new equals are cut apart. */
  displaced(done, now) {
    const ranks = new Set();
    for (let place = this.uncut; place < done; place++) {
      const edits = this.stages[place].made.edits ?? [];
      for (const { rank } of edits) ranks.add(this.rank_before_cuts(rank, place));
    }
    const late = this.stages.slice(this.uncut, done);
    if (late.some(stage => stage.after.ranking.merged?.length)) {
      for (const edge of [now.start + 1, now.stop]) {
        const run = now.ranking.run_at(edge);
        if (now.ranking.counts[run] > LARGEST_EDGE) continue;
        const end = now.ranking.end_of(run);
        for (let rank = now.ranking.starts[run] + 1; rank <= end; rank++) {
          ranks.add(this.rank_before_cuts(rank, done));
        }
      }
    }
    return ranks;
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

// By the array of scores: the raw tokens, and what the last chains made of them.
const MEMORY = new WeakMap();

/**
 * Run a chain over a row. What the last call for this row has in common with this one is not computed again.
 *
 * @param {object} row see row.js
 * @param {{name: string, value: number|object}[]} chain the stages that are on, in any order
 * @param {object} [options]
 * @param {Context} [options.context] the text so far, and what else belongs to the step
 * @param {object[]|null} [options.figures] the engine's results by stage, for a row whose tail is in bins
 * @param {string|null} [options.keep] under which name the results are remembered; null for a trial, which
 *   starts from what 'main' remembers and leaves it alone
 * @returns {Shaped}
 */
export function shape(row, chain, { context = NO_CONTEXT, figures = null, keep = 'main' } = {}) {
  const knowledge = knowledge_of(row);
  let memory = MEMORY.get(row.values);
  if (!memory || memory.knowledge !== knowledge) {
    memory = { start: new Survivors(new Ranking(row.values, row.counts, row.ids)), knowledge };
    MEMORY.set(row.values, memory);
  }
  const remembered = memory[keep ?? 'main'] ?? memory.main ?? [];
  const stages = [];
  let survivors = memory.start;
  let is_same = true;
  for (const [place, stage] of chain.entries()) {
    const own = uses_context(stage) ? context : NO_CONTEXT;
    const known = remembered[place];
    is_same &&=
      known?.name === stage.name &&
      is_same_value(known.value, stage.value) &&
      known.context === own &&
      known.figures === figures?.[place];
    const result = is_same ? known : run_stage(row, stage, survivors, stages, own, figures?.[place]);
    stages.push(result);
    survivors = result.after;
  }
  if (keep) memory[keep] = stages;
  return new Shaped(row, memory.start, stages);
}

const uses_context = ({ name }) => name in EDITS || name === 'xtc' || name === 'mirostat';

function run_stage(row, stage, before, earlier, context, figures) {
  const made = made_by(row, stage, before, earlier, context, figures);
  return new StageResult(stage, before, made, context, figures);
}

function made_by(row, stage, before, earlier, context, figures) {
  const { name, value } = stage;
  if (!before.count) return { after: before };
  if (name in EDITS) return edited(row, stage, before, earlier, context);
  if (is_cut_stage(stage)) {
    const made = name in CUTS ? CUTS[name](before, value, context) : { after: before.leading(1, false) };
    if (!figures) return made;
    const { ranking } = made.after;
    const start = (figures.first_rank ?? before.start + 1) - 1;
    return { ...made, after: new Survivors(ranking, start, start + figures.survivors) };
  }
  const made = SCALES[name](value, before);
  const after = new Survivors(new ScaledRanking(before, made.temperature));
  return { ...made, after, divisor: Math.fround(made.temperature) };
}

/** What an edit makes: `edits` are the tokens in the race that move, with rank, id, score and new value. */
function edited(row, { name, value }, before, earlier, context) {
  const { touched: of, move } = EDITS[name];
  const touched = context.remember(name, value, () => of(value, context));
  const edits = [];
  const unknown = [];
  const places = new Map(); // by id: rank and score just before this stage, from where a later one goes on
  for (const [id, argument] of touched) {
    const raw_rank = raw_rank_of(row, id);
    if (!raw_rank) {
      if (!is_settled(row, id)) unknown.push(id);
      continue;
    }
    const place = place_before(row, id, raw_rank, earlier);
    places.set(id, place);
    if (!place.rank) continue;
    const value_after = move(place.score, argument);
    if (value_after !== place.score) edits.push({ ...place, id, value: value_after });
  }
  const is_empty = edits.length === before.count && edits.every(edit => edit.value === -Infinity);
  const after = is_empty ? before.none() : edits.length ? new Survivors(rank_edited(before, edits)) : before;
  return { after, touched, edits, unknown, places };
}

function rank_edited(before, edits) {
  const { ranking } = before;
  const is_further = ranking instanceof EditedRanking && !before.is_cut;
  return is_further ? ranking.edited(edits) : new EditedRanking(before, edits);
}

/** A token's rank and score after these stages; rank 0 where one of them removed it. */
function place_before(row, id, raw_rank, stages) {
  let from = stages.findLastIndex(stage => stage.made.places?.has(id));
  let { rank, score } =
    from >= 0 ? stages[from].made.places.get(id) : { rank: raw_rank, score: raw_score(row, id, raw_rank) };
  for (from = Math.max(from, 0); rank && from < stages.length; from++) {
    rank = stages[from].follow(rank);
    score = stages[from].edit(score, id);
  }
  return { rank, score };
}

/** Logit of a token whose rank is known; exact in a binned tail too, where its score came along. */
export function raw_score(row, id, raw_rank) {
  const told = row.exact || raw_rank <= row.ids.length ? undefined : told_score(row, id);
  return told ?? MEMORY.get(row.values).start.ranking.value_at(raw_rank);
}
