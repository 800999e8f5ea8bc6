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

/**
 * Unpack the arrays of a row.
 *
 * @param {RowHeader} header
 * @param {ArrayBuffer} buffer holds the arrays; they remain views of the buffer if `offset` is a multiple of four
 * @param {number} offset start of the arrays
 * @returns {PackedRow}
 */
export function unpack_row(header, buffer, offset) {
  if (offset % 4) return unpack_row(header, buffer.slice(offset), 0);
  const { vocab, possible, exact } = header;
  let place = offset;
  /**
   * @template T
   * @param {{new (buffer: ArrayBuffer, offset: number, length: number): T, BYTES_PER_ELEMENT: number}} kind
   * @param {number} length
   */
  const next = (kind, length) => {
    const array = new kind(buffer, place, length);
    place += Math.ceil((kind.BYTES_PER_ELEMENT * length) / 4) * 4;
    return array;
  };
  return {
    ...{ vocab, possible, exact },
    values: next(Float32Array, header.runs),
    counts: next(Uint32Array, header.runs),
    ids: vocab <= SMALL_VOCABULARY ? next(Uint16Array, header.known) : next(Uint32Array, header.known),
  };
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
