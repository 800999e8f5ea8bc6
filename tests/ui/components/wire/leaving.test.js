// Signs that a person may be about to leave, and actions that are not signs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { element } from '../../../../ui/components/js/lib/dom.js';
import { watch_for_leaving } from '../../../../ui/components/js/wire/leaving.js';
import { mount, pointer } from '../harness.js';

test('only moves away from the page are signs of leaving', () => {
  let left = 0;
  let stop = () => {};
  const page = mount(root => {
    root.append(element('button', { text: 'One' }), element('button', { text: 'Two' }));
    stop = watch_for_leaving(root, { released() {}, leaving: () => left++ });
    return { update() {} };
  });
  const [one, two] = page.all('button');
  /** Tell whether an action is a sign. @param {() => void} act */
  const is_sign = act => {
    left = 0;
    act();
    return left > 0;
  };
  one.focus();
  const signs = {
    'the pointer leaves': () => pointer(page.root, 'pointerleave'),
    'a press outside': () => pointer(document.body, 'pointerdown'),
    'the focus leaves': () => one.blur(),
    'another window': () => window.dispatchEvent(new window.Event('blur')),
    'another page': () => window.dispatchEvent(new window.Event('pagehide')),
  };
  for (const [what, act] of Object.entries(signs)) assert.ok(is_sign(act), what);
  one.focus();
  const others = {
    'the pointer leaves a button': () => pointer(one, 'pointerleave'),
    'a press inside': () => pointer(one, 'pointerdown'),
    'the focus moves within': () => two.focus(),
    'the page is still seen': () => pointer(document, 'visibilitychange'),
  };
  for (const [what, act] of Object.entries(others)) assert.ok(!is_sign(act), what);
  stop();
  assert.ok(!is_sign(signs['another page']));
});
