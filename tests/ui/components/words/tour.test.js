// The tour: its stops, the events between them, and its audience.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tour_after, tour_stop } from '../../../../ui/components/js/words/tour.js';
import { bare, make_step, recorded, settings_of, shown } from '../fixtures.js';

/** @import { State, Tour, TourEvent } from '../../../../ui/components/js/types.js' */

/** @param {State} state */
const said = state => bare(tour_stop(state)?.text ?? '');

/** A person's actions from the start, and the resulting stop. @type {[TourEvent[], Tour][]} */
const WAYS = [
  [['next', 'step', 'next', 'set', 'next'], 'done'],
  [['step', 'set', 'step'], 'done'],
  [['set'], 'new'],
  [['next', 'set'], 'step'],
  [['step', 'step'], 'draw'],
  [['skip', 'step', 'next', 'set'], 'done'],
  [['next', 'step', 'skip'], 'done'],
  [['skip', 'begin'], 'asked'],
  [['step', 'begin'], 'asked'],
];

test('actions move the tour to its next stop', () => {
  for (const [events, end] of WAYS) {
    const state = shown({});
    for (const event of events) state.tour = tour_after(state, event);
    assert.equal(state.tour, end, String(events));
  }
});

test('the tour appears for newcomers with a new text, or on request', () => {
  const on = (/** @type {Partial<State>} */ changes) => tour_stop(Object.assign(shown({}), changes)) !== null;
  assert.ok(on({}));
  assert.ok(!on({ tour: 'done' }));
  for (const busy of [{ view: null }, { model: null }, { slow: true }, { manual: true }])
    assert.ok(!on(busy), Object.keys(busy)[0]);
  assert.ok(!on({ mode: 'playing' }));
  assert.ok(!on({ steps: [make_step(1)] }), 'a text that goes on, as that of a link');
  assert.ok(on({ steps: [make_step(1)], tour: 'asked' }));
});

test('the sentences of the tour use the figures of this step', () => {
  assert.match(said(shown({})), /scored all 4 tokens/);
  const drawn = recorded({}, { tour: 'draw' });
  const [{ label, u }] = drawn.steps;
  assert.match(said(drawn), new RegExp(`^${label} was drawn: u = ${u?.toFixed(4)} fell into its stretch of [\\d.]+ %`));
  drawn.steps = [make_step(1, { u: null })];
  assert.match(said(drawn), / was taken\. /);
  drawn.steps = [];
  assert.match(said(drawn), /^The table has the likeliest tokens/);
});

test('the last stop says how the slider changed the likeliest token', () => {
  const after = (/** @type {number} */ temperature) =>
    said(shown({ temperature }, { settings: settings_of({ temperature }), tour: 'moved' }));
  assert.match(after(0.5), /^␣Paris now has 53\.33 %, not 40\.00 %\. Step draws like this\.$/);
  assert.match(after(2), /^␣Paris now has 32\.5\d %, not 40\.00 %: others gain\./);
  const what_if = recorded({}, { settings: settings_of({ temperature: 2 }), is_what_if: true, tour: 'moved' });
  assert.equal(tour_stop(what_if)?.title, 'What if:');
  assert.match(said(what_if), /^␣Paris would have 32\.5\d %, not 40\.00 %: others gain\. The drawn token stays;/);
  assert.match(after(1), /^␣Paris still has [\d.]+ %\. Drag Temperature further/);
});
