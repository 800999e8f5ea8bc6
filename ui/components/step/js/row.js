// One row of raw logits as it arrives: runs of equal scores, ids in rank order. See rows.py for the layout.

const SMALL_VOCABULARY = 65536; // up to here every id is sent, in two bytes

/**
 * The arrays of a row.
 *
 * @param {object} header what `pack_row` put into the message's header
 * @param {ArrayBuffer} buffer holds the arrays; they stay views of it where `offset` is a multiple of four
 * @param {number} offset where they begin
 * @returns {{vocab: number, possible: number, exact: boolean, values: Float32Array, counts: Uint32Array,
 *   ids: Uint16Array|Uint32Array, seen_ids: Uint32Array, seen_ranks: Uint32Array, seen_values: Float32Array}}
 */
export function unpack_row(header, buffer, offset) {
  if (offset % 4) return unpack_row(header, buffer.slice(offset), 0);
  let place = offset;
  const next = (kind, length) => {
    const array = new kind(buffer, place, length);
    place += Math.ceil(array.byteLength / 4) * 4;
    return array;
  };
  return {
    vocab: header.vocab,
    possible: header.possible,
    exact: header.exact,
    values: next(Float32Array, header.runs),
    counts: next(Uint32Array, header.runs),
    ids: next(header.vocab <= SMALL_VOCABULARY ? Uint16Array : Uint32Array, header.known),
    seen_ids: next(Uint32Array, header.seen),
    seen_ranks: next(Uint32Array, header.seen),
    seen_values: next(Float32Array, header.seen),
  };
}

// By the array of scores, so that a copy of the row object finds it as well.
const RANKS = new WeakMap();

/** Rank of a token in the row, from 1; 0 where it is not known (or the token is at -inf). */
export function raw_rank_of(row, id) {
  let ranks = RANKS.get(row.values);
  if (!ranks) {
    ranks = new Uint32Array(row.vocab);
    row.seen_ids.forEach((seen, place) => { ranks[seen] = row.seen_ranks[place]; });
    row.ids.forEach((known, place) => { ranks[known] = place + 1; });
    RANKS.set(row.values, ranks);
  }
  return ranks[id] ?? 0;
}
