// Shares of a whole: the others make room in proportion, and the sum stays 1.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { with_share } from '../../../../../ui/components/js/parts/prediction/shares.js';

const sum = (/** @type {number[]} */ values) => values.reduce((one, other) => one + other, 0);

describe('shares', () => {
  test('the others keep their proportions', () => {
    const shares = with_share([0.4, 0.4, 0.2], 0, 0.7);
    assert.ok(Math.abs(shares[1] / shares[2] - 2) < 1e-9);
    assert.ok(Math.abs(sum(shares) - 1) < 1e-9 && shares[0] === 0.7);
  });

  test('others of nothing share the rest equally', () => {
    assert.deepEqual(with_share([1, 0, 0], 0, 0.5), [0.5, 0.25, 0.25]);
  });

  test('whatever is set, the sum stays 1', () => {
    let shares = [0.25, 0.25, 0.25, 0.25];
    for (let turn = 0; turn < 200; turn++) {
      shares = with_share(shares, turn % 4, ((turn * 37) % 101) / 100);
      assert.ok(Math.abs(sum(shares) - 1) < 1e-9 && shares.every(share => share >= 0));
    }
  });
});
