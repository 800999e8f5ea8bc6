// A row of raw logits and a chain of settings -> what every sampler leaves, and the draw. Temperature, top-k, top-p and
// min-p are computed here, so that their sliders wait for nothing; of every other sampler the server's engine tells
// what it did, see outcomes.js.

import { is_same_link } from './chain.js';
import { EditedRanking } from './edited.js';
import { cut_as_told, GivenRanking, learn_from, outcomes_for } from './outcomes.js';
import { Ranking } from './ranking.js';
import { StageResult } from './result.js';
import { knowledge_of, raw_rank_of, told_score } from './row.js';
import { ScaledRanking } from './scaled.js';
import { Shaped } from './shaped.js';
import { Survivors } from './survivors.js';

/**
 * @import { Chain, Link, Outcome, Row } from '../types.js'
 * @import { Edit } from './edited.js'
 * @import { Made } from './result.js'
 *
 * @typedef {{start: Survivors, knowledge: number, chains: Map<string, StageResult[]>}} Memory the raw tokens, and
 *   what the last chains made of them
 */

/** Beyond it whole numbers are no longer exact in a browser. */
export const LARGEST_SEED = Number.MAX_SAFE_INTEGER;

/**
 * The cuts that are previewed here, ui/components/outcomes.py names them and temperature.
 *
 * @type {Record<string, (survivors: Survivors, value: number) => Survivors>}
 */
const CUTS = {
  top_k: (survivors, k) => survivors.leading(k, true),
  top_p: (survivors, p) => (p < 1 ? survivors.reaching_mass(p) : survivors),
  min_p: (survivors, ratio) => (ratio > 0 ? survivors.above_ratio(ratio) : survivors),
};

/**
 * Figures of those cuts, besides the ones that all samplers have.
 *
 * @type {Record<string, (value: number, before: Survivors, after: Survivors) => Record<string, number>>}
 */
const FIGURES = {
  top_k: (k, _, after) => ({ tied: Math.max(0, after.count - k) }),
  min_p: (ratio, before) => ({ threshold: ratio * before.prob_at(before.start + 1) }),
};

/** Tell if the browser computes a sampler itself. @param {string} name */
export const is_previewed = name => name === 'temperature' || Object.hasOwn(CUTS, name);

/**
 * By the array of scores, so that a copy of the row object finds it as well.
 *
 * @type {WeakMap<Float32Array, Memory>}
 */
const MEMORY = new WeakMap();

/** @param {Row} row @returns {Memory} */
function memory_of(row) {
  const knowledge = knowledge_of(row);
  let memory = MEMORY.get(row.values);
  if (!memory || memory.knowledge !== knowledge) {
    const raw = new Ranking({ values: row.values, counts: row.counts }, row.ids);
    const start = new Survivors(raw);
    const { total: mass, entropy_bits } = row;
    const is_told = mass !== undefined && entropy_bits !== undefined;
    memory = {
      start: is_told ? start.with_sums({ mass, entropy_bits }) : start,
      knowledge,
      chains: new Map(),
    };
    MEMORY.set(row.values, memory);
  }
  return memory;
}

/**
 * Run a chain over a row. What the last call for this row has in common with this one is not computed again.
 *
 * @param {Row} row
 * @param {Chain} chain
 * @param {string} [keep] under which name the results are remembered
 */
export function shape(row, chain, keep = 'main') {
  const outcomes = outcomes_for(row, chain);
  learn_from(row, outcomes);
  const memory = memory_of(row);
  const remembered = memory.chains.get(keep) ?? [];
  /** @type {StageResult[]} */
  const stages = [];
  let before = memory.start;
  let is_same = true;
  let missing = null;
  for (const [place, link] of chain.entries()) {
    const known = remembered[place];
    const told = outcomes[place];
    is_same &&= known && is_same_link(known, link) && known.told === told;
    const result = is_same ? known : run(link, { row, before, earlier: stages }, told);
    if (!result) {
      missing = link.name;
      break;
    }
    stages.push(result);
    before = result.after;
  }
  memory.chains.set(keep, stages);
  return new Shaped(row, memory.start, stages, missing);
}

/**
 * @typedef {object} Scene where a sampler stands
 * @property {Row} row
 * @property {Survivors} before
 * @property {StageResult[]} earlier
 */

/**
 * @param {Link} link
 * @param {Scene} scene
 * @param {Outcome | undefined} told
 * @returns {StageResult | null} null where only the server can say
 */
function run(link, scene, told) {
  const { before } = scene;
  if (!before.count) {
    return new StageResult(link, before, { kind: 'cut', after: before, figures: {}, case: 'none' });
  }
  if (!told) {
    return is_previewed(link.name) ? new StageResult(link, before, previewed(link, before)) : null;
  }
  const made = made_as_told(link, scene, told);
  const mass = told.mass * Math.exp(told.highest - made.after.ranking.highest); // relative to the ranking's own
  return new StageResult(link, before, { ...made, after: made.after.with_sums({ ...told, mass }) }, told);
}

/**
 * @param {Link} link
 * @param {Survivors} before
 * @returns {Made}
 */
function previewed({ name, value }, before) {
  const number = /** @type {number} */ (value);
  if (name === 'temperature') {
    return number === 0
      ? { kind: 'cut', after: before.leading(1, false), figures: {}, case: 'greedy' }
      : { ...scaled(before, number), figures: {} };
  }
  const after = CUTS[name](before, number);
  const figures = FIGURES[name]?.(number, before, after) ?? {};
  return { kind: 'cut', after, figures, case: figures.tied ? 'tied' : after.count < before.count ? '' : 'none' };
}

/**
 * @param {Link} link
 * @param {Scene} scene
 * @param {Outcome} told
 * @returns {Made}
 */
function made_as_told({ kind = 'cut' }, scene, told) {
  const { before } = scene;
  const known = { kind, figures: told.figures, case: told.case };
  if (told.kept === 'scaled') return { ...scaled(before, Number(told.temperature)), ...known };
  if (told.kept === 'moved') {
    const values = new Map((told.moved ?? []).map(([id, , , value]) => [id, value ?? -Infinity]));
    return { ...edited(scene, values), ...known };
  }
  if (told.kept === 'row' && told.row) {
    const ranking = new GivenRanking(before, told.row);
    return { ...known, after: new Survivors(ranking), score_after: (_, id) => ranking.score_of(id) };
  }
  return { ...known, kind: told.case === 'greedy' ? 'cut' : kind, after: cut_as_told(before, told) };
}

/**
 * @param {Survivors} before
 * @param {number} temperature above 0
 * @returns {Omit<Made, 'figures'>}
 */
function scaled(before, temperature) {
  const divisor = Math.fround(temperature);
  const after = new Survivors(new ScaledRanking(before, temperature));
  const which = before.count === 1 ? 'single' : temperature === 1 ? 'none' : temperature < 1 ? 'sharper' : 'flatter';
  return { kind: 'scale', after, case: which, score_after: score => Math.fround(score / divisor) };
}

/**
 * Tokens moved one by one.
 *
 * @param {Scene} scene
 * @param {Map<number, number>} values new scores by id, -Infinity if removed
 */
function edited({ row, before, earlier }, values) {
  /** @type {Edit[]} */
  const edits = [];
  const places = new Map(); // by id: rank and score just before this sampler, from where a later one goes on
  const is_lost = lost_in(earlier);
  for (const [id, value] of values) {
    const raw_rank = raw_rank_of(row, id);
    if (!raw_rank || is_lost(id)) continue;
    const place = place_before(row, id, raw_rank, earlier);
    places.set(id, place);
    if (place.rank && value !== place.score) edits.push({ ...place, id, value });
  }
  const is_empty = edits.length === before.count && edits.every(edit => edit.value === -Infinity);
  const after = is_empty ? before.none() : edits.length ? new Survivors(rank_edited(before, edits, earlier)) : before;
  /** @type {Made['score_after']} */
  const score_after = (score, id) => values.get(id) ?? score;
  return { kind: /** @type {const} */ ('edit'), after, edits, places, score_after };
}

/**
 * Tells of a token whether its place is no longer known: behind other scores for all, of which only the leading ids
 * came along.
 *
 * @param {StageResult[]} earlier
 * @returns {(id: number) => boolean}
 */
function lost_in(earlier) {
  const given = earlier.map(stage => stage.after.ranking).filter(ranking => ranking instanceof GivenRanking);
  return id => given.some(ranking => !ranking.knows(id));
}

/**
 * Edits in a row are made of the same ranking, so that only the last is built; behind a cut each ranking descends
 * from the one before the cut, which tokens are traced back to.
 *
 * @param {Survivors} before
 * @param {Edit[]} edits
 * @param {StageResult[]} earlier
 */
function rank_edited(before, edits, earlier) {
  const { ranking } = before;
  const is_further = ranking instanceof EditedRanking && !earlier.some(stage => stage.is_cut);
  return is_further ? ranking.edited(edits) : new EditedRanking(before, edits);
}

/**
 * A token's rank and score after these samplers; rank 0 where one of them removed it.
 *
 * @param {Row} row
 * @param {number} id
 * @param {number} raw_rank
 * @param {StageResult[]} stages
 */
function place_before(row, id, raw_rank, stages) {
  let from = stages.findLastIndex(stage => stage.made.places?.has(id));
  const known = from >= 0 ? stages[from].made.places?.get(id) : undefined;
  let { rank, score } = known ?? { rank: raw_rank, score: raw_score(row, id, raw_rank) };
  for (from = Math.max(from, 0); rank && from < stages.length; from++) {
    rank = stages[from].follow(rank);
    score = stages[from].edit(score, id);
  }
  return { rank, score };
}

/**
 * Logit of a token whose rank is known; exact in a binned tail too, where its score came along.
 *
 * @param {Row} row
 * @param {number} id
 * @param {number} raw_rank
 */
export function raw_score(row, id, raw_rank) {
  const told = row.exact || raw_rank <= row.ids.length ? undefined : told_score(row, id);
  return told ?? memory_of(row).start.ranking.value_at(raw_rank);
}
