// The strip: the tokens of the text with their facts and marks, plain text, and branches.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listen } from '../../../../../ui/components/js/lib/keys.js';
import { create } from '../../../../../ui/components/js/parts/strip/strip.js';
import { LABELS, make_state, make_step, shown } from '../../fixtures.js';
import { changes_in, key, live, press, settled, text_of } from '../../harness.js';
import { read_hostile } from '../../vectors.js';

/**
 * @import { PromptToken, State, Step } from '../../../../../ui/components/js/types.js'
 */

const STEPS = [0, 1, 2, 3, 6].map(id => make_step(id));
const OVER = { reason: 'end', sentence: 'The text is over.', is_over: true, at_limit: true };

/** @param {Partial<State>} [changes] */
function page_of(changes = {}) {
  const state = make_state({ steps: STEPS, index: 2, ...changes });
  const page = live(create, state, { inspect: index => page.change({ index }) });
  const list = page.one('list', 'Tokens');
  const generated = () => /** @type {HTMLElement[]} */ (Array.from(list.querySelectorAll('li.generated')));
  return {
    ...page,
    list,
    generated,
    slot: () => page.all('button', /^(the token to come|proposed token)/)[0],
    inspected: () => page.taken('inspect').map(([, index]) => index),
    current: () => Array.from(page.root.querySelectorAll('[aria-current]'), each => each.textContent),
    marks: () => generated().map(item => item.className.replace('dv-token generated ', '')),
  };
}

/** @param {Partial<PromptToken>} token */
const prompt_token = token => ({ id: 1, label: '␣the', special: false, ...token });

test('each token is an item with its facts', () => {
  const page = page_of();
  assert.deepEqual(page.all('listitem').map(text_of), ['␣the', '␣Paris', '␣the', '␣a', '␣London', '␣is']);
  assert.deepEqual(page.current(), ['␣a']);
  assert.match(page.generated()[2].title, /^token 3, id 2, rank 1, .* 50\.00 %, .* 1\.00 bits$/);
  assert.equal(page.root.querySelectorAll('.dv-strip-box [tabindex="0"]:not(.dv-plain)').length, 1);
});

test('forced, special and partial tokens are marked and explained', () => {
  const steps = [
    make_step(0, { forced: true }),
    make_step(1, { special: true, label: '</s>' }),
    make_step(2, { partial: true, label: '<0xE2>' }),
  ];
  const labels = ['<0xF0>', '␣<0xE2><0x80>', '␣is', '<0x41>'];
  const prompt_tokens = labels.map(label => prompt_token({ label }));
  const page = page_of({ steps, index: 0, prompt_tokens: [...prompt_tokens, prompt_token({ special: true })] });
  assert.deepEqual(
    Array.from(page.list.querySelectorAll('li.prompt'), item => item.className.replace(/dv-token prompt ?/, '')),
    ['partial', 'partial', '', '', 'special'],
  );
  assert.deepEqual(
    page.marks().map(marks => marks.split(' ')[1]),
    ['forced', 'special', 'partial'],
  );
  for (const [place, words] of ['forced', 'special', 'part of a character'].entries())
    assert.match(page.generated()[place].title, new RegExp(words));
});

test('the shade of a token follows the chosen colouring', () => {
  const step = { probability: 0.9, model_probability: 0.03, entropy: 2.02, model_entropy: 7 };
  const page = page_of({ steps: [make_step(0, step)], index: 0 });
  const shades = /** @type {const} */ (['probability', 'model_probability', 'entropy', 'model_entropy']).map(
    colouring => {
      page.change({ colouring });
      return page.marks()[0];
    },
  );
  assert.deepEqual(shades, ['dv-shade-5', 'dv-shade-1', 'dv-shade-3', 'dv-shade-5']);
  const colours = page.one('button', 'Colours');
  colours.click();
  assert.equal(colours.getAttribute('aria-expanded'), 'true');
  const legend = text_of(/** @type {Element} */ (page.root.querySelector('.dv-strip-legend')));
  assert.match(legend, /^Colour: model’s uncertaintybelow 0\.5 bits/);
});

test('clicks and keys inspect steps', () => {
  const page = page_of();
  page.generated()[1].click();
  assert.deepEqual([page.inspected(), page.current()], [[1], ['␣the']]);
  page.generated()[1].focus();
  for (const each of ['ArrowRight', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft', 'End', 'Home']) key(each);
  assert.deepEqual(page.inspected(), [2, 1, 0, 0, 5, 0]);
  assert.equal(document.activeElement, page.generated()[0]);
  page.slot().click();
  assert.deepEqual([page.inspected(), page.current()], [[5], ['?']]);
  let heard = 0;
  const stop = listen(page.root, /** @type {any} */ ({ proceed: () => heard++ }), () => true);
  page.generated()[3].focus();
  key('Enter');
  stop();
  assert.deepEqual([page.inspected(), heard], [[3], 0], 'no shortcut of the page');
});

test('the next token’s slot shows a proposal and finally disappears', () => {
  const page = page_of();
  assert.equal(page.slot().textContent, '?');
  const { row, settings } = shown();
  page.change({ manual: true, row, settings, index: 5 });
  assert.deepEqual([page.slot().textContent, page.slot().getAttribute('aria-label')], ['␣the', 'proposed token ␣the']);
  assert.equal(page.all('listitem').length, 6, 'it is not a token yet');
  page.change({ manual: false, index: 2, stop: OVER });
  assert.equal(page.slot(), undefined);
  page.generated()[2].focus();
  key('End');
  assert.deepEqual(page.inspected().at(-1), 4);
});

test('a new token adds one element to a long text', () => {
  const steps = Array.from({ length: 2000 }, (_, id) => make_step(id % 7));
  const page = page_of({ steps, index: 1999 });
  const next = { steps: [...steps, make_step(1)], index: 2000 };
  const { made } = changes_in(page.root, () => page.change(next));
  assert.deepEqual(made, [page.generated()[2000]]);
});

test('a long prompt shows only its ends until it is unfolded', () => {
  const prompt_tokens = Array.from({ length: 200 }, (_, place) => prompt_token({ label: `w${place}` }));
  const page = page_of({ prompt_tokens });
  const items = () => Array.from(page.list.querySelectorAll('li.prompt'));
  assert.deepEqual([items().length, items().at(-1)?.getAttribute('title')], [56, 'prompt token 200, id 1']);
  page.one('button', '… 144 more tokens of the prompt …').click();
  assert.equal(items().length, 200);
});

test('focus moves to the inspected token when the text is rewound', () => {
  const page = page_of({ index: 4 });
  page.generated()[4].focus();
  page.change({ steps: STEPS.slice(0, 2), index: 1 });
  assert.equal(document.activeElement, page.generated()[1]);
});

test('plain text matches the tokens, with marked line ends', async () => {
  const page = page_of({ prompt: 'the', steps: [make_step(0), make_step(5, { text: ' <b>' })] });
  /** @type {string[]} */
  const copied = [];
  const writes = { writeText: async (/** @type {string} */ text) => copied.push(text) };
  Object.defineProperty(navigator, 'clipboard', { value: writes, configurable: true });
  page.one('button', 'Copy text').click();
  await settled();
  assert.deepEqual(copied, ['the Paris <b>']);
  page.one('button', 'Text').click();
  assert.deepEqual(page.all('list', 'Tokens'), []);
  assert.equal(page.root.querySelector('.dv-plain')?.textContent, 'the Paris <b>');
  page.change({ steps: [make_step(3)] });
  assert.equal(page.root.querySelector('.dv-plain')?.textContent, 'the London');
  page.change({ chat: true });
  page.one('button', 'Text').click();
  page.one('button', 'Text').click();
  assert.equal(page.root.querySelector('.dv-plain')?.textContent, 'the\n\n London');
  page.change({ before: [{ role: 'user', content: 'Hi' }], steps: [make_step(3), make_step(0)] });
  const said = 'User: Hi\n\nUser: the\n\n London Paris';
  assert.equal(page.root.querySelector('.dv-plain')?.textContent?.replaceAll('⏎', ''), said);
  const lines = page_of({ prompt: '2 + 2 =\n', steps: [make_step(0, { label: '⏎⏎', text: '4\n\n5' }), make_step(1)] });
  assert.equal(lines.generated()[0].nextSibling?.nodeValue, '\n', 'a token with a line end');
  lines.one('button', 'Text').click();
  const plain = /** @type {HTMLElement} */ (lines.root.querySelector('.dv-plain'));
  assert.equal(plain.textContent, '2 + 2 =⏎\n4⏎\n⏎\n5 the');
  for (const mark of plain.querySelectorAll('.dv-break')) mark.remove(); // as `user-select: none` does
  assert.equal(plain.textContent, '2 + 2 =\n4\n\n5 the');
  lines.one('button', 'All').click();
  assert.ok(lines.root.classList.contains('dv-whole'), 'the whole text');
});

test('thinking is marked, folded to its marks, and has figures of its own', () => {
  const texts = ['<', 'think', '>', 'a', 'b', '</think>', 'Yes', '.'];
  const steps = texts.map((text, index) =>
    make_step(0, { label: text, text, model_probability: index < 6 ? 0.5 : 0.25 }),
  );
  const page = page_of({ steps: steps.slice(0, 2) });
  assert.deepEqual(page.all('button', /thinking/), []);
  page.change({ steps });
  const fold = page.one('button', 'Fold thinking');
  assert.match(fold.title, /Thinking: 6 tokens, perplexity 2.00; answer: 2 tokens, perplexity 4.00/);
  const thought = () => page.generated().map(li => li.classList.contains('thought'));
  assert.deepEqual(thought(), [true, true, true, true, true, true, false, false]);
  fold.click();
  assert.deepEqual(
    page.generated().map(li => li.classList.contains('dv-away')),
    [false, true, true, true, true, false, false, false],
  );
  page.one('button', 'Unfold thinking').click();
  assert.ok(page.generated().every(li => !li.classList.contains('dv-away')));
});

test('the generated text is edited in place', () => {
  const page = page_of({ steps: [make_step(0), make_step(5, { text: ' <b>' })] });
  const edit = page.one('button', 'Edit');
  edit.click();
  const editor = page.one('textbox', 'Generated text');
  assert.deepEqual([editor.value, document.activeElement === editor], [' Paris <b>', true]);
  editor.value = ' Paris is';
  press(editor, 'Enter');
  assert.deepEqual(page.taken(), [], 'a line end');
  press(editor, 'Enter', { ctrlKey: true });
  assert.deepEqual(page.taken(), [['edit', ' Paris is']]);
  edit.click();
  edit.click();
  edit.click();
  editor.value = 'lost';
  press(editor, 'Escape');
  assert.deepEqual(page.taken(), [], 'unchanged, and given up');
  edit.click();
  page.change({ steps: [make_step(0)] });
  assert.deepEqual(page.all('textbox', 'Generated text'), [], 'the text has changed meanwhile');
  page.change({ steps: [] });
  assert.ok(edit.disabled);
});

test('hostile labels are rendered as text in tokens and branches', () => {
  const labels = read_hostile();
  const branch = { parent: null, departs_at: 1, length: 3, current: false };
  const branches = labels.map((text, at) => ({ ...branch, number: at + 1, text }));
  const page = page_of({ steps: labels.map((label, id) => make_step(id, { label, text: label })), index: 0, branches });
  assert.deepEqual(
    page.generated().map(item => item.textContent),
    labels,
  );
  page.one('button', 'Text').click();
  assert.equal(page.root.querySelectorAll('script, img, b, i').length, 0);
});

// --- branches -------------------------------------------------------------------------------------

const BRANCHES = [
  { number: 1, parent: null, departs_at: 0, length: 20, text: LABELS[0], current: false },
  { number: 2, parent: 1, departs_at: 4, length: 12, text: '␣London␣is', current: true },
];

test('branches appear once there are two, and say where each departs', () => {
  const page = page_of({ branches: BRANCHES.slice(0, 1) });
  assert.deepEqual(page.all('radiogroup'), []);
  page.change({ branches: BRANCHES });
  const radios = page.all('radio');
  assert.deepEqual(radios.map(text_of), [
    'Branch 1: first text␣Paris20 tokens',
    'Branch 2: from token 5␣London␣is12 tokens',
  ]);
  assert.deepEqual(
    radios.map(radio => radio.getAttribute('aria-checked')),
    ['false', 'true'],
  );
  radios[1].focus();
  key('ArrowLeft'); // moves only the focus: a different branch is a request to the server
  assert.equal(document.activeElement, radios[0]);
  assert.deepEqual(page.taken(), []);
  radios[0].click();
  assert.deepEqual(page.taken(), [['switch_branch', 1]]);
});
