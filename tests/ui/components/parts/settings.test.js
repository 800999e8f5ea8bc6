// The menu Settings: the method, stop rules, the look of the page, and its keys.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEYS } from '../../../../ui/components/js/lib/keys.js';
import { create } from '../../../../ui/components/js/parts/settings.js';
import { make_state } from '../fixtures.js';
import { begin_typing, choose, live, settled, text_of, type } from '../harness.js';

/**
 * @import { Actions } from '../../../../ui/components/js/types.js'
 */

/** @param {Parameters<typeof make_state>[0]} [changes] @param {Partial<Actions>} [actions] */
function page_of(changes, actions) {
  const page = live(create, make_state(changes), actions);
  /** @type {HTMLDetailsElement} */ (page.root.querySelector('details')).open = true;
  page.taken();
  return page;
}

test('each control triggers its action', () => {
  const page = page_of({});
  const clicks = ['Stage view', 'Hide and reveal', 'Manual mode', 'Key shortcuts', 'Column: token id'];
  for (const name of clicks) page.one('checkbox', name).click();
  choose(page.one('combobox', 'Rows of the table'), '30');
  choose(page.one('combobox', 'Colour of tokens'), 'entropy');
  type(page.one('textbox', 'Stop strings'), 'end\n\nfin');
  page.one('button', 'Save trace (JSON)').click();
  assert.deepEqual(page.taken(), [
    ['stage', true],
    ['hide', true],
    ['toggle', 'manual', true],
    ['show', { keys: false }],
    ['toggle_column', 'id', true],
    ['show', { row_count: 30 }],
    ['show', { colouring: 'entropy' }],
    ['limit', { stop_strings: ['end', 'fin'] }],
    ['save_trace'],
  ]);
  const file = new File(['{}'], 'run.json');
  const [field] = page.root.querySelectorAll('input[type=file]');
  Object.defineProperty(field, 'files', { value: [file] });
  field.dispatchEvent(new Event('change'));
  assert.deepEqual(page.taken(), [['open_trace', file]]);
  assert.equal(page.root.querySelector('details')?.open, false);
});

test('the controls reflect the state of the page', () => {
  const shown = { columns: ['prob'], row_count: 50, colouring: /** @type {const} */ ('entropy') };
  const page = page_of({ stage: true, hiding: true, keys: false, ...shown });
  const checked = page.all('checkbox').filter(each => /** @type {HTMLInputElement} */ (each).checked);
  assert.deepEqual(
    checked.map(each => each.parentElement && text_of(each.parentElement)),
    ['Stage view', 'Hide and reveal', 'Column: after score changes'],
  );
  const chosen = page.all('combobox').map(each => /** @type {HTMLSelectElement} */ (each).value);
  assert.deepEqual(chosen, ['sampling', '50', 'entropy']);
  assert.deepEqual(page.all('checkbox', 'Chat template'), [], 'this model has none');
  assert.equal(page.all('term').length, KEYS.length, 'all keys are listed');
});

test('guidance asks for a negative prompt, and a search hides both', () => {
  const page = page_of();
  assert.deepEqual(page.all('textbox', 'Negative prompt'), []);
  page.one('checkbox', 'Guidance').click();
  begin_typing(page.one('textbox', 'Negative prompt'), 'sad');
  assert.deepEqual(page.state.draft.negative_prompt, 'sad');
  assert.match(page.text(), /Press Start to begin/);
  choose(page.one('combobox', 'Strategy'), 'search');
  assert.deepEqual([page.all('checkbox', 'Guidance'), page.all('textbox', 'Negative prompt')], [[], []]);
});

test('the server checks unusual values of max tokens', async () => {
  const page = page_of({}, { check: async () => ({ sentence: 'Max tokens must be at least 1, got 0.' }) });
  const field = page.one('spinbutton', 'Max tokens');
  type(field, '10');
  type(field, '0');
  await settled();
  assert.deepEqual(page.taken(), [
    ['limit', { max_tokens: 10 }],
    ['check', 'max_tokens', '', 0],
  ]);
  assert.equal(page.one('alert').textContent, 'Max tokens must be at least 1, got 0.');
});
