// The making of tokens from a pre-token, step by step and in words.

import { count, quoted, score_text } from './format.js';
import { marked, say } from './say.js';

/**
 * @import { Making, Matches, Merges, ShownToken, Side } from '../types.js'
 *
 * @typedef {{label: string, look: '' | 'new' | 'rest'}} Chip a token or a symbol; `rest`: not yet cut
 * @typedef {{chips: Chip[], sentence: string}} Frame
 */

/** The number of steps to look at. @param {Making} making */
export function step_count(making) {
  if (making.kind === 'merges') return making.merges.length;
  return making.kind === 'matches' ? making.matches.length : 0;
}

/** The state after a number of steps. @param {Merges | Matches} making @param {number} step @returns {Frame} */
export const frame = (making, step) =>
  making.kind === 'merges' ? merge_frame(making, step) : match_frame(making, step);

/** @param {Merges} making @param {number} step @returns {Frame} */
function merge_frame({ symbols, merges, ranks, is_whole }, step) {
  /** @type {(string | null)[]} */
  const labels = [...symbols];
  for (const [start, middle, , , label] of merges.slice(0, step)) {
    labels[start] = label;
    labels[middle] = null;
  }
  const last = step > 0 ? merges[step - 1] : null;
  /** @type {Chip[]} */
  const chips = labels.flatMap((label, place) =>
    label === null ? [] : [{ label, look: /** @type {'new' | ''} */ (last?.[0] === place ? 'new' : '') }],
  );
  if (is_whole) return { chips, sentence: say('The vocabulary contains this pre-token whole, so no merge is needed.') };
  if (merges.length === 0) return { chips, sentence: say('No merge fits here, so every symbol stays a token.') };
  if (!last) {
    const values = { merges: count(merges.length), symbols: count(symbols.length) };
    return { chips, sentence: say('Before the first of {merges} merges there are {symbols} symbols.', values) };
  }
  const [left, right] = pair(symbols, merges, step);
  const sentence = say(
    'Merge {step} of {all}: {left} and {right} become {token}, id {id}. It is merge {rank} of {ranks} in the file.',
    {
      step: count(step),
      all: count(merges.length),
      left: quoted(left),
      right: quoted(right),
      token: quoted(last[4]),
      id: count(last[5]),
      rank: count(last[3] + 1),
      ranks: count(ranks),
    },
  );
  return { chips, sentence };
}

/**
 * The two symbols that a merge joins.
 *
 * @param {string[]} symbols
 * @param {Merges['merges']} merges
 * @param {number} step
 */
export function pair(symbols, merges, step) {
  const [start, middle] = merges[step - 1];
  const made = (/** @type {number} */ from) =>
    merges.slice(0, step - 1).findLast(merge => merge[0] === from)?.[4] ?? symbols[from];
  return [made(start), made(middle)];
}

/** @param {Matches} making @param {number} step @returns {Frame} */
function match_frame({ text, matches }, step) {
  const done = matches.slice(0, step);
  /** @type {Chip[]} */
  const chips = done.map(([, label], place) => ({ label, look: place === step - 1 ? 'new' : '' }));
  const rest = text.slice(done.at(-1)?.[0] ?? 0).join('');
  if (rest) chips.push({ label: rest, look: 'rest' });
  const last = done.at(-1);
  if (!last)
    return { chips, sentence: say('Before the first match, none of {text} is split.', { text: quoted(rest) }) };
  const values = {
    step: count(step),
    all: count(matches.length),
    token: quoted(last[1]),
    id: count(last[2]),
    tried: count(last[3]),
  };
  const sentence = say(
    last[3] === 0
      ? 'Match {step} of {all}: {token}, id {id}, is all that was left.'
      : 'Match {step} of {all}: {token}, id {id}, is the longest token that exists (longer pieces tried: {tried}).',
    values,
  );
  return { chips, sentence };
}

/**
 * The facts about a token: marked names, and values.
 *
 * @param {Side} side
 * @param {number} place
 * @returns {[string, string][]}
 */
export function token_facts(side, place) {
  const { id, bytes, start, end, first_byte, pre_token, ...token } = side.tokens[place];
  const size = bytes ? bytes.split(' ').length : 0;
  const characters =
    end > start + 1 ? say('{low} to {high}', { low: count(start + 1), high: count(end) }) : count(start + 1);
  const first = first_byte === null ? 0 : first_byte + 1;
  const places = size > 1 ? say('{low} to {high}', { low: count(first), high: count(first + size - 1) }) : count(first);
  const none = say('none');
  return [
    ['id', count(id)],
    [marked('bytes'), bytes || none],
    [marked('character of the text'), token.is_inserted || end === start ? none : characters],
    [marked('byte of the text'), first_byte === null ? say('not known') : places],
    [marked('kind'), say(kind_of(token))],
    [marked('pre-token'), pre_token === null ? none : side.pre_tokens[pre_token][0]],
  ];
}

/** @param {Pick<ShownToken, 'is_special' | 'is_inserted' | 'is_unknown'>} token */
function kind_of({ is_special, is_inserted, is_unknown }) {
  if (is_unknown) return marked('unknown to the tokenizer');
  if (is_inserted) return marked('put there by the tokenizer');
  return is_special ? marked('control token') : marked('text');
}

/** A score of a cut. @param {number} score */
export const nats = score => `${score_text(score)} nats`;
