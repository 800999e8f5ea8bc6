// The prompt: typed text, examples, earlier texts, Start.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../ui/components/js/parts/prompt.js';
import { make_state, make_step } from '../fixtures.js';
import { begin_typing, live, press, text_of } from '../harness.js';
import { read_hostile } from '../vectors.js';

const EXAMPLE = {
  name: 'Loops',
  prompt: 'again and again',
  look_at: 'The last three tokens.',
  settings: {},
  negative_prompt: null,
  guidance_scale: 1.5,
  strategy: null,
  chat: false,
  before: [],
  steps: 0,
};
const EARLIER = { number: 3, prompt: 'Once upon', tokens: 1, model: 'test', when: '' };

/** @param {Parameters<typeof make_state>[0]} [changes] */
function page_of(changes = {}) {
  const page = live(create, make_state(changes));
  return { ...page, area: page.one('textbox', 'Prompt'), start: page.one('button', 'Start') };
}

test('Enter starts with the typed draft, Shift+Enter adds a line', () => {
  const page = page_of();
  assert.match(page.area.placeholder, /1,024 tokens/);
  assert.match(page.start.title, /^Begin again/);
  page.change({ drafted: true });
  assert.match(page.start.title, /^Begin with/);
  page.area.focus();
  begin_typing(page.area, 'The');
  const is_line = press(page.area, 'Enter', { shiftKey: true });
  press(page.area, 'Enter', { isComposing: true }); // accepts an input method's proposal
  assert.deepEqual(page.taken(), [['draft', { prompt: 'The' }]]);
  assert.ok(is_line, 'left to the field');
  press(page.area, 'Enter');
  assert.deepEqual(page.taken(), [['start']]);
  assert.notEqual(document.activeElement, page.area, 'the keys are the page’s again');
  page.start.click();
  assert.deepEqual(page.taken(), [['start']]);
  page.change({ draft: { ...page.state.draft, prompt: 'another' } });
  assert.equal(page.area.value, 'another');
});

test('Enter on a phone adds a line instead of starting', t => {
  t.mock.method(globalThis, 'matchMedia', (/** @type {string} */ query) => ({
    matches: query === '(pointer: coarse)',
  }));
  const page = page_of();
  assert.ok(press(page.area, 'Enter'), 'left to the field');
  assert.deepEqual([page.taken(), page.start.title], [[], '']);
});

test('a folded prompt marks its line ends', () => {
  const page = page_of();
  const folded = /** @type {HTMLElement} */ (page.area.nextElementSibling);
  for (const [prompt, seen] of [
    ['2 + 2 =\n', '2 + 2 =⏎'],
    ['one\n\ntwo', 'one⏎⏎two'],
    ['one', ''],
  ]) {
    page.change({ draft: { ...page.state.draft, prompt } });
    assert.equal(folded.textContent, seen);
    assert.equal(folded.classList.contains('dv-hidden'), seen === '');
  }
});

test('one press opens an example or earlier text and closes the menu', () => {
  const page = page_of({ examples: { list: [EXAMPLE], note: 'Written for test.' } });
  const menu = /** @type {HTMLDetailsElement} */ (page.root.querySelector('details:not(.dv-chat)'));
  assert.ok(menu.textContent?.includes('Written for test.'));
  menu.open = true;
  assert.deepEqual(page.all('heading'), []);
  page.change({ earlier: [EARLIER, { ...EARLIER, number: 4, prompt: 'The newest' }] });
  assert.deepEqual(page.all('heading').map(text_of), ['Earlier texts of yours', 'Examples']);
  assert.deepEqual([...page.root.querySelectorAll('li b')].map(text_of), ['The newest', 'Once upon', 'Loops']);
  const press_in_menu = (/** @type {RegExp} */ name) => {
    menu.open = true;
    page.one('button', name).click();
    assert.ok(!menu.open);
  };
  press_in_menu(/^Loops/);
  press_in_menu(/^Once upon\s*1 token, test/);
  assert.deepEqual(page.taken(), [
    ['try_example', EXAMPLE],
    ['reopen', 3],
  ]);
});

/** @param {string} content @param {string} role */
const message = (content, role) => ({ role, content });

test('in chat, a new message is the next turn', () => {
  const page = page_of({ chat: true, prompt: 'Hi', steps: [make_step(0)] });
  const draft = { ...page.state.draft, chat: true, prompt: 'Hi' };
  page.change({ draft });
  const reply = page.one('button', 'Reply');
  page.area.focus();
  press(page.area, 'Enter');
  assert.deepEqual(page.taken(), [['start']], 'the same message begins again');
  page.change({ draft: { ...draft, prompt: 'And Spain?' }, drafted: true });
  assert.ok(reply.classList.contains('dv-primary') && !page.start.classList.contains('dv-primary'));
  page.area.focus();
  press(page.area, 'Enter');
  reply.click();
  assert.deepEqual(page.taken(), [['reply'], ['reply']]);
  page.change({ steps: [] });
  assert.ok(reply.classList.contains('dv-hidden'), 'nothing to reply to');
});

test('the menu Chat has the system prompt and the earlier messages', () => {
  const before = [message('Be brief.', 'system'), message('Hi', 'user'), message('<i>Ho</i>', 'assistant')];
  const model = { ...page_of().state.model, has_chat_template: true };
  const page = page_of({ model: /** @type {any} */ (model) });
  /** @type {HTMLDetailsElement} */ (page.root.querySelector('.dv-chat')).open = true;
  page.one('checkbox', 'Chat template').click();
  page.change({ draft: { ...page.state.draft, chat: true, before } });
  const system = page.one('textbox', 'System prompt');
  assert.equal(system.value, 'Be brief.');
  assert.deepEqual([...page.root.querySelectorAll('.dv-turns li')].map(text_of), ['User: Hi', 'Assistant: <i>Ho</i>']);
  begin_typing(system, '');
  page.one('button', 'New conversation').click();
  assert.deepEqual(page.taken(), [
    ['draft', { chat: true }],
    ['draft', { before: before.slice(1) }],
    ['draft', { before: [] }],
  ]);
});

test('hostile prompts are rendered as text', () => {
  const earlier = read_hostile().map((prompt, number) => ({ ...EARLIER, number, prompt }));
  const page = page_of({ earlier });
  assert.equal(page.root.querySelectorAll('li').length, earlier.length);
  assert.equal(page.root.querySelectorAll('script, img, i').length, 0);
});
