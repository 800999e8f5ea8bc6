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
const KNOWN = new WeakMap();

function known_of(row) {
  let known = KNOWN.get(row.values);
  if (!known) {
    known = { ranks: new Uint32Array(row.vocab), scores: new Map(), settled: new Set(), version: 0 };
    row.seen_ids.forEach((seen, place) => {
      known.ranks[seen] = row.seen_ranks[place];
      known.scores.set(seen, row.seen_values[place]);
    });
    row.ids.forEach((id, place) => {
      known.ranks[id] = place + 1;
    });
    KNOWN.set(row.values, known);
  }
  return known;
}

/** Rank of a token in the row, from 1; 0 where it is not known (or the token is at -inf). */
export const raw_rank_of = (row, id) => known_of(row).ranks[id] ?? 0;

/** Score of a token whose rank came along singly; undefined for any other. */
export const told_score = (row, id) => known_of(row).scores.get(id);

/** Whether a token without a rank is known to have none: it is at -inf, or the model has no score for it. */
export const is_settled = (row, id) =>
  id >= row.vocab || row.ids.length === row.possible || known_of(row).settled.has(id);

/** A number that changes whenever more about the row's tokens is known. */
export const knowledge_of = row => known_of(row).version;

/**
 * Take down what is known of a single token of the row: a search found it, or the server was asked for it.
 *
 * @param {object} row
 * @param {{id: number, raw_rank?: number, logit?: number|null}} token without a finite logit it is at -inf
 */
export function learn_token(row, { id, raw_rank = 0, logit = null }) {
  const known = known_of(row);
  if (id >= row.vocab || known.ranks[id] || known.settled.has(id)) return;
  if (Number.isFinite(logit) && raw_rank >= 1 && raw_rank <= row.possible) {
    known.ranks[id] = raw_rank;
    known.scores.set(id, logit);
  } else {
    known.settled.add(id);
  }
  known.version++;
}
