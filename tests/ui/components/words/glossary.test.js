// Positions of glossary terms in a text.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { term_finder } from '../../../../ui/components/js/words/glossary.js';
import { GLOSSARY } from '../apps/glossary/entries.js';

test('terms match as whole words, longest first, in any case', () => {
  const find = term_finder(GLOSSARY);
  const found = (/** @type {string} */ text) => find(text).map(({ key, start, end }) => [key, text.slice(start, end)]);
  assert.deepEqual(found('Logits fill the kv cache; the cache’s logit is (logit).'), [
    ['logit', 'Logits'],
    ['KV cache', 'kv cache'],
    ['cache', 'cache'],
    ['logit', 'logit'],
    ['logit', 'logit'],
  ]);
  assert.deepEqual(found('cached, pre-cache, cache-grid, logit_bias, ␣logitsé'), []);
  assert.deepEqual(found('model.cache.0, layers.logit, cache.py'), [], 'names of code');
  assert.equal(found('It fills the cache. Logits come next.').length, 2);
  const bits = term_finder({ 'bits of a dtype': { ...GLOSSARY.cache, written: ['8 bits'] } });
  assert.deepEqual(bits('29.8 bits, 1,008 bits'), []);
  assert.equal(bits('With 8 bits, or (8 bits).').length, 2);
  assert.deepEqual(term_finder({})('cache'), []);
});

test('an everyday word is a term only on matching pages and lessons', () => {
  const found = (/** @type {string[]} */ ...here) => term_finder(GLOSSARY, here)('A raw number.').map(({ key }) => key);
  assert.deepEqual([found(), found('cache'), found('learn', 'tokens')], [[], [], []]);
  assert.deepEqual([found('step'), found('learn', 'softmax')], [['logit'], ['logit']]);
});
