// A part that fails reports it in its place, and the others continue.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { element } from '../../../../ui/components/js/lib/dom.js';
import { mount_part } from '../../../../ui/components/js/parts/mount.js';
import { mount } from '../harness.js';

/** A part that draws a word, and fails on some words. */
const fragile = {
  /** @param {HTMLElement} root */
  create(root) {
    const word = element('p');
    root.append(word);
    return {
      /** @param {string} text */
      update(text) {
        if (text === 'bad') throw new Error('no such word');
        word.textContent = text;
      },
    };
  },
};

test('a failed part reports its error and retries with the latest state', () => {
  /** @type {string[]} */
  const reports = [];
  const page = mount(root =>
    mount_part(root, 'words', fragile, {}, (part, error) => reports.push(`${part}: ${error.message}`)),
  );
  const update = /** @type {(text: any) => void} */ (page.update);
  update('good');
  update('bad');
  assert.equal(page.one('alert').textContent, 'This part of the page (words) has failed: no such word. Try again');
  update('better');
  assert.deepEqual(reports, ['words: no such word']);
  page.one('button', 'Try again').click();
  assert.equal(page.text(), 'better');
});

test('a part that fails to mount does not throw, even on destroy', () => {
  const broken = {
    create() {
      throw new Error('nothing');
    },
  };
  /** @type {string[]} */
  const reports = [];
  const page = mount(root => mount_part(root, 'b', broken, {}, (_, error) => reports.push(error.message)));
  assert.match(page.text(), /has failed: nothing\./);
  page.destroy();
  assert.deepEqual([reports, page.text()], [['nothing'], '']);
});
