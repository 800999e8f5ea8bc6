// Search over the vocabulary: the requests, the fate of each match, and the tokens of a text.

import assert from 'node:assert/strict';
import { afterEach, describe, mock, test } from 'node:test';
import { create } from '../../../../../ui/components/js/parts/search/search.js';
import { bare, FOUR, LABELS, make_row, shown } from '../../fixtures.js';
import { begin_typing, click, live, name_of, press, settled, text_of } from '../../harness.js';
import { read_hostile } from '../../vectors.js';

/**
 * @import { Actions, FoundToken, Row } from '../../../../../ui/components/js/types.js'
 */

/** Return tokens of the row in a search's form. @param {...number} ids @returns {FoundToken[]} */
const found = (...ids) =>
  ids.map(id => ({ id, label: LABELS[id], raw_rank: id < 4 ? id + 1 : null, logit: id < 4 ? FOUR[id] : null }));

/**
 * @param {Partial<Actions>} actions
 * @param {ReturnType<typeof shown>} [state]
 */
function page_of(actions, state = shown({ top_k: 2 })) {
  const page = live(create, state, { find: async () => [], tokenize: async () => [], ...actions });
  const field = page.one('searchbox', 'Search the vocabulary');
  return {
    ...page,
    field,
    async look_for(/** @type {string} */ query) {
      begin_typing(field, query);
      press(field, 'Enter');
      await settled();
    },
    status: () => bare(page.one('status').textContent),
    matches: () => Array.from(page.root.querySelectorAll('.dv-matches li'), text_of),
    asked: () => page.taken('find').map(([, query]) => query),
  };
}

describe('search', () => {
  afterEach(() => mock.timers.reset());

  test('quick typing makes one request, and Enter asks at once', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const page = page_of({ find: async () => found(0, 2) });
    assert.equal(page.field.placeholder, 'search all 4 tokens');
    for (const query of ['p', 'pa', 'par']) begin_typing(page.field, query);
    mock.timers.runAll();
    await settled();
    assert.deepEqual(page.asked(), ['par']);
    assert.equal(page.status(), '2 tokens match “par”.');
    await page.look_for('a');
    assert.deepEqual(page.asked(), ['a']);
  });

  test('each match shows its rank, probability and fate', async () => {
    const page = page_of({ find: async () => found(0, 2, 7) });
    await page.look_for('x');
    assert.deepEqual(page.matches(), [
      '␣Parisrank 140.00 %kept, 57.14 % after settingsForce',
      '␣arank 320.00 %removed by top-kForce',
      'مرحبا0 %impossible: its logit is −∞Force',
    ]);
    assert.equal(page.all('listitem')[1].title, 'id 2, logit −1.61');
    click(page.one('button', 'Force ␣a'));
    click(page.one('button', 'Force ␣a'), 2);
    assert.deepEqual(page.taken('force'), [['force', 2]]);
    page.change({ settings: { ...page.state.settings, top_k: 3 } });
    assert.match(page.matches()[1], /kept, 22\.22 % after settings/);
    page.change({ row: null });
    assert.equal(page.matches()[1], '␣arank 3Force');
  });

  test('a token that the model did not list shows its probability only if that is known', async () => {
    const unlisted = { raw_rank: 0, logit: null, unlisted: true };
    const [known, unknown] = found(2, 7).map((each, i) => ({ ...each, ...unlisted, probability: i ? null : 0.25 }));
    const page = page_of({ find: async () => [known, unknown] });
    const listed = { count: 2, rest: 0.3, lowest: -1 };
    page.change({ row: { .../** @type {Row} */ (page.state.row), listed } });
    await page.look_for('x');
    assert.deepEqual(page.matches(), [
      '␣a25.00 %not among the 2 that the model listsForce',
      'مرحباnot among the 2 that the model listsForce',
    ]);
  });

  test('the search is repeated at another step once playing stops', async () => {
    const page = page_of({ find: async () => found(0) });
    await page.look_for('x');
    page.taken();
    page.change({ index: 3, mode: 'playing' });
    await settled();
    assert.deepEqual(page.asked(), []);
    assert.ok(page.root.querySelector('.dv-matches')?.classList.contains('dv-waiting'));
    page.change({ mode: 'paused' });
    await settled();
    page.change({ row_key: '/whole' }); // the rest of the same row
    await settled();
    assert.deepEqual(page.asked(), ['x']);
  });

  test('the status reports more matches, no matches or no scores', async () => {
    const some = (/** @type {number} */ number) => Array.from({ length: number }, () => found(1)[0]);
    const page = page_of({ find: async query => (query === 'over' ? null : some(Number(query))) });
    /** @type {[string, string, number][]} */
    const cases = [
      ['0', 'No token', 0],
      ['1', '1 token', 1],
      ['12', '12 tokens', 12],
      ['13', 'More than 12', 12],
      ['over', 'There are no scores', 0],
    ];
    for (const [query, start, number] of cases) {
      await page.look_for(query);
      assert.ok(page.status().startsWith(start), page.status());
      assert.equal(page.matches().length, number);
    }
  });

  test('a late answer never replaces a newer one, and Escape clears', async () => {
    /** @type {((found: FoundToken[]) => void)[]} */
    const answers = [];
    const page = page_of({ find: () => new Promise(resolve => answers.push(resolve)) });
    await page.look_for('a');
    await page.look_for('ab');
    answers[1](found(1));
    answers[0](found(0));
    await settled();
    assert.match(page.matches().join(), /^␣the/);
    press(page.one('button', 'Why not ␣the?'), 'Escape');
    assert.deepEqual([page.field.value, document.activeElement, page.all('list')], ['', page.field, []]);
    let heard = 0;
    page.root.parentElement?.addEventListener('keydown', () => heard++, { once: true });
    press(page.field, 's');
    assert.equal(heard, 0, 'no shortcut of the page');
  });

  test('a text of several tokens lists each as a choice', async () => {
    const page = page_of({ tokenize: async text => (text === 'un' ? found(3, 0, 1) : found(0)) });
    await page.look_for('un');
    const pieces = page.one('list', 'Tokens of the text');
    assert.equal(bare(pieces.previousElementSibling.textContent), '“un” is 3 tokens, one step each:');
    assert.deepEqual(Array.from(pieces.children, text_of), ['␣London', '␣Paris', '␣the']);
    const choice = page.one('button', 'Why not ␣London?');
    choice.click();
    assert.equal(choice.getAttribute('aria-expanded'), 'true');
    page.one('table', 'Path of ␣London');
    choice.click();
    assert.deepEqual(page.all('region'), []);
    await page.look_for('able'); // a single token needs no list
    assert.deepEqual(page.all('list', 'Tokens of the text'), []);
    const single = page_of({ find: async () => found(1) });
    await single.look_for('the');
    single.one('table', 'Path of ␣the'); // at once
    single.one('button', 'Close').click();
    single.change({ row: make_row([1, 2, 3, 4]), row_key: 'other' });
    await settled();
    assert.deepEqual(single.all('table'), []);
  });

  test('hostile labels are rendered as text', async () => {
    const labels = read_hostile().slice(0, 12);
    const tokens = labels.map((label, id) => ({ id, label, raw_rank: id + 1, logit: 0 }));
    const page = page_of({ find: async () => tokens, tokenize: async () => tokens });
    await page.look_for('x');
    const choices = Array.from(page.root.querySelectorAll('.dv-matches .dv-token'), each => each.textContent);
    assert.deepEqual(choices, labels);
    assert.deepEqual(page.all('button', /^Force/).map(name_of).length, labels.length);
    assert.equal(page.root.querySelectorAll('script, img, b').length, 0);
  });
});
