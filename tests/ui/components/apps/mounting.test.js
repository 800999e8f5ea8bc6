// Mounting: an app gets its data and the server's results once, stays while data change, and is removed.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setTimeout as passed } from 'node:timers/promises';
import { show } from '../../../../ui/components/js/apps/mounting.js';
import { what_to_say } from '../../../../ui/components/js/words/line.js';
import { say } from '../../../../ui/components/js/words/say.js';
import { mount as document_with } from '../harness.js';

const APP = `
  export function mount(root, data, tell) {
    globalThis.calls.push(['mount', data, root.style.visibility, tell]);
    root.append('there');
    return {
      update: given => globalThis.calls.push(['update', given]),
      restyle() {},
      destroy: () => globalThis.calls.push(['destroy']),
    };
  }
`;
const address = (/** @type {string} */ type, /** @type {string} */ text) => `data:${type},${encodeURIComponent(text)}`;
const PLACES = { mounting: '', app: address('text/javascript', APP), styles: [], plotly: '/plotly.js' };

/** @type {any[][]} */
let calls = [];
beforeEach(() => {
  calls = [];
  Reflect.set(globalThis, 'calls', calls);
});

function element() {
  const { root } = document_with(() => ({ update() {} }));
  root.innerHTML = '<section></section>';
  return root;
}

/** @param {HTMLElement} parentElement @param {object} data @param {object} [places] */
const shown = (parentElement, data, places = PLACES) =>
  show({ parentElement, data, setTriggerValue() {} }, /** @type {any} */ (places));

/** Wait until programs and values have arrived. @param {() => boolean} is_there */
async function until(is_there) {
  for (let tries = 0; !is_there() && tries < 200; tries++) await passed(10);
  assert.ok(is_there());
}

test('an app keeps the values served with its data across updates', async () => {
  const root = element();
  const served = {
    glossary: address('application/json', '{"logit": 1}'),
    sentences: address('application/json', '{"Step": "Schritt"}'),
  };
  const end = shown(root, { language: 'de', served, label: 'Begriffe', count: 1 });
  await until(() => calls.length === 1);
  assert.deepEqual([calls[0][1].count, calls[0][1].glossary], [1, { logit: 1 }]);
  assert.equal(calls[0][2], '', 'it can have the focus');
  assert.equal(say('Step'), 'Schritt');
  assert.equal(root.firstElementChild?.getAttribute('aria-label'), 'Begriffe');
  shown(root, { language: 'de', served, count: 2 });
  assert.deepEqual([calls[1][0], calls[1][1].count, calls[1][1].glossary], ['update', 2, { logit: 1 }]);
  end();
  assert.deepEqual(calls.slice(2), [['destroy']]);
});

test('reports reach Streamlit until the visitor leaves the page', async () => {
  const root = element();
  /** @type {any[][]} */
  const told = [];
  show({ parentElement: root, data: { language: 'en' }, setTriggerValue: (...event) => told.push(event) }, PLACES);
  await until(() => calls.length === 1);
  const report = calls[0][3];
  report('model', 'bundled');
  const here = location.pathname;
  history.pushState({}, '', '/how');
  report('model', 'another');
  history.pushState({}, '', here);
  assert.deepEqual(told, [['model', 'bundled']]);
});

test('a change of language remounts the app', async () => {
  const root = element();
  shown(root, { language: 'de', served: { sentences: address('application/json', '{"Step": "Schritt"}') } });
  await until(() => calls.length === 1);
  const busy = /** @type {import('../../../../ui/components/js/types.js').State} */ ({ busy: { what: 'Step' } });
  assert.equal(what_to_say(busy).text, 'Schritt', 'the server says it in English while it starts');
  shown(root, { language: 'en', served: {} });
  await until(() => calls.length === 3);
  assert.deepEqual(
    calls.map(([name]) => name),
    ['mount', 'destroy', 'mount'],
  );
  assert.equal(say('Step'), 'Step');
  assert.equal(root.textContent, 'there');
});

test('an app removed before its program loads is never mounted', async () => {
  const root = element();
  shown(root, { language: 'en' })();
  await passed(50);
  assert.deepEqual(calls, []);
});

test('a program or value that fails to load is reported', async () => {
  const [one, other] = [element(), element()];
  shown(one, { language: 'en' }, { ...PLACES, app: address('text/javascript', 'throw new Error("no program")') });
  shown(other, { language: 'en', served: { glossary: address('application/json', 'no JSON') } });
  await until(() => Boolean(one.textContent && other.textContent));
  assert.match(one.textContent ?? '', /^The page's program could not be loaded \(no program\); reload the page\.$/);
  assert.match(other.textContent ?? '', /could not be loaded \(.*JSON.*\); reload the page\.$/);
  assert.deepEqual(calls, []);
});
