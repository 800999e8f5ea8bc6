// Words of the glossary: what is said of one, on hover, tap and focus.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { element } from '../../../../ui/components/js/lib/dom.js';
import { explain_terms, term } from '../../../../ui/components/js/lib/term.js';
import { key, mount, pointer } from '../harness.js';

const GLOSSARY = { logit: { name: 'Logit', text: 'The model’s raw <b>score</b>.' } };

/** A page with a word that is explained, one that is not, and a button. */
function page_of() {
  let stop = () => {};
  const page = mount(root => {
    root.append(term('logit'), term('unknown'), element('button', { text: 'Step' }));
    stop = explain_terms(root, () => GLOSSARY);
    return { update() {} };
  });
  const said = () => page.all('tooltip').map(tip => tip.textContent);
  return { ...page, stop, said, word: page.one('button', 'logit'), other: page.one('button', 'Step') };
}
const WORDS = ['LogitThe model’s raw <b>score</b>.'];

test('hover, focus and a tap say what a word means, until something else is pointed at', () => {
  const page = page_of();
  pointer(page.word, 'pointerover');
  assert.deepEqual(page.said(), WORDS);
  assert.equal(page.word.getAttribute('aria-describedby'), page.one('tooltip').id);
  pointer(page.other, 'pointerover');
  assert.deepEqual([page.said(), page.word.hasAttribute('aria-describedby')], [[], false]);
  page.word.focus();
  pointer(page.other, 'pointerover');
  assert.deepEqual(page.said(), WORDS, 'it has the focus still');
  page.other.focus();
  assert.deepEqual(page.said(), []);
  page.word.click();
  assert.deepEqual(page.said(), WORDS);
});

test('Escape and scrolling put it away', () => {
  const page = page_of();
  page.word.focus();
  key('Escape');
  assert.deepEqual(page.said(), []);
  page.word.click();
  pointer(page.root, 'scroll');
  assert.deepEqual(page.said(), []);
});

test('a word without an entry says nothing, and nothing is left of it all once it is stopped', () => {
  const page = page_of();
  page.one('button', 'unknown').click();
  assert.deepEqual(page.said(), []);
  page.stop();
  page.word.click();
  assert.equal(page.root.querySelector('.dv-tip'), null);
});
