// Terms on any page: their explanations on hover, tap and focus, and the menu of terms on the page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mount as mount_terms } from '../../../../../ui/components/js/apps/terms/main.js';
import { element } from '../../../../../ui/components/js/lib/dom.js';
import { term } from '../../../../../ui/components/js/lib/term.js';
import { begin_typing, click, find, key, mount, pointer, text_of } from '../../harness.js';
import { GLOSSARY, SITE } from '../glossary/entries.js';

/** @type {{destroy(): void} | null} */
let app = null;

/** A page with a term, an unknown one, a button, and a text written by a model. */
function page_of() {
  app?.destroy();
  const page = mount(root => {
    const written = element('p', { class: 'dv-written', text: 'The logits of a model.' });
    root.append(term('KV cache'), term('unknown'), element('button', { text: 'Step' }), written);
    app = mount_terms(element('section'), { glossary: GLOSSARY, site: SITE });
    return { update() {} };
  });
  const said = () => find(document.body, 'tooltip').map(text_of);
  return { ...page, said, word: page.one('button', 'KV cache'), other: page.one('button', 'Step') };
}
const WORDS = ['KV cacheWhat is kept.Try it: Cache, Bytes Glossary'];
const links = () => find(document.body, 'link');

test('hover, focus and tap show an explanation, and moving away hides it', () => {
  const page = page_of();
  pointer(page.word, 'pointermove');
  assert.deepEqual(page.said(), WORDS);
  assert.equal(page.word.getAttribute('aria-describedby'), find(document.body, 'tooltip')[0].id);
  pointer(page.other, 'pointermove');
  assert.deepEqual([page.said(), page.word.hasAttribute('aria-describedby')], [[], false]);
  page.word.focus();
  pointer(page.other, 'pointermove');
  assert.deepEqual(page.said(), WORDS, 'it has the focus still');
  page.other.focus();
  assert.deepEqual(page.said(), []);
  click(page.word);
  assert.deepEqual(page.said(), WORDS);
  pointer(find(document.body, 'tooltip')[0], 'pointermove');
  assert.deepEqual(page.said(), WORDS, 'the pointer may go to its links');
});

test('keys move into the explanation and back, scrolling closes it', () => {
  const page = page_of();
  click(page.word, 0); // as Enter does
  assert.deepEqual([document.activeElement, text_of(links()[0])], [links()[0], 'Try it: Cache, Bytes']);
  assert.equal(links()[0].getAttribute('href'), '/app/cache');
  assert.equal(links()[1].getAttribute('href'), '/app/how#KV%20cache');
  key('Escape');
  assert.deepEqual([page.said(), document.activeElement], [[], page.word]);
  click(page.word, 0);
  links()[1].focus();
  key('Tab');
  assert.deepEqual([page.said(), document.activeElement], [[], page.word], 'from where Tab goes on');
  click(page.word);
  pointer(page.root, 'scroll');
  assert.deepEqual(page.said(), []);
});

test('a link opens its page without a reload and is absent there', () => {
  const page = page_of();
  let heard = 0;
  window.addEventListener('popstate', () => {
    heard += 1;
  });
  click(page.word);
  click(links()[0]);
  assert.deepEqual([location.pathname, heard], ['/app/cache', 1]);
  page.other.focus();
  page.word.focus();
  assert.deepEqual(page.said(), ['KV cacheWhat is kept.On this page: Bytes Glossary']);
  history.pushState({}, '', '/');
});

test('the menu lists the terms of the page but skips model output', () => {
  const page = page_of();
  const root = element('section');
  page.root.append(root, element('p', { text: 'Its logits fill the cache.' }));
  const other = mount_terms(root, { glossary: GLOSSARY, site: SITE });
  const [menu] = root.getElementsByTagName('details');
  menu.open = true;
  menu.dispatchEvent(new Event('toggle'));
  const names = () => find(menu, 'term').map(text_of);
  assert.deepEqual(names(), ['Cache', 'KV cache', 'Logit']);
  assert.match(text_of(menu), /The raw <b>score<\/b>\. Try it: Step, Logits/);
  const [search] = find(menu, 'searchbox');
  const says_which = () => text_of(menu).includes('Terms on this page');
  begin_typing(search, ' log ');
  assert.deepEqual([names(), says_which()], [['Logit'], false]);
  begin_typing(search, ' ');
  assert.deepEqual([names().length, says_which()], [3, true]);
  other.destroy();
});

test('the address decides if an everyday word is a term', () => {
  const page = page_of();
  page.root.append(element('p', { text: 'A raw number.' }));
  const terms_at = (/** @type {string} */ address) => {
    history.pushState({}, '', address);
    const root = element('section');
    page.root.append(root);
    const other = mount_terms(root, { glossary: GLOSSARY, site: SITE });
    const [list] = root.getElementsByTagName('details');
    list.open = true;
    list.dispatchEvent(new Event('toggle'));
    const named = find(list, 'term').map(text_of);
    other.destroy();
    root.remove();
    return named;
  };
  assert.deepEqual(terms_at('/app/learn?lesson=tokens'), ['KV cache']);
  assert.deepEqual(terms_at('/app/learn?lesson=softmax'), ['KV cache', 'Logit']);
  assert.deepEqual(terms_at('/app/'), ['KV cache', 'Logit']);
  history.pushState({}, '', '/');
});

test('an unknown term shows nothing, and neither does any term after destroy', () => {
  const page = page_of();
  click(page.one('button', 'unknown'));
  assert.deepEqual(page.said(), []);
  app?.destroy();
  app = null;
  click(page.word);
  assert.equal(document.querySelector('.dv-tip'), null);
});
