// A browser's stored preferences: storage may be disabled, and the page works without it.

import '../harness.js';
import assert from 'node:assert/strict';
import { afterEach, describe, mock, test } from 'node:test';
import { forget, recall, recall_json, remember } from '../../../../ui/components/js/lib/storage.js';

describe('storage', () => {
  afterEach(() => mock.restoreAll());

  test('a remembered value is recalled until it is forgotten', () => {
    remember('localStorage', 'a', '{"b": 1}');
    assert.deepEqual([recall('localStorage', 'a'), recall_json('localStorage', 'a')], ['{"b": 1}', { b: 1 }]);
    forget('localStorage', 'a');
    assert.deepEqual([recall('localStorage', 'a'), recall_json('localStorage', 'a')], [null, null]);
  });

  test('without storage nothing is remembered, and nothing fails', () => {
    mock.getter(window, 'sessionStorage', () => {
      throw new Error('denied');
    });
    remember('sessionStorage', 'a', 'b');
    forget('sessionStorage', 'a');
    assert.equal(recall('sessionStorage', 'a'), null);
  });
});
