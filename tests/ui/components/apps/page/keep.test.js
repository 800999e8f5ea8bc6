// The page in the address: asked for again, and the document reloaded if no page comes.

import '../../harness.js';
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, mock, test } from 'node:test';

const LOOK_MS = 3_000;
// A copy of the module: an interval of another file's clock would confuse this one.
const copy = '../../../../../ui/components/js/apps/page/keep.js?copy';
const { keep_page } = await import(copy);

describe('the page in the address', () => {
  const real = Object.getOwnPropertyDescriptor(globalThis, 'location');
  const address = { pathname: '/compare', reloads: 0, reload: () => address.reloads++ };
  /** @type {(() => void)[]} */
  let on_screen = [];
  /** Draw a page, which the end of a test removes, or the function returned. */
  function drawn() {
    const remove = keep_page();
    on_screen.push(remove);
    return () => {
      on_screen = on_screen.filter(other => other !== remove);
      remove();
    };
  }
  let asked = 0;
  const ask = () => {
    asked += 1;
  };
  const app = document.createElement('div');
  app.dataset.testid = 'stApp';

  before(() => mock.timers.enable({ apis: ['setInterval'] }));
  after(() => mock.timers.reset());
  beforeEach(() => {
    Object.defineProperty(globalThis, 'location', { value: address, configurable: true });
    Object.assign(address, { pathname: '/compare', reloads: 0 });
    asked = 0;
    app.dataset.testScriptState = 'notRunning';
    document.body.append(app);
    window.addEventListener('popstate', ask);
  });
  afterEach(() => {
    for (const remove of on_screen) remove();
    on_screen = [];
    window.removeEventListener('popstate', ask);
    app.remove();
    Object.defineProperty(globalThis, 'location', /** @type {PropertyDescriptor} */ (real));
  });

  test('it is asked for until it is drawn', () => {
    drawn();
    mock.timers.tick(LOOK_MS);
    assert.equal(asked, 0);
    address.pathname = '/';
    mock.timers.tick(2 * LOOK_MS);
    assert.equal(asked, 2);
    drawn();
    mock.timers.tick(2 * LOOK_MS);
    assert.deepEqual([asked, address.reloads], [2, 0]);
  });

  test('a document that stays white is reloaded', () => {
    drawn()();
    mock.timers.tick(LOOK_MS);
    assert.equal(address.reloads, 0, 'the next page may be about to come');
    mock.timers.tick(LOOK_MS);
    assert.equal(address.reloads, 1);
  });

  test('a script that takes its time is waited for', () => {
    const gone = drawn();
    app.dataset.testScriptState = 'running';
    gone();
    mock.timers.tick(5 * LOOK_MS);
    assert.equal(address.reloads, 0);
    app.dataset.testScriptState = 'notRunning';
    mock.timers.tick(LOOK_MS);
    drawn();
    mock.timers.tick(5 * LOOK_MS);
    assert.equal(address.reloads, 0, 'the page has come');
  });

  test('of two pages, the one that stays is kept, whichever goes', () => {
    for (const goes of [0, 1]) {
      const pages = [drawn(), drawn()];
      pages[goes]();
      mock.timers.tick(5 * LOOK_MS);
      assert.deepEqual([asked, address.reloads], [0, 0]);
      pages[1 - goes]();
    }
    mock.timers.tick(2 * LOOK_MS);
    assert.equal(address.reloads, 1, 'both have gone');
  });
});
