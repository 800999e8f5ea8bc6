// The keyboard: page shortcuts and menus.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { element } from '../../../../ui/components/js/lib/dom.js';
import { listen } from '../../../../ui/components/js/lib/keys.js';
import { create_menu } from '../../../../ui/components/js/lib/menu.js';
import { mount, press } from '../harness.js';

/**
 * @import { Actions } from '../../../../ui/components/js/types.js'
 */

/** Return a page whose only part holds these nodes. @param {(root: HTMLElement, actions: Actions) => void} fill */
const page_with = fill =>
  mount((root, actions) => {
    fill(root, actions);
    return { update() {} };
  });

test('single keys act as transport buttons, except while typing', () => {
  let is_on = true;
  let stop = () => {};
  const page = page_with((root, actions) => {
    root.append(element('textarea', { 'aria-label': 'Prompt' }), element('button', { text: 'Play' }));
    stop = listen(root, actions, () => is_on);
  });
  press(document.body, 's');
  press(document.body, 'ArrowLeft');
  assert.deepEqual(page.calls, [['step'], ['inspect_by', -1]]);
  press(page.one('textbox', 'Prompt'), 's');
  press(page.one('button', 'Play'), 'Enter'); // the button handles it
  press(document.body, 's', { ctrlKey: true });
  is_on = false;
  press(document.body, 's');
  stop();
  is_on = true;
  press(document.body, 's');
  assert.equal(page.calls.length, 2);
});

test('Escape cancels a long operation, even while typing or without shortcuts', () => {
  let is_long = true;
  const page = mount(
    (root, actions) => {
      root.append(element('textarea', { 'aria-label': 'Prompt' }));
      return { update() {}, destroy: listen(root, actions, () => false) };
    },
    { cancel: () => is_long },
  );
  press(page.one('textbox', 'Prompt'), 'Escape');
  press(document.body, 'Escape', { ctrlKey: true });
  assert.deepEqual(page.taken(), [['cancel']]);
  is_long = false;
  press(document.body, 'Escape');
  assert.deepEqual(page.taken(), [['cancel']], 'and nothing else');
  page.destroy();
});

test('a menu closes on Escape and gives the focus back', () => {
  const menu = create_menu('Examples', element('button', { text: 'Capital' }));
  const page = page_with(root => root.append(menu.node));
  menu.node.setAttribute('open', '');
  page.one('button', 'Capital').focus();
  press(page.one('button', 'Capital'), 'Escape');
  assert.ok(!menu.node.hasAttribute('open'));
  assert.equal(document.activeElement, page.one('button', 'Examples'));
  menu.node.setAttribute('open', '');
  document.body.dispatchEvent(new window.Event('pointerdown', { bubbles: true }));
  assert.ok(!menu.node.hasAttribute('open'));
  menu.destroy();
});
