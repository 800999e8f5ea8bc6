// "Export code": the settings as code for other programs, in a dialog with a tab for each.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../../ui/components/js/parts/samplers/samplers.js';
import { shown } from '../../fixtures.js';
import { key, live, pointer, settled } from '../../harness.js';
import { read_hostile } from '../../vectors.js';

/**
 * @import { Snippet } from '../../../../../ui/components/js/types.js'
 */

/** @type {Snippet[]} */
const SNIPPETS = [
  { target: 'transformers', language: 'python', code: 'generate("a")', lacking: [], differs: [] },
  {
    target: 'vLLM',
    language: 'python',
    code: read_hostile().join('\n'),
    lacking: [['typical_p', 'has no such sampler']],
    differs: [['seed', 'draws other numbers']],
  },
];

/** @param {Snippet[]} snippets */
async function opened(snippets = SNIPPETS) {
  const page = live(create, shown(), { snippets: async () => snippets });
  const opener = page.one('button', 'Export code');
  opener.click();
  const dialog = page.one('dialog', 'Export code');
  assert.match(dialog.textContent, /Writing the code …/);
  await settled();
  return { ...page, opener, dialog, is_open: () => page.all('dialog').length === 1 };
}

test('each program has a tab with its code and its differences', async () => {
  const page = await opened();
  assert.deepEqual(page.taken(), [['snippets']]);
  assert.deepEqual(
    page.all('tab').map(tab => tab.textContent),
    ['transformers', 'vLLM'],
  );
  for (const { target, code, lacking, differs } of SNIPPETS) {
    page.one('tab', target).click();
    const panel = page.one('tabpanel', target);
    assert.equal(panel.querySelector('code')?.textContent, code);
    assert.equal(page.all('listitem').length, lacking.length + differs.length);
  }
  const remarks = page.all('listitem').map(item => item.textContent);
  assert.deepEqual(remarks, ['Typical-p has no such sampler', 'Seed draws other numbers']);
  assert.equal(page.dialog.querySelectorAll('script, img, b').length, 0);
});

test('tabs and Escape work by keyboard without triggering page shortcuts', async () => {
  const page = await opened();
  /** @type {string[]} */
  const heard = [];
  const listen = (/** @type {KeyboardEvent} */ event) => heard.push(event.key);
  document.addEventListener('keydown', listen, true);
  page.one('tab', 'transformers').focus();
  const chosen = ['ArrowLeft', 'ArrowRight', 'End', 'Home'].map(each => {
    key(each);
    return page.all('tab').findIndex(tab => tab === document.activeElement && tab.ariaSelected === 'true');
  });
  key('s');
  key('Escape');
  document.removeEventListener('keydown', listen, true);
  assert.deepEqual([chosen, heard, page.is_open()], [[1, 0, 1, 0], [], false]);
});

test('an empty answer is reported until a press outside', async () => {
  const page = await opened([]);
  assert.match(page.dialog.textContent, /No code came back/);
  assert.deepEqual(page.all('tabpanel'), []);
  pointer(/** @type {Element} */ (page.dialog.firstElementChild), 'pointerdown');
  assert.ok(page.is_open(), 'a press inside');
  pointer(page.dialog, 'pointerdown');
  assert.ok(!page.is_open(), 'one outside');
});

test('Copy copies the exact code, or explains how without a clipboard', async () => {
  const page = await opened();
  /** @type {string[]} */
  const copied = [];
  const writes = { writeText: async (/** @type {string} */ text) => copied.push(text) };
  Object.defineProperty(navigator, 'clipboard', { value: writes, configurable: true });
  page.one('tab', 'vLLM').click();
  page.one('button', 'Copy').click();
  await settled();
  assert.deepEqual(copied, [SNIPPETS[1].code]);
  assert.match(page.dialog.textContent, /Copied/);
  Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
  Object.assign(document, { execCommand: () => false });
  page.one('button', 'Copy').click();
  await settled();
  assert.match(page.dialog.textContent, /Marked: press Ctrl\+C/);
  assert.equal(getSelection()?.toString(), SNIPPETS[1].code);
  page.destroy();
});
