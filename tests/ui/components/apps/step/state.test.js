// The page's initial state, a browser's stored preferences, and the difference of a draft from the text.

import '../../harness.js';
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { is_drafted, new_state, remember_preferences } from '../../../../../ui/components/js/apps/step/state.js';
import { make_state } from '../../fixtures.js';

/**
 * @import { Draft, State } from '../../../../../ui/components/js/types.js'
 */

const KEY = 'decoding-visualiser-preferences';

describe('state', () => {
  beforeEach(() => localStorage.clear());

  test('only preferences are restored on the next visit', () => {
    const state = { ...new_state(), speed: 16, stage_slider: 'top_p', columns: ['id'], prompt: 'secret' };
    remember_preferences(state, { prompt: 'secret' });
    assert.equal(localStorage.getItem(KEY), null);
    remember_preferences(state, { speed: 16 });
    const { speed, stage_slider, columns, prompt } = new_state();
    assert.deepEqual([speed, stage_slider, columns, prompt], [16, 'top_p', ['id'], '']);
  });

  test('invalid stored preferences are ignored', () => {
    const first = new_state();
    const nonsense = {
      ...{ speed: 'x', row_count: -1, keys: 1, colouring: 'red' },
      ...{ columns: ['rank'], tour: 0, picture: 'x', stage_slider: 1 },
    };
    for (const kept of [JSON.stringify(nonsense), 'null', '3', '{', '[]']) {
      localStorage.setItem(KEY, kept);
      assert.deepEqual(new_state(), first);
    }
  });

  /** @type {[Partial<State>, Partial<Draft>, boolean][]} */
  const DRAFTS = [
    [{}, {}, false],
    [{}, { prompt: 'a' }, true],
    [{}, { chat: true }, true],
    [{}, { before: [{ role: 'user', content: 'Hi' }] }, false], // without the template nothing comes before
    [{ chat: true }, { chat: true, before: [{ role: 'user', content: 'Hi' }] }, true],
    [{}, { negative_prompt: '' }, true],
    [{ guidance_scale: 1, negative_prompt: 'a' }, { negative_prompt: 'a' }, false], // at scale 1 nothing is read
    [{}, { is_search: true }, true],
    [{ strategy: { top_k: 4, penalty_alpha: 0.6 } }, { is_search: true, penalty_alpha: 0.1 }, false],
    [{ strategy: { top_k: 4, penalty_alpha: 0.6 } }, { is_search: true, top_k: 5 }, true],
    [{ run: '' }, { prompt: 'a' }, false],
  ];
  test('is_drafted compares the draft with the text', () => {
    for (const [changes, draft, expected] of DRAFTS) {
      const state = make_state(changes);
      const drafted = is_drafted({ ...state, draft: { ...state.draft, prompt: state.prompt, ...draft } });
      assert.equal(drafted, expected, JSON.stringify([changes, draft]));
    }
  });
});
