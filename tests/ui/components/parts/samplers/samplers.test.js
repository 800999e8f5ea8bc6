// The column of samplers: adding, removing, reordering, and the draw below them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../../ui/components/js/parts/samplers/samplers.js';
import { table } from '../../chains.js';
import { bare, FOUR, make_row, recorded, settings_of, shown } from '../../fixtures.js';
import { key, live, name_of, pointer, press, settled, type } from '../../harness.js';

/**
 * @import { Value } from '../../../../../ui/components/js/types.js'
 */

const FIRST = { temperature: 0.9, top_k: 3, top_p: 0.9, min_p: 0 };

/** @param {ReturnType<typeof shown>} [state] */
function page_of(state = shown(FIRST)) {
  const page = live(create, state);
  return {
    ...page,
    grip: (/** @type {string} */ label) => page.one('button', `Move ${label}`),
    opener: () => page.one('button', 'Add sampler'),
    choose(/** @type {string} */ label) {
      page.one('button', 'Add sampler').click();
      page.one('menuitem', label).click();
    },
    /** List the entries in their order, without the draw. */
    order: () => Array.from(page.root.querySelectorAll('[data-sampler]'), name_of).slice(0, -1),
    spoken: () => page.root.querySelector('.dv-spoken[role=status]')?.textContent,
    draw: () => page.one('group', 'Draw').querySelector('.dv-effect').textContent,
  };
}

// --- adding and removing --------------------------------------------------------------------------

test('the menu lists missing samplers in groups with descriptions', () => {
  const page = page_of();
  page.opener().click();
  assert.equal(page.opener().getAttribute('aria-expanded'), 'true');
  assert.equal(page.all('menuitem').length, table.samplers.length - 4);
  const groups = Array.from(page.one('menu', 'Add sampler').children, name_of);
  assert.deepEqual(groups, ['Penalties and bans', 'Temperature', 'Truncation', 'Adaptive']);
  const typical = page.one('menuitem', 'Typical-p');
  const about = document.getElementById(typical.getAttribute('aria-describedby'));
  assert.equal(about?.textContent, table.samplers.find(({ name }) => name === 'typical_p')?.about);
  pointer(document.body, 'pointerdown');
  assert.deepEqual(page.all('menu'), []);
});

test('the menu works by keyboard without triggering page shortcuts', () => {
  const page = page_of();
  /** @type {string[]} */
  const heard = [];
  const listen = (/** @type {KeyboardEvent} */ event) => heard.push(event.key);
  document.addEventListener('keydown', listen, true);
  const focused = () => name_of(/** @type {Element} */ (document.activeElement));
  page.opener().click();
  const names = page.all('menuitem').map(name_of);
  const walked = ['ArrowDown', 'ArrowUp', 'ArrowUp', 'Home', 't'].map(each => {
    key(each);
    return focused();
  });
  key('Escape');
  document.removeEventListener('keydown', listen, true);
  assert.deepEqual(walked.slice(0, 4), [names[1], names[0], names.at(-1), names[0]]);
  assert.equal(
    walked[4],
    names.find(name => name.startsWith('T')),
  );
  assert.equal(document.activeElement, page.opener());
  assert.deepEqual([page.all('menu'), heard], [[], []]);
});

test('an added sampler takes its place and the focus', () => {
  const page = page_of();
  page.choose('Typical-p');
  assert.deepEqual(page.taken('set'), [['set', { order: [...table.first, 'typical_p'], typical_p: 0.9 }]]);
  assert.equal(document.activeElement, page.one('slider', 'Typical-p'));
  assert.equal(page.spoken(), 'Typical-p added, place 5 of 5, after Min-p.');
  page.choose('Dynamic temperature');
  assert.deepEqual(page.order().slice(0, 3), ['Temperature', 'Dynamic temperature', 'Top-k']);
  page.choose('Logit bias'); // waits for its first token
  assert.deepEqual([page.order()[0], page.state.settings.logit_bias], ['Logit bias', null]);
  assert.equal(document.activeElement, page.one('textbox', 'Add token to Logit bias'));
  const values = Object.fromEntries(table.samplers.map(({ name, off }) => [name, off]));
  page.choose('P-less'); // it has no number
  assert.equal(document.activeElement, page.one('switch', 'P-less on'));
  assert.ok(page_of(shown(values)).opener().disabled, 'all samplers are on the page');
});

test('only added samplers can be removed, and they remember their value', () => {
  const page = page_of();
  assert.deepEqual(page.all('button', /^Remove /), []);
  page.choose('Top-n-sigma');
  type(page.one('slider', 'Top-n-sigma'), '1.5');
  page.taken();
  page.one('button', 'Remove Top-n-sigma').click();
  assert.deepEqual(page.taken(), [['set', { order: table.first, top_n_sigma: 0 }], ['settle']]);
  assert.equal(page.spoken(), 'Top-n-sigma removed.');
  assert.equal(document.activeElement, page.grip('Min-p'));
  page.choose('Top-n-sigma');
  assert.equal(page.state.settings.top_n_sigma, 1.5);
});

// --- order ----------------------------------------------------------------------------------------

test('keys move a sampler, which is dropped when the focus leaves', async () => {
  const page = page_of();
  page.grip('Top-k').focus();
  key('ArrowUp', { altKey: true });
  assert.deepEqual(page.taken(), [['set', { order: ['top_k', 'temperature', 'top_p', 'min_p'] }], ['settle']]);
  assert.deepEqual([document.activeElement, page.spoken()], [page.grip('Top-k'), 'Top-k: place 1 of 4, first.']);
  key('ArrowUp', { altKey: true });
  assert.equal(page.spoken(), 'Top-k is already first.');
  key(' ');
  for (const each of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'Escape']) key(each);
  assert.match(page.spoken() ?? '', /^Top-k put back/);
  assert.equal(page.order()[0], 'Top-k');
  key('ArrowDown', { altKey: true });
  const grip = page.grip('Top-p');
  grip.focus();
  key('Enter');
  assert.equal(grip.getAttribute('aria-pressed'), 'true');
  key('ArrowUp');
  page.opener().focus();
  await settled();
  assert.equal(grip.getAttribute('aria-pressed'), 'false');
  press(grip, 'ArrowUp');
  assert.deepEqual(page.order(), ['Temperature', 'Top-p', 'Top-k', 'Min-p']);
});

test('a changed order reports its effect, and one press restores the default', () => {
  // The nucleus of .65 has 2 of .4 .3 .2 .1. At T = 2 it has 3.
  const page = page_of(shown({ top_p: 0.65, temperature: 2 }));
  assert.match(page.text(), /In the default order \(temperature, top-p\) 3 tokens would be left instead of 2/);
  page.taken();
  page.one('button', 'Default order').click();
  assert.deepEqual(page.taken(), [['set', { order: ['temperature', 'top_p'] }], ['settle']]);
  assert.deepEqual(page.all('button', 'Default order'), []);
  assert.equal(page.spoken(), 'The samplers are in their default order.');
  assert.equal(document.activeElement, page.grip('Temperature'));
});

// --- the draw -------------------------------------------------------------------------------------

/** @type {[ReturnType<typeof shown>, string][]} */
const DRAWS = [
  [shown({}), 'will be drawn with u = 0.5000'],
  [shown({}, { point: 2 }), 'u = 0.5000 would draw ␣the, its stretch is [0.4000, 0.7000)'],
  [shown({}, { manual: true }), 'u = 0.5000 would draw ␣the, its stretch is [0.4000, 0.7000)'],
  [recorded({}), 'u = 0.5000 drew ␣the, its stretch is [0.4000, 0.7000)'],
  [recorded({}, { taken: { forced: true, u: null }, step: { u: null } }), 'forced: ␣the, no draw'],
  [shown({ temperature: 0 }), 'temperature 0 takes ␣Paris without a draw'],
  [recorded({}, { taken: { u: null }, step: { u: null } }), '␣the was taken greedily, no draw'],
  [shown({ banned: { sequences: [[0], [1], [2], [3]] } }), 'no tokens left to draw'],
  [shown({}, { row: null }), 'no scores yet'],
];
test('the draw is described for every kind of step', () => {
  for (const [state, words] of DRAWS) assert.equal(page_of(state).draw(), words);
  const page = page_of(recorded({ top_k: 0 }));
  for (const [top_k, words] of /** @type {[number, string][]} */ ([
    [3, 'would still draw ␣the, its stretch is [0.4444, 0.7778)'],
    [1, 'would draw ␣Paris, its stretch is [0.0000, 1.0000)'],
  ])) {
    page.change({ settings: settings_of({ top_k }), is_what_if: true });
    assert.equal(page.draw(), `u = 0.5000 ${words}`);
  }
});

test('a typed seed is checked and applies from the next token', async () => {
  const sentence = 'Seed must be a whole number.';
  const page = live(create, recorded({}), { check: async () => ({ sentence }) });
  const draw = () => page.one('group', 'Draw').querySelector('.dv-effect').textContent;
  const field = page.one('spinbutton', 'Seed');
  type(field, '9007199254740991');
  assert.deepEqual(page.taken(), [['set', { seed: 9007199254740991 }], ['settle']]);
  assert.match(draw(), /; seed [\d,]+ applies from the next token$/);
  page.change({ row: make_row(FOUR), steps: [] });
  assert.doesNotMatch(draw(), /holds from/);
  type(field, '1.5');
  await settled();
  assert.deepEqual(page.taken(), [['check', 'seed', '', 1.5]]);
  assert.equal(page.one('alert').textContent, sentence);
});

// --- guidance and contrastive search --------------------------------------------------------------

test('guidance shows its scale and its negative prompt', () => {
  const draft = { ...shown().draft, negative_prompt: 'sad' };
  const page = page_of(shown({}, { draft, guidance_scale: 2 }));
  const entry = page.one('group', 'Guidance');
  assert.match(entry.textContent, /begins with Start/);
  page.change({ negative_prompt: 'sad', negative_tokens: [{ id: 1, label: 'sad', special: false }] });
  assert.match(bare(entry.textContent), /away from “sad”/);
  page.taken();
  type(page.one('slider', 'Guidance scale'), '3');
  assert.deepEqual(page.taken(), [['guide', 3], ['settle']]);
});

test('contrastive search shows its two numbers and which samplers act', () => {
  const page = page_of();
  assert.deepEqual(page.all('group', 'Contrastive search'), []);
  page.change({ draft: { ...page.state.draft, is_search: true } });
  assert.match(page.one('group', 'Contrastive search').textContent, /Press Start to begin\.$/);
  page.change({
    strategy: { top_k: 4, penalty_alpha: 0.6 },
    settings: { ...page.state.settings, order: ['repetition_penalty', 'top_p'], repetition_penalty: 1.2, top_p: 0.9 },
  });
  assert.match(page.one('group', 'Repetition penalty').textContent, /acts on the scores that candidates come from/);
  assert.match(page.one('group', 'Top-p').textContent, /No effect here.*contrastive search draws nothing/);
  assert.deepEqual([page.all('group', 'Draw'), page.all('group', 'Presets')], [[], []]);
  page.taken();
  type(page.one('slider', 'Penalty alpha'), '0.8');
  type(page.one('slider', 'Candidates k'), '6');
  assert.deepEqual(page.taken('draft'), [
    ['draft', { penalty_alpha: 0.8 }],
    ['draft', { top_k: 6 }],
  ]);
});
