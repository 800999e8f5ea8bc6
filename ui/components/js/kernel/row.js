// One row of raw logits as it arrives: runs of equal scores, ids in rank order. See rows.py for the layout.

/**
 * @import { PackedRow, Token } from '../types.js'
 *
 * @typedef {{vocab: number, possible: number, exact: boolean, runs: number, known: number}} RowHeader of a message;
 *   `runs`: length of `values` and `counts`, `known`: of `ids`
 *
 * @typedef {object} Known known facts about single tokens of a row
 * @property {Uint32Array} ranks by id, from 1; 0 if unknown
 * @property {Map<number, number>} scores by id, for tokens whose ranks were sent individually
 * @property {Map<number, number>} ids of these tokens, by rank
 * @property {Set<number>} settled tokens known to be at -inf
 */

const SMALL_VOCABULARY = 65536; // up to this size every id is sent, in two bytes
const SIGN = 2 ** 31;

/**
 * Unpack the arrays of a row.
 *
 * @param {RowHeader} header
 * @param {ArrayBuffer} buffer
 * @param {number} offset start of the arrays, a multiple of four
 * @returns {PackedRow}
 */
export function unpack_row({ vocab, possible, exact, runs, known }, buffer, offset) {
  const { end, ...unpacked } = unpack_runs(buffer, offset, runs);
  const ids = vocab <= SMALL_VOCABULARY ? new Uint16Array(buffer, end, known) : new Uint32Array(buffer, end, known);
  return { vocab, possible, exact, ...unpacked, ids };
}

/**
 * Unpack runs of equal scores.
 *
 * @param {ArrayBuffer} buffer
 * @param {number} offset
 * @param {number} length number of runs
 * @returns {{values: Float32Array, counts: Uint32Array, end: number}} `end`: where the next array begins
 */
export function unpack_runs(buffer, offset, length) {
  const bytes = new Uint8Array(buffer);
  const [values, counts] = [new Float32Array(length), new Uint32Array(length).fill(1)];
  const patterns = new Uint32Array(values.buffer);
  let place = offset;
  function next() {
    let number = bytes[place] & 127;
    for (let weight = 128; bytes[place++] > 127; weight *= 128) number += (bytes[place] & 127) * weight;
    return number;
  }
  let ordered = 2 ** 32 - 1; // the pattern with its sign inverted, and all bits of a negative score
  for (let run = 0; run < length; run++) {
    const number = next();
    ordered -= Math.floor(number / 2);
    patterns[run] = ordered < SIGN ? ~ordered : ordered - SIGN;
    if (number % 2) counts[run] = next();
  }
  return { values, counts, end: Math.ceil(place / 4) * 4 };
}

/**
 * Keyed by the array of scores, so that a copy of the row object finds the entry too.
 *
 * @type {WeakMap<Float32Array, Known>}
 */
const KNOWN = new WeakMap();

/** @param {PackedRow} row @returns {Known} */
function known_of(row) {
  let known = KNOWN.get(row.values);
  if (known) return known;
  known = { ranks: new Uint32Array(row.vocab), scores: new Map(), ids: new Map(), settled: new Set() };
  KNOWN.set(row.values, known);
  for (let place = 0; place < row.ids.length; place++) known.ranks[row.ids[place]] = place + 1;
  return known;
}

/**
 * Rank of a token in the row, from 1; 0 if unknown (or the token is at -inf).
 *
 * @param {PackedRow} row
 * @param {number} id
 */
export const raw_rank_of = (row, id) => known_of(row).ranks[id] ?? 0;

/** Token at a rank of the row; null if unknown. @param {PackedRow} row @param {number} raw */
export const id_of = (row, raw) => row.ids[raw - 1] ?? known_of(row).ids.get(raw) ?? null;

/**
 * Score of a token whose rank was sent individually; undefined for all others.
 *
 * @param {PackedRow} row
 * @param {number} id
 */
export const told_score = (row, id) => known_of(row).scores.get(id);

/**
 * Tell if a token without a rank is known to have none: it is at -inf or the model does not score it.
 *
 * @param {PackedRow} row
 * @param {number} id
 */
export const is_settled = (row, id) =>
  id >= row.vocab || row.ids.length === row.possible || known_of(row).settled.has(id);

/**
 * Record a single token of the row that a search found or the server returned on request.
 *
 * @param {PackedRow} row
 * @param {Token} token
 */
export function learn_token(row, { id, raw_rank = 0, logit = null }) {
  const known = known_of(row);
  if (id >= row.vocab || known.ranks[id] || known.settled.has(id)) return;
  if (logit !== null && Number.isFinite(logit) && raw_rank >= 1 && raw_rank <= row.possible) {
    known.ranks[id] = raw_rank;
    known.scores.set(id, logit);
    known.ids.set(raw_rank, id);
  } else {
    known.settled.add(id);
  }
}
