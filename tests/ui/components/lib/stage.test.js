// Stage view: one switch for all pages, remembered by the browser.

import '../harness.js';
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { mount } from '../../../../ui/components/js/apps/page/main.js';
import { is_on_stage, set_stage, take_up_stage } from '../../../../ui/components/js/lib/stage.js';
import { click, find, key } from '../harness.js';

const PREFERENCES = 'decoding-visualiser-preferences';

describe('stage view', () => {
  beforeEach(() => {
    mock.timers.enable({ apis: ['setInterval'] });
    localStorage.clear();
    document.body.replaceChildren();
  });
  afterEach(() => {
    set_stage(false);
    mock.timers.reset();
  });

  test('stage view is remembered, and takes over the old projector setting', () => {
    take_up_stage();
    assert.equal(is_on_stage(), false);
    for (const projector of [false, true]) {
      localStorage.clear();
      localStorage.setItem(PREFERENCES, JSON.stringify({ projector }));
      take_up_stage();
      assert.equal(is_on_stage(), projector);
    }
    localStorage.removeItem(PREFERENCES);
    take_up_stage();
    assert.equal(is_on_stage(), true, 'once taken for it, it is remembered as such');
    set_stage(false);
    take_up_stage();
    assert.equal(is_on_stage(), false);
  });

  /** Return the page around the staged element, if any. @param {string} name */
  function page_of(name) {
    const root = document.createElement('section');
    const here = document.createElement('div');
    here.className = name;
    document.body.append(root, here);
    const page = mount(root, { theme: 'light' }, () => {});
    return { page, root, here };
  }

  test('a button or key enters stage view, and Escape leaves it', async () => {
    const { page, root, here } = page_of('st-key-stage');
    const [button] = find(root, 'button', 'Stage view');
    button.focus();
    click(button);
    assert.ok(is_on_stage());
    assert.equal(document.activeElement, document.body, 'keys go to the page');
    key('Escape');
    assert.ok(!is_on_stage());
    key('v');
    find(root, 'button', 'Leave stage view')[0].click();
    assert.ok(!is_on_stage());
    localStorage.setItem(PREFERENCES, JSON.stringify({ keys: false }));
    key('v');
    assert.ok(!is_on_stage(), 'single keys are off');
    localStorage.clear();
    const field = document.createElement('input');
    here.append(field);
    field.focus();
    key('v');
    assert.ok(!is_on_stage(), 'it is typed into a field');
    set_stage(true);
    key('Escape');
    assert.ok(!is_on_stage(), 'a field has no use for it there');
    field.blur();
    here.remove();
    await Promise.resolve(); // until the page is notified
    key('v');
    assert.ok(!is_on_stage(), 'nothing to show');
    page.destroy();
    document.body.append(here);
    key('v');
    assert.ok(!is_on_stage(), 'the page is gone');
  });
});
