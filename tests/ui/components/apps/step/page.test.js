// The step page as a whole: quick presses, refusals, cancelling, hidden candidates. tests/browser has its usual flows.

import '../../harness.js';
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { mount } from '../../../../../ui/components/js/apps/step/main.js';
import { set_stage } from '../../../../../ui/components/js/lib/stage.js';
import { begin_typing, find, key, settled, text_of, type } from '../../harness.js';
import { StepServer } from '../../step_server.js';

/**
 * @import { State } from '../../../../../ui/components/js/types.js'
 */

const MOST_FRAMES = 300; // far more than any answer here takes

/** @type {StepServer} */
let server;
/** @type {HTMLElement & {decoding?: any}} */
let root;
/** @type {{destroy(): void}} */
let page;

const PREFERENCES = 'decoding-visualiser-preferences';

describe('the step page', () => {
  beforeEach(open);

  afterEach(() => {
    page.destroy();
    set_stage(false);
  });

  /** Open the page for a person who has taken the tour. */
  async function open() {
    sessionStorage.clear();
    localStorage.setItem(PREFERENCES, JSON.stringify({ tour: 'done' }));
    server = new StepServer();
    root = document.createElement('section');
    root.className = 'dv';
    document.body.replaceChildren(root);
    page = mount(root, { live: '/live' }, () => {});
    await until(() => state().run === 'r1');
    server.kinds();
  }

  /** Wait until a condition holds; the page has painted by then. @param {() => unknown} holds */
  async function until(holds) {
    for (let frame = 0; frame < MOST_FRAMES; frame++) {
      await new Promise(requestAnimationFrame);
      if (holds()) return;
    }
    throw new Error(`it never came that ${holds}; the page says: ${text_of(root)}`);
  }

  /** @returns {State} */
  const state = () => root.decoding.state;
  /** @param {string} role @param {string | RegExp} name @returns {any} */
  const one = (role, name) => {
    const found = find(root, role, name);
    assert.equal(found.length, 1, `${role} ${name}`);
    return found[0];
  };
  const button = (/** @type {string} */ name) => one('button', name);
  const tokens = () => Array.from(root.querySelectorAll('li.generated'), each => each.textContent);
  const line = () => text_of(/** @type {Element} */ (root.querySelector('.dv-said')));

  /** Press a button, and wait until that number of tokens is on screen. @param {string} name @param {number} length */
  async function press_until(name, length) {
    button(name).click();
    await until(() => tokens().length === length);
  }

  test('thirty clicks on Step give thirty tokens, even with slow answers', async () => {
    server.length_limit = 99;
    server.is_held = true;
    for (let click = 0; click < 30; click++) button('Step').click();
    await settled();
    server.answer();
    await until(() => tokens().length === 30);
    assert.deepEqual(server.kinds(), ['step', 'step 29']);
  });

  test('the outer page hears of the text once per server start', async () => {
    page.destroy();
    /** @type {unknown[]} */
    const told = [];
    const around = { live: '/live', waits_for_text: true };
    const again = mount(root, around, (name, value) => told.push(name, value));
    page = again;
    await until(() => state().run === 'r1');
    assert.deepEqual(told, ['model', state().model?.name]);
    one('button', 'Start').click();
    await until(() => !state().starting);
    assert.equal(told.length, 2);
    again.update({ ...around, waits_for_text: true }); // the server was restarted
    one('button', 'Start').click();
    await until(() => told.length === 4);
  });

  test('Step starts a typed prompt first and stops if refused', async () => {
    await press_until('Step', 1);
    begin_typing(one('textbox', 'Prompt'), 'a');
    button('Step').click();
    await until(() => state().prompt === 'a' && state().steps.length === 1);
    assert.deepEqual(server.kinds(), ['step', 'start', 'step']);
    server.more.start = { error: 'The prompt is too long.' };
    root.decoding.actions.show({}); // just drawn, so the next typed text is drawn a frame later
    begin_typing(one('textbox', 'Prompt'), 'aaa');
    button('Step').click();
    await until(() => line() === 'The prompt is too long.');
    assert.deepEqual(server.kinds(), ['start']);
    assert.deepEqual([state().prompt, tokens().length, one('textbox', 'Prompt').value], ['a', 1, 'aaa']);
  });

  test('a notice says that a new prompt keeps the example’s settings', async () => {
    const example = { name: 'Loop', prompt: 'b', look_at: 'Look.', negative_prompt: null, strategy: null };
    const started = (/** @type {object} */ settings) =>
      root.decoding.actions.try_example({ ...example, guidance_scale: 1.5, settings });
    const told_after = { '': {}, 'The settings are still those of the example Loop.': { temperature: 0.1 } };
    for (const [told, settings] of Object.entries(told_after)) {
      await started(settings);
      await until(() => state().prompt === 'b');
      await started(settings); // the same again
      assert.equal(state().visit_notice, '');
      begin_typing(one('textbox', 'Prompt'), 'a');
      button('Start').click();
      await until(() => state().prompt === 'a');
      assert.equal(state().visit_notice, told);
    }
  });

  test('Step pressed before Start is answered applies to the new text', async () => {
    server.is_held = true;
    begin_typing(one('textbox', 'Prompt'), 'a');
    for (const name of ['Start', 'Step']) button(name).click();
    await settled();
    server.answer();
    await until(() => state().prompt === 'a' && state().steps.length === 1);
    assert.deepEqual(server.kinds(), ['start', 'step']);
  });

  test('a what-if holds for the next step', async () => {
    await press_until('Step', 1);
    type(one('slider', 'Top-k'), '1');
    await until(() => state().view?.what_if && find(root, 'button', /^Show as recorded/).length);
    button('Show as recorded').click();
    await press_until('Step', 2);
    const step = server.events.findLast(({ kind }) => kind === 'step');
    assert.deepEqual([step.settings.top_k, step.what_if], [1, false]);
  });

  test('a failed action leaves the page unchanged and says why', async () => {
    await press_until('Step', 1);
    const before = structuredClone(state().settings);
    type(one('slider', 'Top-k'), '3');
    const in_force = { settings: before, limits: state().limits, guidance_scale: null, strategy: null };
    server.more.step = { error: 'Top-k must be less.', in_force };
    button('Step').click();
    await until(() => line() === 'Top-k must be less.');
    assert.deepEqual([tokens().length, one('slider', 'Top-k').value], [1, '0']);
    button('Dismiss').click();
    await until(() => line() !== 'Top-k must be less.');
  });

  test('an action that fails unexpectedly says so and ends Play', async () => {
    await press_until('Step', 1);
    server.more.step = { kind: 'answer', error: 'An unexpected error, number 1.' };
    server.kinds();
    button('Play').click();
    await until(() => line() === 'An unexpected error, number 1.');
    assert.deepEqual([state().mode, tokens().length, server.kinds()], ['paused', 1, ['step']]);
    delete server.more.step;
    await press_until('Step', 2);
    assert.notEqual(line(), 'An unexpected error, number 1.');
  });

  test('changed settings are sent at the latest when the page is left', async () => {
    server.kinds();
    type(one('slider', 'Temperature'), '0.5');
    await settled();
    assert.deepEqual(server.kinds(), []);
    window.dispatchEvent(new window.Event('pagehide'));
    await until(() => server.events.length);
    assert.deepEqual(
      server.events.map(({ kind, settings }) => [kind, settings.temperature]),
      [['settings', 0.5]],
    );
  });

  /** The elements that reveal the candidates: the table, the notice, the proposed token. */
  const told = () =>
    [
      !root.querySelector('.dv-table.dv-empty') && 'table',
      !line().startsWith('Hidden: ') && 'line',
      find(root, 'button', /^proposed token/).length > 0 && 'proposed',
    ].filter(Boolean);

  test('hidden candidates appear on Reveal until the next step or Rewind', async () => {
    await press_until('Step', 1);
    key('h'); // hiding the next token moves the view there
    await until(() => line() === 'Hidden: which token comes next?');
    assert.deepEqual([state().index, ...told()], [1]);
    key('h');
    await until(() => told().join() === 'table,line');
    await press_until('Step', 2);
    await until(() => state().index === 2);
    assert.deepEqual(told(), []);
    button('Reveal').click();
    await until(() => told().join() === 'table,line');
    key('ArrowLeft');
    await until(() => line() === 'Hidden: which tokens could have come here besides “␣the”?');
    assert.deepEqual(told(), []);
    root.decoding.actions.hide(false);
    await until(() => told().join() === 'table,line');
    assert.deepEqual(
      server.kinds().filter(kind => kind !== 'row'),
      ['step', 'propose', 'step', 'propose', 'inspect'],
    );
    root.decoding.actions.hide(true);
    await until(() => state().covered);
    key('h');
    await until(() => told().join() === 'table,line');
    await press_until('Rewind', 0);
    await until(() => line() === 'Hidden: which token comes next?');
    assert.deepEqual(told(), []);
  });

  test('Re-roll is disabled at temperature 0, even with hidden candidates', async () => {
    await press_until('Step', 1);
    root.decoding.actions.hide(true);
    root.decoding.actions.set({ temperature: 0 });
    await until(() => state().covered && state().view?.greedy);
    assert.ok(button('Re-roll').disabled);
  });

  test('a failed Step with hidden candidates only reports the error', async () => {
    await press_until('Step', 1);
    root.decoding.actions.hide(true);
    await until(() => state().index === 1);
    server.kinds();
    server.more.step = { error: 'Cancelled: no token was added.', cancelled: true };
    button('Step').click();
    await until(() => line() === 'Cancelled: no token was added.');
    await settled();
    assert.deepEqual(server.kinds(), ['step']);
  });

  test('hiding covers the proposed token, which Enter still takes', async () => {
    root.decoding.actions.toggle('manual', true);
    await until(() => told().includes('proposed'));
    root.decoding.actions.hide(true);
    await until(() => !told().length);
    key('h');
    await until(() => told().join() === 'table,line,proposed');
    key('h');
    await until(() => !told().length);
    key('Enter');
    await until(() => tokens().length === 1);
    assert.deepEqual(told(), []);
  });

  test('stage view shares its slider and few digits, and Escape leaves it', async () => {
    await press_until('Step', 1);
    key('v');
    await until(() => root.classList.contains('dv-stage'));
    const stage = /** @type {Element} */ (root.querySelector('[data-part=stage]'));
    type(find(stage, 'slider', 'Temperature')[0], '0.5');
    assert.equal(state().settings.temperature, 0.5);
    const cell = () => root.querySelector('.dv-rows td.dv-c-final .dv-number')?.textContent;
    await until(() => cell() === '53 %');
    key('Escape');
    await until(() => !root.classList.contains('dv-stage'));
    const samplers = /** @type {Element} */ (root.querySelector('[data-part=samplers]'));
    assert.equal(/** @type {any} */ (find(samplers, 'slider', 'Temperature')[0]).value, '0.5');
    assert.match(cell() ?? '', /^53\.\d\d %$/);
    assert.ok(state().view?.what_if, 'Escape did one thing');
  });

  test('Re-roll takes the next or a typed seed and reports a repeated token', async () => {
    await press_until('Step', 1);
    button('Re-roll').click();
    await until(() => line().startsWith('Seed 1: u = 0.5000 draws ␣Paris again'));
    assert.equal(server.events.at(-1).settings.seed, 1);
    type(one('spinbutton', 'Seed'), '11');
    button('Re-roll').click();
    await until(() => server.events.at(-1).settings.seed === 11);
  });

  const LOADING = { kind: 'busy', what: 'Loading the model', done: 1, total: 3, behind: 0, can_cancel: true };
  const CANCELLED = { error: 'Cancelled: no token was added; the text on screen stays.', cancelled: true };

  test('slow operations are announced, fast ones are not', async () => {
    server.is_held = true;
    button('Step').click();
    server.say(LOADING);
    await new Promise(requestAnimationFrame);
    assert.equal(state().busy, null);
    await until(() => line() === 'Loading the model');
    assert.deepEqual([state().busy?.done, state().busy?.total], [1, 3]);
    server.answer();
    await until(() => tokens().length === 1);
    assert.equal(state().busy, null);
  });

  test('Cancel goes to the server at once, and the next press works', async () => {
    server.is_held = true;
    server.more.step = CANCELLED;
    button('Step').click();
    button('Step').click();
    server.say(LOADING);
    await until(() => state().busy);
    button('Cancel').click();
    assert.deepEqual(server.kinds(), ['step', 'stop']);
    await until(() => line() === 'Cancelling');
    button('Cancel').click();
    server.answer();
    await until(() => line() === CANCELLED.error);
    assert.deepEqual([server.kinds(), tokens().length, state().busy], [[], 0, null]);
    server.more = {};
    await press_until('Step', 1);
    assert.equal(state().error, '');
  });

  test('a cancelled search is reported', async () => {
    server.more.find = { error: 'Cancelled before the answer was found; nothing has changed.', cancelled: true };
    root.decoding.actions.find('a');
    await until(() => line().startsWith('Cancelled before'));
  });

  test('a failing part is reported to the server', async t => {
    t.mock.method(console, 'error', () => {});
    server.more.step = { branches: [null, null] }; // a value that no server sends
    button('Step').click();
    await until(() => find(root, 'alert', '').length);
    assert.equal(server.events.find(({ kind }) => kind === 'failed')?.part, 'strip');
  });

  test('a message for an unknown run makes the page ask for everything', async () => {
    server.more.step = { run: 'another' };
    button('Step').click();
    await until(() => server.kinds().includes('sync'));
    assert.equal(state().run, 'r1');
  });
});
