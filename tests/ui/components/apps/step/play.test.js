// Play: the next token is requested on time, and never after an error.

import '../../harness.js';
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { Player } from '../../../../../ui/components/js/apps/step/play.js';
import { make_state } from '../../fixtures.js';
import { settled } from '../../harness.js';

/**
 * @import { State } from '../../../../../ui/components/js/types.js'
 */

const STOP = { reason: 'length', sentence: '', is_over: true, at_limit: true };

describe('Play', () => {
  let now = 0;
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    mock.method(performance, 'now', () => now); // mock.timers does not mock this clock
  });
  afterEach(() => mock.reset());

  /** @param {number} ms */
  function pass(ms) {
    now += ms;
    mock.timers.tick(ms);
  }

  /** @param {Partial<State>} [changes] */
  function playing(changes = {}) {
    const state = make_state({ speed: 4, ...changes });
    /** @type {string[]} */
    const asked = [];
    /** @type {(message: unknown) => void} */
    let resolve = () => {};
    let answered = () => {};
    let dropped = 0;
    let stopped = 0;
    const player = new Player(state, {
      post(kind, taken_in) {
        asked.push(kind);
        answered = taken_in;
        return new Promise(done => {
          resolve = done;
        });
      },
      drop: () => dropped++,
      stopped: () => stopped++,
    });
    return {
      player,
      state,
      asked,
      /** Answer the last request. @param {Partial<State>} [changes] */
      answer(changes = {}) {
        Object.assign(state, changes);
        answered();
      },
      /** Resolve the last request as never sent. */
      lose() {
        resolve(null);
        return settled();
      },
      ends: () => [state.mode, stopped, dropped > 0],
    };
  }

  test('speed 4 requests a token every quarter second', () => {
    const { player, asked, answer } = playing();
    player.play('playing');
    for (const number of [1, 2, 3]) {
      assert.deepEqual(asked, Array(number).fill('step'));
      pass(50); // the server's time, part of the quarter
      answer();
      pass(199);
      assert.equal(asked.length, number);
      pass(1);
    }
  });

  test('the highest speed and Run to end request without delay', () => {
    const fastest = playing({ speed: 0 });
    fastest.player.play('playing');
    fastest.answer();
    const to_end = playing();
    to_end.player.play('running');
    to_end.answer();
    assert.deepEqual(
      [fastest.asked, to_end.asked],
      [
        ['step', 'step'],
        ['run', 'run'],
      ],
    );
  });

  test('Pause stops all further requests, including a scheduled one', () => {
    const { player, asked, answer, ends } = playing();
    player.play('playing');
    answer();
    assert.ok(player.stop());
    pass(1000);
    answer(); // a late answer
    assert.deepEqual([asked, ends()], [['step'], ['paused', 1, true]]);
    assert.ok(!player.stop());
  });

  test('an error, a limit or an event that was never sent stops Play', async () => {
    for (const changes of [{ error: 'No.' }, { stop: STOP }]) {
      const { player, asked, answer, ends } = playing({ speed: 0 });
      player.play('playing');
      answer(changes);
      assert.deepEqual([asked, ends()], [['step'], ['paused', 1, true]]);
    }
    const { player, lose, ends } = playing();
    player.play('playing');
    await lose();
    assert.equal(ends()[0], 'paused');
  });

  test('Play does not start if tokens cannot follow automatically', () => {
    for (const changes of [
      { manual: true },
      { slow: true },
      { stop: STOP },
      { mode: /** @type {const} */ ('playing') },
    ]) {
      const { player, asked } = playing(changes);
      player.play('playing');
      assert.deepEqual(asked, []);
    }
  });
});
