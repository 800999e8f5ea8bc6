// The list of all terms: its order, its search, and the entry named by an address.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mount as mount_glossary } from '../../../../../ui/components/js/apps/glossary/main.js';
import { begin_typing, mount } from '../../harness.js';
import { GLOSSARY, SITE } from './entries.js';

/** @type {{destroy(): void}} */
let app;
const page_of = () =>
  mount(root => {
    app = mount_glossary(root, { glossary: GLOSSARY, site: SITE });
    return { update() {} };
  });

test('terms are sorted alphabetically, and search covers their full text', () => {
  const page = page_of();
  const names = () => page.all('term').map(({ textContent }) => textContent);
  assert.deepEqual(names(), ['Cache', 'KV cache', 'Logit']);
  const search = page.one('searchbox', 'Search the glossary');
  for (const [typed, found] of [
    [' KEPT', ['KV cache']],
    ['logits', ['Logit']],
    ['cache', ['Cache', 'KV cache']],
    ['nothing', []],
  ]) {
    begin_typing(search, String(typed));
    assert.deepEqual(names(), found);
    assert.equal(page.one('status').textContent, `${found.length} of 3 terms`);
  }
  app.destroy();
});

test('the address selects an entry, on load and after navigation', () => {
  history.replaceState({}, '', '/how#KV%20cache');
  const page = page_of();
  const named = () => document.activeElement?.querySelector('dt')?.textContent;
  assert.equal(named(), 'KV cache');
  begin_typing(page.one('searchbox'), 'cache');
  history.replaceState({}, '', '/how#logit');
  window.dispatchEvent(new Event('popstate'));
  assert.deepEqual([named(), page.all('term').length], ['Logit', 3]);
  history.replaceState({}, '', '/');
  app.destroy();
});
