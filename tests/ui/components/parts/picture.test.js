// The picture of a step: the open tab, and the message if Plotly is unavailable.

import '../harness.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../ui/components/js/parts/picture.js';
import { shown } from '../fixtures.js';
import { key, live, settled } from '../harness.js';

/** @param {Parameters<typeof shown>[1]} [more] */
function page_of(more = {}) {
  const page = live(create, shown({ top_k: 2 }, more));
  return {
    ...page,
    tabs: () => page.all('tab').map(tab => tab.textContent),
    chosen: () => page.all('tab').find(tab => tab.ariaSelected === 'true')?.textContent,
    panels: () => page.all('tabpanel').map(panel => panel.className.replace('dv-panel dv-panel-', '').split(' ')[0]),
  };
}
const GUIDED = { negative_prompt: 'sad', negative_tokens: [{ id: 1, label: 'sad', special: false }] };

test('a tab opens its picture, by press and by arrow key', () => {
  const page = page_of();
  assert.deepEqual(page.tabs(), ['Logits and softmax', 'By rank', 'Draw']);
  page.one('tab', 'By rank').click();
  assert.deepEqual(page.taken(), [['show', { picture: 'ranks' }]]);
  assert.deepEqual([page.chosen(), page.panels()], ['By rank', ['ranks']]);
  page.one('tab', 'By rank').focus();
  const visited = ['ArrowRight', 'ArrowRight', 'ArrowLeft'].map(each => {
    key(each);
    return [page.chosen(), document.activeElement?.textContent];
  });
  assert.deepEqual(visited, [
    ['Draw', 'Draw'],
    ['Logits and softmax', 'Logits and softmax'],
    ['Draw', 'Draw'],
  ]);
});

test('guidance has a tab while two texts are read', () => {
  const page = page_of({ ...GUIDED, picture: 'guidance' });
  assert.deepEqual([page.tabs().at(-1), page.panels()], ['Guidance', ['guidance']]);
  page.change({ negative_tokens: null });
  assert.deepEqual([page.tabs().length, page.panels()], [3, ['distribution']]);
});

test('slow motion opens the draw tab at the draw stage', () => {
  const page = page_of({ slow: true, point: 2 });
  assert.deepEqual(page.panels(), ['distribution']);
  page.change({ point: 3 });
  assert.deepEqual([page.chosen(), page.panels()], ['Draw', ['draw']]);
});

test('a search replaces all tabs with its candidates', () => {
  const page = page_of({ strategy: { top_k: 4, penalty_alpha: 0.6 } });
  assert.deepEqual([page.tabs(), page.panels()], [[], ['search']]);
});

test('the picture can be enlarged and restored', () => {
  const page = page_of();
  for (const enlarged of [true, false]) {
    page.one('button', 'Enlarge').click();
    assert.equal(page.state.enlarged, enlarged);
    assert.equal(page.one('button', 'Enlarge').getAttribute('aria-pressed'), String(enlarged));
  }
});

test('missing Plotly shows an error with Retry', async () => {
  const page = page_of();
  await settled();
  assert.match(
    page.one('alert').textContent,
    /^The charts cannot be drawn: the page does not say where Plotly\.js is\./,
  );
  page.one('button', 'Retry').click();
  assert.deepEqual(page.all('alert'), []);
  await settled();
  page.one('alert');
  page.destroy();
});
