// The user of this browser: the same in all its tabs and after them, and unknown if storage is unavailable.

import '../harness.js';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { person } from '../../../../ui/components/js/wire/person.js';

const KEY = 'decoding-visualiser-person';

describe('the secret of a person', () => {
  test('it is made once and found again', () => {
    localStorage.removeItem(KEY);
    const first = person();
    assert.match(first, /^[0-9a-f]{32}$/);
    assert.deepEqual([person(), localStorage.getItem(KEY)], [first, first]);
    localStorage.setItem(KEY, 'ab'.repeat(16));
    assert.equal(person(), 'ab'.repeat(16), 'that of another tab');
  });

  test('what is no secret is replaced', () => {
    localStorage.setItem(KEY, '<script>');
    assert.match(person(), /^[0-9a-f]{32}$/);
  });

  test('a browser that keeps nothing names nobody', t => {
    localStorage.removeItem(KEY);
    t.mock.method(Object.getPrototypeOf(localStorage), 'setItem', () => {
      throw new Error('full');
    });
    assert.equal(person(), '');
  });
});
