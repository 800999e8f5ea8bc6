// Shares of a whole: the others make room in proportion, and the sum stays 1.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { with_share } from '../../../../../ui/components/js/parts/prediction/shares.js';

const near = (/** @type {number} */ value) => Number(value.toFixed(9));
const sum = (/** @type {number[]} */ values) => values.reduce((one, other) => one + other, 0);

describe('shares', () => {
  test('shares set earlier stay, and the rest make room in proportion', () => {
    assert.deepEqual(with_share([0.4, 0.4, 0.2], 0, 0.7).map(near), [0.7, 0.2, 0.1]);
    assert.deepEqual(with_share([1, 0, 0], 0, 0.5), [0.5, 0.25, 0.25]);
    assert.deepEqual(with_share([0.3, 0.35, 0.35], 1, 0.5, [0]).map(near), [0.3, 0.5, 0.2]);
    assert.deepEqual(with_share([0.3, 0.35, 0.35], 1, 0.9, [0]).map(near), [0.3, 0.7, 0], 'no more than is left');
    assert.deepEqual(with_share([0.25, 0.25, 0.25, 0.25], 3, 0.4, [2, 3]).map(near), [0.175, 0.175, 0.25, 0.4]);
    assert.deepEqual(
      with_share([0.3, 0.5, 0.2], 2, 0.1, [1, 0, 2]).map(near),
      [0.3, 0.6, 0.1],
      'the first that was set',
    );
  });

  test('the sum stays 1 after any change', () => {
    let shares = [0.25, 0.25, 0.25, 0.25];
    for (let turn = 0; turn < 200; turn++) {
      shares = with_share(shares, turn % 4, ((turn * 37) % 101) / 100, [0, 1, 2, 3].slice(turn % 5));
      assert.ok(Math.abs(sum(shares) - 1) < 1e-9 && shares.every(share => share >= 0));
    }
  });
});
