// The user of this browser: the same in all its tabs and after them, and unknown if storage is unavailable.

import '../harness.js';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { person } from '../../../../ui/components/js/wire/person.js';

const KEY = 'decoding-visualiser-person';

describe('the secret of a person', () => {
  test('the secret is created once and reused', () => {
    localStorage.removeItem(KEY);
    const first = person();
    assert.match(first, /^[0-9a-f]{32}$/);
    assert.deepEqual([person(), localStorage.getItem(KEY)], [first, first]);
    localStorage.setItem(KEY, 'ab'.repeat(16));
    assert.equal(person(), 'ab'.repeat(16), 'that of another tab');
    localStorage.setItem(KEY, '<script>');
    assert.match(person(), /^[0-9a-f]{32}$/, 'an invalid one is replaced');
  });

  test('the secret is empty if the browser cannot store it', t => {
    localStorage.removeItem(KEY);
    t.mock.method(Object.getPrototypeOf(localStorage), 'setItem', () => {
      throw new Error('full');
    });
    assert.equal(person(), '');
  });
});
