// The one blue button: the next one to press, in any part.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as line from '../../../../ui/components/js/parts/line.js';
import * as loop from '../../../../ui/components/js/parts/loop.js';
import * as prompt from '../../../../ui/components/js/parts/prompt.js';
import * as transport from '../../../../ui/components/js/parts/transport.js';
import { recorded } from '../fixtures.js';
import { live } from '../harness.js';

/** @param {Parameters<typeof recorded>[1]} changes */
function blue(changes) {
  const state = recorded({ top_k: 2 }, changes);
  return [prompt, transport, loop, line].flatMap(({ create }) => {
    const page = live(create, state);
    return page
      .all('button')
      .filter(button => button.classList.contains('dv-primary'))
      .map(({ textContent }) => textContent);
  });
}

test('only one button is blue at a time', () => {
  assert.deepEqual(blue({}), ['Step']);
  assert.deepEqual(blue({ drafted: true }), ['Start']);
  assert.deepEqual(blue({ slow: true }), ['Next stage']);
  assert.deepEqual(blue({ slow: true, drafted: true }), ['Start']);
  assert.deepEqual(blue({ mode: 'playing', drafted: true, slow: true }), ['Pause']);
  assert.deepEqual(blue({ tour: 'draw' }), ['Next']);
  assert.deepEqual(blue({ tour: 'step' }), ['Step'], 'the tour waits for it');
  assert.deepEqual(blue({ tour: 'draw', error: 'No.' }), ['Step'], 'the tour is not on the line');
});
