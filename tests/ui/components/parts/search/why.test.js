// Why not my token: its path through the samplers, and a change that would admit it.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { create } from '../../../../../ui/components/js/parts/search/search.js';
import { advice_text, change_order } from '../../../../../ui/components/js/parts/search/why.js';
import { table } from '../../chains.js';
import { bare, FOUR, LABELS, make_row, shown } from '../../fixtures.js';
import { begin_typing, changes_in, live, press, settled } from '../../harness.js';

/**
 * @import { Admission, Value } from '../../../../../ui/components/js/types.js'
 */

describe('why not', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  /**
   * Return the engine's proposed change.
   *
   * @param {Partial<Admission>} change
   * @returns {Admission}
   */
  const admission = change => ({
    ...{ setting: null, field: null, value: null, settings: {}, lifted: false, bias: null, blocked_by: [] },
    ...change,
  });

  /**
   * Open the path of one of four tokens.
   *
   * @param {number} id
   * @param {Record<string, Value>} values
   * @param {Parameters<typeof shown>[1]} [more]
   * @param {Partial<Admission> | null} [change] change that would admit it
   */
  async function path_of(id, values, more = {}, change = null) {
    const state = shown(values, more);
    const logit = more.logits ? more.logits[id] : FOUR[id];
    const match = { id, label: LABELS[id], raw_rank: Number.isFinite(logit) ? id + 1 : null, logit };
    const page = live(create, state, {
      find: async () => [match],
      tokenize: async () => [],
      admit: async () => change && admission(change),
    });
    const field = page.one('searchbox', 'Search the vocabulary');
    begin_typing(field, 'x');
    press(field, 'Enter');
    await settled();
    const part = page.one('region', 'Why not my token?');
    const told = async () => {
      mock.timers.runAll(); // nothing has changed for a while
      await settled();
      return bare(part.querySelector('.dv-why-advice span')?.textContent);
    };
    return {
      ...page,
      part,
      told,
      verdict: () => bare(part.querySelector('p')?.textContent),
      rows: () =>
        Array.from(part.querySelectorAll('tbody tr'), row => Array.from(row.children, each => each.textContent)),
      offers: () =>
        Array.from(part.querySelectorAll('.dv-why-advice button:not(.dv-hidden)'), each => each.textContent),
      async apply() {
        part.querySelector('.dv-why-advice button').click();
        await told();
      },
    };
  }

  test('the path shows rank, score and probability after each sampler', async () => {
    const page = await path_of(1, { temperature: 0.5, top_k: 2 });
    assert.deepEqual(page.rows(), [
      ['Logits', '2', '−1.20', '30.00 %', ''],
      ['Temperature', '2', '−2.41', '30.00 %', 'score lowered by 1.20'],
      ['Top-k', '2', '−2.41', '36.00 %', ''],
    ]);
    const marked = [null, 0, 2, 4].map(point => {
      page.change({ point });
      return page.part.querySelector('[aria-current=step] th')?.textContent;
    });
    assert.deepEqual(marked, [undefined, 'Logits', 'Top-k', 'Top-k']);
  });

  test('a kept token names the range of u that draws it', async () => {
    const page = await path_of(1, { top_k: 2 });
    assert.equal(page.verdict(), 'It stays, with 42.86 %: it is drawn if u is in [0.5714, 1.0000), but u = 0.5000.');
    page.change({ row: make_row(FOUR, { u: 0.6 }) });
    assert.match(page.verdict(), /and u = 0\.6000 is\.$/);
    page.change({ point: 0 }); // nothing is drawn at this point
    assert.match(page.verdict(), /drawn if u is in .*\.$/);
    assert.match((await path_of(0, { temperature: 0 })).verdict(), /which temperature 0 takes/);
  });

  test('a removed token names its sampler and offers a change', async () => {
    const settings = { top_k: 3 };
    const page = await path_of(2, { temperature: 1, top_k: 2 }, {}, { setting: 'top_k', value: 3, settings });
    assert.deepEqual(page.rows().at(-1), ['Top-k', '–', '–', '–', 'removed here']);
    assert.equal(page.verdict(), 'Removed by top-k, where it had rank 3 and 20.00 %.');
    assert.equal(await page.told(), 'This change of one setting would admit it:');
    assert.deepEqual(page.offers(), ['Set top-k 3']);
    page.taken();
    page.one('button', 'Set top-k 3').focus();
    await page.apply();
    assert.deepEqual(page.taken('set'), [['set', settings]]);
    assert.equal(document.activeElement, page.one('button', 'Close'));
    assert.match(page.verdict(), /^It stays, with 22\.22 %/);
    assert.deepEqual([page.offers(), await page.told()], [[], '']);
  });

  test('samplers that remove the token together are named', async () => {
    const page = await path_of(3, { top_k: 2, top_p: 0.5 }, {}, { blocked_by: ['top_k', 'top_p'] });
    assert.match(await page.told(), /top-k and top-p remove it together/);
    assert.deepEqual(page.offers(), []);
  });

  test('a proposed change says which value it sets', () => {
    /** @type {[Partial<Admission>, string][]} */
    const cases = [
      [{ setting: 'top_k', value: 1212 }, 'Set top-k 1,212'],
      [{ setting: 'top_k', value: 0 }, 'Set top-k off'],
      [{ setting: 'temperature', value: 1 }, 'Set temperature 1'],
      [{ setting: 'min_p', value: 0.0123456 }, 'Set min-p 0.01235'],
      [{ setting: 'xtc', value: null }, 'Set XTC off'],
      [
        { setting: 'xtc', field: 'threshold', value: { threshold: 0.3123456, probability: 1 } },
        'Set XTC threshold 0.3123',
      ],
      [{ setting: 'banned', value: null, lifted: true }, 'Lift its ban'],
      [{ setting: 'logit_bias', value: { bias: [[1, -2]] }, bias: -2 }, 'Set its bias −2.0'],
    ];
    for (const [change, words] of cases) assert.equal(change_order(admission(change), table.samplers), words);
    assert.match(advice_text(admission({ setting: 'top_k' }), table.samplers), /^This change/);
  });

  test('the engine is asked once settings settle, and late answers are dropped', async () => {
    const page = await path_of(3, { top_k: 3 }, {}, { setting: 'top_k', value: 4, settings: {} });
    page.taken();
    for (const top_k of [2, 1]) page.change({ settings: { ...page.state.settings, top_k } });
    assert.deepEqual(page.taken('admit'), []);
    mock.timers.runAll();
    page.change({ settings: { ...page.state.settings, top_k: 0 } }); // the token stays, before the answer arrives
    await settled();
    assert.deepEqual([page.taken('admit'), page.offers()], [[['admit', 3]], []]);
  });

  test('the table updates in place but waits while text plays', async () => {
    const page = await path_of(2, { temperature: 1.5, top_k: 2 });
    const made = changes_in(page.part, () => page.change({ row: make_row([0, 0, 9, 0]) })).made;
    assert.deepEqual([made, page.rows()[0][1]], [[], '1']);
    page.change({ mode: 'playing', settings: { ...page.state.settings, top_k: 0 } });
    assert.equal(page.rows().length, 3);
    page.change({ mode: 'paused' });
    assert.equal(page.rows().length, 2);
  });

  test('impossible tokens and missing scores are explained', async () => {
    const impossible = await path_of(3, {}, { logits: [3, 2, 1, -Infinity] });
    assert.equal(impossible.verdict(), 'It is impossible here: its logit is −∞.');
    assert.deepEqual(impossible.all('table'), []);
    const page = await path_of(1, {});
    page.change({ row: null });
    assert.equal(page.verdict(), 'There are no scores here; press Back first.');
  });
});
