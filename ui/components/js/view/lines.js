// Samplers' boundaries in the rows' ranking: a line for each that removes something, the remaining tokens as a whole,
// and the places where a share of the probability is reached.

import { value_of } from '../kernel/chain.js';
import { sampler_of } from '../kernel/table.js';
import { setting_text } from '../words/format.js';

/**
 * @import { Cut, Line, MassLine, Settings, Table } from '../types.js'
 * @import { Shaped } from '../kernel/shape.js'
 * @import { Stage } from '../kernel/stages.js'
 * @import { Stand } from './rows.js'
 */

const MOST_FOLLOWED = 500; // tokens above the remaining ones that are checked one by one while a slider moves

/**
 * A line for every sampler up to the point that removes something.
 *
 * @param {Stand} stand
 * @param {Settings} settings
 * @returns {Line[]}
 */
export function lines_of({ scene, shaped, done }, settings) {
  const { table } = scene;
  /** @type {Line[]} */
  const lines = [];
  let [first, last] = [1, shaped.before_cuts.count];
  for (const [place, stage] of shaped.stages.slice(0, done).entries()) {
    const in_ranking = place >= shaped.uncut;
    const extent = in_ranking ? shaped.extent(place + 1) : { first: 0, last: 0, is_contiguous: true };
    const is_empty = stage.after.count === 0;
    if (stage.after.count < stage.before.count) {
      lines.push({
        name: stage.name,
        label: setting_text(table, stage.name, value_of(table, settings, stage.name)),
        kind: sampler_of(table, stage.name)?.kind ?? stage.kind,
        removed: stage.before.count - stage.after.count,
        kept: stage.after.count,
        first_rank: extent.first,
        last_rank: extent.last,
        is_contiguous: extent.is_contiguous,
        in_ranking,
        is_lower: in_ranking && (is_empty || extent.last < last),
        is_upper: in_ranking && !is_empty && extent.first > first,
      });
    }
    if (in_ranking) [first, last] = [extent.first, extent.last];
  }
  return lines;
}

/**
 * The tokens left at the point as a whole; null if none of the ranking is removed.
 *
 * @param {Stand} stand
 * @returns {Cut | null}
 */
export function cut_of({ shaped, done, survivors }) {
  const { before_cuts } = shaped;
  if (done <= shaped.uncut || survivors.count === before_cuts.count) return null;
  const { first, last, is_contiguous, mass } = shaped.extent(done);
  return {
    first_rank: first,
    last_rank: last,
    is_contiguous,
    below: last < before_cuts.count ? remover_of(shaped, last + 1, done) : null,
    above: first > 1 ? removers_above(shaped, first, done) : [],
    kept: survivors.count,
    mass,
  };
}

/**
 * The sampler that removed the token with this rank before the cuts.
 *
 * @param {Shaped} shaped
 * @param {number} rank
 * @param {number} done
 */
function remover_of(shaped, rank, done) {
  if (!shaped.after(done).count) return shaped.emptied_by?.name ?? null;
  const raw = shaped.before_cuts.ranking.raw_at(rank);
  const out = shaped.stages.find(({ after }) => !after.place(raw));
  if (out) return out.name;
  // Ranks within a bin cannot be told apart.
  return shaped.stages.slice(shaped.uncut, done).findLast(removes)?.name ?? null;
}

/** @param {Stage} stage */
const removes = stage => stage.after.count < stage.before.count;

/**
 * The samplers that removed tokens above the first remaining one, in their order.
 *
 * @param {Shaped} shaped
 * @param {number} first
 * @param {number} done
 */
function removers_above(shaped, first, done) {
  const names = new Set();
  for (let rank = 1; rank <= Math.min(first - 1, MOST_FOLLOWED); rank++) names.add(remover_of(shaped, rank, done));
  return shaped.stages.filter(({ name }) => names.has(name)).map(({ name }) => name);
}

// --- shares of the probability --------------------------------------------------------------------

/**
 * For every sampler up to the point that keeps a share of the probability, the place of that share on the ranking's
 * cumulative curve.
 *
 * @param {Stand} stand
 * @param {Settings} settings
 * @returns {MassLine[]}
 */
export function mass_lines_of({ scene, shaped, done }, settings) {
  const { table } = scene;
  return shaped.stages.slice(0, done).flatMap((stage, place) => {
    const is_mass = sampler_of(table, stage.name)?.picture === 'mass' && typeof stage.value === 'number';
    if (!is_mass || !stage.before.count) return [];
    const { level, rank } = reached(shaped, place, stage, Number(stage.value));
    return [
      {
        name: stage.name,
        label: setting_text(table, stage.name, value_of(table, settings, stage.name)),
        target: Number(stage.value),
        level,
        is_share: level === null || Math.abs(level - Number(stage.value)) > 1e-9,
        rank,
      },
    ];
  });
}

/**
 * The place of a share of a sampler's input: its level on the curve, null if there is none, and the rank that reaches
 * it.
 *
 * If scores were divided in between, the share is at a certain fraction of its token's step before the sampler. The
 * level is at the same fraction of that token's step of the curve.
 *
 * @param {Shaped} shaped
 * @param {number} place the sampler's place
 * @param {Stage} stage
 * @param {number} share
 */
function reached(shaped, place, { before }, share) {
  const { ranking } = before;
  const { before_cuts: base } = shaped;
  const origins = shaped.origins(place);
  const own = Math.max(1, Math.min(before.first_rank(share), before.count));
  if (!origins) return { level: Math.min(1, (share * before.mass) / base.mass), rank: own };
  const leading = origins.subarray(0, own);
  const rank = leading[own - 1];
  const low = leading.reduce((least, each) => Math.min(least, each), rank);
  const high = leading.reduce((most, each) => Math.max(most, each), rank);
  if (high !== rank || high - low + 1 !== own) return { level: null, rank };
  const within = (share * before.mass - ranking.cumulative_at(own - 1)) / ranking.weight_at(own);
  const level = (base.ranking.cumulative_at(rank - 1) + within * base.ranking.weight_at(rank)) / base.mass;
  return { level: Math.min(1, level), rank };
}
