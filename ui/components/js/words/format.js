// Numbers and token texts for reading, worded the same everywhere: "0.03 %", "16,384", "1.5 KiB".

import { in_text_of } from '../kernel/table.js';
import { say, with_figures } from './say.js';

/**
 * @import { Digits, Table, Value } from '../types.js'
 *
 * @typedef {ReturnType<typeof formats>} Formats
 */

const NUMBER = new Intl.NumberFormat('en-US', { maximumFractionDigits: 9 });
const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** 16384 -> "16,384". @param {number} number */
export const count = number => with_figures(WHOLE.format(number));

/** A number as it was set, with thousands separators and a true minus sign. @param {number} value */
export const set_number = value => with_figures(NUMBER.format(value).replace('-', '−'));

/**
 * A sampler with its value, if that is one number: "top-k 50", "DRY".
 *
 * @param {Table} table
 * @param {string} name
 * @param {Value} value
 */
export function setting_text(table, name, value) {
  const in_text = in_text_of(table, name);
  return typeof value === 'number' ? `${in_text} ${set_number(value)}` : in_text;
}

/** "1 token", "16,384 tokens". @param {number} number */
export const tokens = number => say(number === 1 ? '{count} token' : '{count} tokens', { count: count(number) });

/**
 * A probability as a percentage; a value other than 0 and 1 never looks like one of these.
 *
 * @param {number} probability
 */
export function percent(probability) {
  if (probability === 0) return '0 %';
  if (probability < 1e-6) return with_figures('< 0.0001 %');
  if (probability < 1e-3) return with_figures(`${(probability * 100).toFixed(4)} %`);
  if (probability >= 0.99995 && probability < 1 - 1e-12) return with_figures('> 99.99 %');
  return with_figures(`${(probability * 100).toFixed(2)} %`);
}

/** A percentage with few digits: "98 %", "2.9 %", "0.03 %". @param {number} probability */
function short_percent(probability) {
  if (probability === 0) return '0 %';
  if (probability < 1e-4) return with_figures('< 0.01 %');
  if (probability >= 0.995 && probability < 1 - 1e-12) return '> 99 %';
  const digits = probability >= 0.0995 ? 0 : probability >= 0.00095 ? 1 : 2;
  return with_figures(`${(probability * 100).toFixed(digits)} %`);
}

/** A share, as it was set: "90 %", "0.09 %". @param {number} value */
export const share = value => `${set_number(Number((value * 100).toFixed(4)))} %`;

/** Bytes in units of 1,024. @param {number} bytes */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes / 1024;
  let unit = 0;
  for (; value >= 1024 && unit < 2; unit++) value /= 1024;
  return `${with_figures(value.toFixed(1))} ${['KiB', 'MiB', 'GiB'][unit]}`;
}

/** Milliseconds, with only significant digits. @param {number} time */
export const ms = time => with_figures(`${time < 10 ? time.toFixed(2) : time.toFixed(1)} ms`);

/**
 * Entropy in bits; rounding may leave it a little below 0.
 *
 * @param {number} entropy
 * @param {number} [digits]
 */
export const bits = (entropy, digits = 2) =>
  say('{figure} bits', { figure: with_figures(Math.max(entropy, 0).toFixed(digits)) });

/**
 * A score with a true minus sign; infinity if not finite.
 *
 * @param {number} score
 * @param {number} [digits]
 */
export function score_text(score, digits = 2) {
  if (Number.isNaN(score)) return '–';
  if (!Number.isFinite(score)) return score > 0 ? '∞' : '−∞';
  const far = Math.abs(score); // distance from 0; if it is large, only the leading digits are readable
  const text = far < 1e7 ? far.toFixed(digits) : far.toExponential(digits).replace('e+', 'e');
  return with_figures(score < 0 && Number(text) > 0 ? `−${text}` : text);
}

/** A uniform number for reading; a number below 1 never looks like 1. @param {number} u */
export const u_text = u => with_figures(u.toFixed(u < 0.99995 ? 4 : 10));

/** A uniform number with few digits. @param {number} u */
const short_u = u => (u < 0.995 ? with_figures(u.toFixed(2)) : u_text(u));

/**
 * A stretch in words: [0.4000, 0.7000). A narrow one has enough digits to tell its ends apart.
 *
 * @param {number} from
 * @param {number} to
 */
export function stretch_text(from, to) {
  const digits = to > from ? Math.min(15, Math.max(4, Math.ceil(-Math.log10(to - from)) + 1)) : 4;
  const [low, high] = [from, to].map(end => with_figures(end.toFixed(digits)));
  return say('[{low}, {high})', { low, high });
}

const FULL = { percent, bits, score: score_text, u: u_text };
const FEW = {
  percent: short_percent,
  /** @param {number} entropy */
  bits: entropy => bits(entropy, 1),
  /** @param {number} score */
  score: score => score_text(score, 1),
  u: short_u,
};

/** Formats with all digits, or with few digits for stage view. @param {Digits} [digits] */
export const formats = (digits = 'full') => ({
  ...(digits === 'few' ? FEW : FULL),
  share,
  count,
  tokens,
  number: set_number,
});

// --- token texts ----------------------------------------------------------------------------------

/**
 * At most `longest` characters, with an ellipsis for the rest; surrogate pairs stay whole.
 *
 * @param {string} text
 * @param {number} longest
 */
export function shorten(text, longest) {
  const characters = Array.from(text);
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join('')}…`;
}

/**
 * A token among other words, isolated so that right-to-left letters do not reorder the sentence.
 *
 * @param {string | null | undefined} label
 * @param {number} [longest]
 */
export const isolated = (label, longest = 16) => `\u2068${shorten(String(label ?? ''), longest)}\u2069`;

/**
 * A token in quotes, which stay around it.
 *
 * @param {string | null | undefined} label
 * @param {number} [longest]
 */
export const quoted = (label, longest = 24) => say('“{text}”', { text: isolated(label, longest) });

/** "“a”", "“a” and “b”", "“a”, “b” and others". @param {string[]} labels */
export function names_text(labels) {
  const [first, second] = labels.map(label => quoted(label));
  if (labels.length > 2) return say('{first}, {second} and others', { first, second });
  return labels.length === 2 ? say('{first} and {second}', { first, second }) : (first ?? '');
}

/** "a", "a and b", "a, b and c". @param {string[]} words */
export const listed = words =>
  words.length > 1
    ? say('{first} and {second}', { first: words.slice(0, -1).join(', '), second: words[words.length - 1] })
    : (words[0] ?? '');

/**
 * A token label as Plotly text: Plotly reads tags and entities, so they are escaped.
 *
 * @param {string} label
 * @param {number} [longest]
 */
export function plotly_text(label, longest = 24) {
  return shorten(label, longest).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
