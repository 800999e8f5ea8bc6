// Classifier-free guidance: a step's row at any scale, made of the two rows that came along. Bit by bit the engine's
// (engine/decoding/guidance.py), so that the slider need not wait for the server.

import { raw_rank_of } from './row.js';

/**
 * @import { Row, Token } from '../types.js'
 *
 * @typedef {{prompt: Float32Array, negative: Float32Array}} TwoRows natural log-probabilities by token id
 * @typedef {{rank: number, prob: number}} Standing rank 0 at -inf
 */

const NOTHING = {
  seen_ids: new Uint32Array(),
  seen_ranks: new Uint32Array(),
  seen_values: new Float32Array(),
};
const SMALL_VOCABULARY = 65536;
const OFF = 1;

/**
 * The two rows as they arrive, by token id; `pack_guided` in rows.py lays them out.
 *
 * @param {{vocab: number}} header
 * @param {ArrayBuffer} buffer
 * @returns {TwoRows}
 */
export const unpack_guided = ({ vocab }, buffer) => ({
  prompt: new Float32Array(buffer, 0, vocab),
  negative: new Float32Array(buffer, 4 * vocab, vocab),
});

/**
 * The guided row by token id: three operations, each rounded to 32 bits as the engine's are.
 *
 * @param {TwoRows} rows
 * @param {number} scale
 */
function guided_scores({ prompt, negative }, scale) {
  if (scale === OFF) return prompt;
  const scores = new Float32Array(prompt.length);
  const factor = Math.fround(scale);
  for (let id = 0; id < scores.length; id++) {
    const [towards, away] = [prompt[id], negative[id]];
    scores[id] =
      towards === -Infinity || away === -Infinity
        ? -Infinity
        : Math.fround(factor * Math.fround(towards - away)) + away;
  }
  return scores;
}

const PLACES = 2 ** 20; // more than there are tokens: score and id together fit into one exact number

/**
 * Ids by falling score, equal ones by rising id; tokens at -inf are left out.
 *
 * @param {Float32Array} scores
 */
function ranked_ids(scores) {
  const bits = new Int32Array(scores.slice().buffer);
  const keys = new Float64Array(scores.length);
  let possible = 0;
  for (let id = 0; id < scores.length; id++) {
    if (scores[id] === -Infinity) continue;
    const bit = scores[id] === 0 ? 0 : bits[id]; // -0 is 0
    const falling = bit < 0 ? bit >>> 0 : 0x7fffffff - bit;
    keys[possible++] = falling * PLACES + id;
  }
  const sorted = keys.subarray(0, possible).sort();
  const ids = new (scores.length <= SMALL_VOCABULARY ? Uint16Array : Uint32Array)(possible);
  for (let place = 0; place < possible; place++) ids[place] = sorted[place] % PLACES;
  return ids;
}

/**
 * The row at another scale; what else belongs to the step stays.
 *
 * What the server has computed for the row belongs to its own scale, and goes.
 *
 * @template {Partial<Row> & {guidance: TwoRows}} T
 * @param {T} row
 * @param {number} scale
 */
export function at_scale(row, scale) {
  if (row.scale === scale) return row;
  const scores = guided_scores(row.guidance, scale);
  const ids = ranked_ids(scores);
  const values = new Float32Array(ids.length);
  const counts = new Uint32Array(ids.length);
  let runs = 0;
  for (const id of ids) {
    const score = scores[id] + 0;
    if (!runs || values[runs - 1] !== score) values[runs++] = score;
    counts[runs - 1] += 1;
  }
  return {
    ...row,
    ...NOTHING,
    exact: true,
    shaped: row.scale === undefined ? (row.shaped ?? null) : null,
    possible: ids.length,
    scale,
    scores,
    ids,
    values: values.slice(0, runs),
    counts: counts.slice(0, runs),
  };
}

/**
 * A token that the server has found, as it stands at the scale on the slider.
 *
 * @param {Row | null} row
 * @param {Token} token
 * @returns {Token}
 */
export function placed(row, token) {
  if (!row?.guidance || !row.scores || token.id >= row.vocab) return token;
  const raw_rank = raw_rank_of(row, token.id);
  return raw_rank
    ? { ...token, raw_rank, logit: row.scores[token.id] }
    : { ...token, raw_rank: row.possible + 1, logit: null };
}

/** By the array of log-probabilities: they stay while the scale moves.
 * @type {WeakMap<Float32Array, {ids: Uint16Array | Uint32Array, ranks: Uint32Array}>} */
const ORDERS = new WeakMap();

/** Ids of one text's row alone in rank order, and ranks by id (0 at -inf). @param {Float32Array} scores */
function order_of(scores) {
  let known = ORDERS.get(scores);
  if (!known) {
    const ids = ranked_ids(scores);
    const ranks = new Uint32Array(scores.length);
    for (const [place, id] of ids.entries()) ranks[id] = place + 1;
    known = { ids, ranks };
    ORDERS.set(scores, known);
  }
  return known;
}

/**
 * What guidance moved: the tokens that lead with it, and those that come first without it and after the negative
 * prompt, each as it stands in all three rows.
 *
 * @param {Row & {guidance: TwoRows, scores: Float32Array}} row at its scale
 * @param {number} leading how many of the guided row
 * @returns {{id: number, guided: Standing, prompt: Standing, negative: Standing}[]} by guided rank, at -inf last
 */
export function compared(row, leading) {
  const { guidance, scores, ids } = row;
  const highest = ids.length ? scores[ids[0]] : 0;
  let total = 0;
  for (const id of ids) total += Math.exp(scores[id] - highest);
  /** @type {(part: Float32Array, id: number) => Standing} */
  const standing = (part, id) => ({ rank: order_of(part).ranks[id], prob: Math.exp(part[id]) });
  /** @param {number} id */
  const place = id => raw_rank_of(row, id) || Infinity;
  /** @param {Float32Array} part */
  const first = part => order_of(part).ids[0];
  const shown = new Set([...ids.subarray(0, leading), first(guidance.prompt), first(guidance.negative)]);
  return [...shown]
    .sort((one, other) => place(one) - place(other))
    .map(id => ({
      id,
      guided: { rank: raw_rank_of(row, id), prob: Math.exp(scores[id] - highest) / total },
      prompt: standing(guidance.prompt, id),
      negative: standing(guidance.negative, id),
    }));
}
