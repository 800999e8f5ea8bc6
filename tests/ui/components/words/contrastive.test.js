// Contrastive search at any alpha: scores and winner are the engine's.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scored } from '../../../../ui/components/js/words/contrastive.js';
import { read_searched } from '../vectors.js';

/**
 * @import { SearchedStep } from '../../../../ui/components/js/types.js'
 */

test('scores and winner match the engine at any alpha', () => {
  const { step, others } = read_searched();
  for (const { alpha, step: engine } of others) {
    const { rows, winner } = scored(step, alpha);
    assert.deepEqual(
      rows.map(row => row.score),
      engine.candidates.map(candidate => candidate.score),
    );
    assert.equal(winner, engine.chosen);
  }
});

test('the first of equal scores wins', () => {
  const candidates = [0.5, 0.5].map(probability => ({ probability, penalty: 0.5 }));
  assert.equal(scored(/** @type {SearchedStep} */ (/** @type {unknown} */ ({ candidates })), 0.5).winner, 0);
});
