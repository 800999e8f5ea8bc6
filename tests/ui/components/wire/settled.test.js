// Settings reach the server once they stop changing, at the latest when a person leaves; unsent ones are kept.

import '../harness.js';
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { create_settled } from '../../../../ui/components/js/wire/settled.js';

/** @type {any} */
let state;
/** @type {any} */
let settled;
let posted = 0;
let rested = 0;

describe('settled settings', () => {
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    sessionStorage.clear();
    posted = 0;
    rested = 0;
    state = { run: 'r', mode: 'paused', settings: {}, guidance_scale: 1, draft: { penalty_alpha: 0.6 } };
    settled = create_settled(
      state,
      () => {
        posted += 1;
        settled.described();
      },
      () => {
        rested += 1;
      },
    );
    settled.described();
    settled.confirmed();
  });

  afterEach(() => {
    settled.destroy();
    mock.timers.reset();
  });

  test('a slider is reported once after it comes to rest', () => {
    for (const temperature of [0.1, 0.2, 0.3]) {
      state.settings = { temperature };
      settled.settle();
      mock.timers.tick(300);
    }
    assert.equal(posted, 0);
    mock.timers.tick(400);
    assert.equal(posted, 1);
    mock.timers.tick(4000);
    assert.equal(posted, 1);
  });

  test('unchanged settings are not sent', () => {
    settled.tell_soon(); // the release of a pointer elsewhere
    mock.timers.tick(1000);
    assert.deepEqual([posted, rested], [0, 0]);
    settled.settle();
    settled.leave();
    settled.tell_now();
    mock.timers.tick(1000);
    assert.equal(posted, 0);
  });

  test('a slider already reported comes to rest without another report', () => {
    state.settings = { temperature: 2 };
    settled.tell_now();
    settled.settle();
    mock.timers.tick(1000);
    assert.deepEqual([posted, rested], [1, 1]);
  });

  test('settings wait for the next step while a text plays', () => {
    state.settings = { temperature: 2 };
    state.mode = 'playing';
    settled.settle();
    mock.timers.tick(1000);
    assert.equal(posted, 0);
    settled.tell_now();
    assert.equal(posted, 1);
  });

  test('leaving sends changes and keeps them until confirmed', () => {
    for (const [number, change] of [{ settings: { temperature: 2 } }, { guidance_scale: 3 }].entries()) {
      Object.assign(state, change);
      settled.leave();
      assert.equal(posted, number + 1);
      const left = settled.left_behind();
      for (const [field, value] of Object.entries(change)) assert.deepEqual(left[field], value);
      state.run = 'another';
      assert.equal(settled.left_behind(), null, 'they belong to that text');
      state.run = 'r';
      settled.confirmed();
      assert.equal(settled.left_behind(), null, 'the server has heard of them');
    }
    state.draft = { penalty_alpha: 0.1 };
    settled.leave();
    assert.deepEqual([posted, settled.left_behind().penalty_alpha], [3, 0.1]);
  });

  test('a change made while an event is pending is sent afterwards', () => {
    state.settings = { temperature: 2 };
    settled.leave();
    state.settings = { temperature: 3 };
    settled.confirmed();
    assert.deepEqual(settled.left_behind().settings, { temperature: 2 });
    settled.tell_now();
    assert.equal(posted, 2);
  });
});
