// Numbers and labels for reading.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as format from '../../../../ui/components/js/words/format.js';

const { bits, count, formats, isolated, listed, ms, names_text, percent, plotly_text } = format;
const { quoted, score_text, share, shorten, size, stretch_text, tokens, u_text } = format;

/** @type {[string, string][]} computed text, expected text */
const TEXTS = [
  [percent(0), '0 %'],
  [percent(3e-9), '< 0.0001 %'],
  [percent(0.0003), '0.0300 %'],
  [percent(0.5), '50.00 %'],
  [percent(0.99999), '> 99.99 %'],
  [percent(1), '100.00 %'],
  [percent(1 - 1e-16), '100.00 %'],
  [share(0.9), '90 %'],
  [share(0.0009), '0.09 %'],
  [count(16384), '16,384'],
  [tokens(1), '1 token'],
  [tokens(16384), '16,384 tokens'],
  [size(1023), '1023 B'],
  [size(1536), '1.5 KiB'],
  [size(5 * 2 ** 20), '5.0 MiB'],
  [size(3 * 2 ** 40), '3072.0 GiB'],
  [ms(0.123), '0.12 ms'],
  [ms(12.34), '12.3 ms'],
  [bits(2), '2.00 bits'],
  [bits(-1e-17), '0.00 bits'],
  [score_text(-4.5), '−4.50'],
  [score_text(12.3456, 3), '12.346'],
  [score_text(-0.001), '0.00'],
  [score_text(-Infinity), '−∞'],
  [score_text(NaN), '–'],
  [score_text(-1.0000000150474662e30), '−1.00e30'],
  [score_text(1000000), '1000000.00'],
  [u_text(0.25), '0.2500'],
  [u_text(0.99999), '0.9999900000'],
  [stretch_text(0.4, 0.7), '[0.4000, 0.7000)'],
  [stretch_text(0.4, 0.400001), '[0.40000000, 0.40000100)'],
  [quoted('abcdef', 4), '“\u2068abc…\u2069”'],
  [isolated(undefined), '\u2068\u2069'],
  [shorten('🙂🙂🙂', 2), '🙂…'],
  [plotly_text('<b>&lt;'), '&lt;b&gt;&amp;lt;'],
  [plotly_text('<script>alert(1)</script>', 10), '&lt;script&gt;a…'],
  [names_text(['a']), '“\u2068a\u2069”'],
  [names_text(['a', 'b']), '“\u2068a\u2069” and “\u2068b\u2069”'],
  [listed(['a', 'b', 'c']), 'a, b and c'],
  [listed([]), ''],
];

test('numbers and texts are formatted for reading', () => {
  for (const [text, shown] of TEXTS) assert.equal(text, shown);
});

test('stage view uses few digits but no false 0 or 100 %', () => {
  const few = formats('few');
  const percents = [0.9789, 0.1234, 0.0291, 0.0099, 0.0005, 0.00001, 0.998, 1, 0].map(few.percent);
  assert.deepEqual(percents, ['98 %', '12 %', '2.9 %', '1.0 %', '0.05 %', '< 0.01 %', '> 99 %', '100 %', '0 %']);
  assert.deepEqual([few.score(-4.56), few.bits(4.14), few.u(0.637)], ['−4.6', '4.1 bits', '0.64']);
  assert.equal(few.u(0.9999), '0.9999');
});
