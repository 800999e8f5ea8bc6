// Some parts of the step page within another page, which gives instructions and receives events.

import '../../harness.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mount } from '../../../../../ui/components/js/apps/step/main.js';
import { find } from '../../harness.js';
import { StepServer } from '../../step_server.js';

const MOST_FRAMES = 300; // far more than any answer here takes

test('a guided page has the named parts and reports drawn changes', async () => {
  const server = new StepServer();
  /** @type {HTMLElement & {decoding?: any}} */
  const root = document.createElement('section');
  document.body.replaceChildren(root);
  /** @type {[string, unknown, number][]} */
  const told = [];
  const page = mount(
    root,
    {
      live: '/live',
      hello: { page: 'lesson', panel: 'the_loop/press' },
      parts: ['transport', 'line', 'table'],
      guided: true,
    },
    (name, value) => told.push([name, value, root.decoding.state.steps.length]),
  );
  const until = async (/** @type {() => unknown} */ holds) => {
    for (let frame = 0; frame < MOST_FRAMES && !holds(); frame++) await new Promise(requestAnimationFrame);
    assert.ok(holds(), String(holds));
  };
  try {
    await until(() => told.length === 1);
    const [hello] = server.events.filter(({ kind }) => kind === 'hello');
    assert.deepEqual([hello.page, hello.panel], ['lesson', 'the_loop/press']);
    const parts = [...root.querySelectorAll('[data-part]:not(.dv-stage-only)')].map(part =>
      part.getAttribute('data-part'),
    );
    assert.deepEqual(parts, ['transport', 'line', 'table']);
    assert.equal(find(root, 'textbox', 'Prompt').length, 0);

    /** @type {any} */ (find(root, 'button', 'Step')[0]).click();
    await until(() => told.length > 1);
    assert.deepEqual(told, [
      ['changed', 1, 0],
      ['changed', 2, 1],
    ]);
  } finally {
    page.destroy();
  }
});
