// The draw: stretches of [0, 1) and u on them, as a bar and as a wheel, and a thousand draws.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../../ui/components/js/parts/draw/draw.js';
import { sector } from '../../../../../ui/components/js/parts/draw/wheel.js';
import { bare, logits_of, make_row, recorded, settings_of, shown } from '../../fixtures.js';
import { changes_in, live, text_of } from '../../harness.js';
import { read_hostile } from '../../vectors.js';

/**
 * @import { Value } from '../../../../../ui/components/js/types.js'
 */

const THOUSAND = Array.from({ length: 1000 }, (_, id) => 5 - Math.sqrt(id));

/** @param {ReturnType<typeof shown>} [state] */
function page_of(state = shown({})) {
  const page = live(create, state);
  const many = () => page.one('button', 'Draw 1,000 times');
  const find = (/** @type {string} */ selector) =>
    /** @type {HTMLElement[]} */ (Array.from(page.root.querySelectorAll(selector)));
  return {
    ...page,
    many,
    find,
    set: (/** @type {Record<string, Value>} */ values) => page.change({ settings: settings_of(values) }),
    story: () => bare(text_of(find('p')[0])),
    status: () => page.one('status').textContent,
    hit: () => find('.dv-stretch-hit .dv-token').map(each => each.textContent),
    /** Token, probability, drawn, expected. */
    rows: () =>
      find('tbody tr:not(.dv-hidden)').map(row =>
        Array.from(row.children, cell => (cell.querySelector('.dv-token') ?? cell).textContent),
      ),
  };
}

// --- the stretches --------------------------------------------------------------------------------

test('each token has a stretch as long as its probability, and u hits one', () => {
  const page = page_of();
  assert.deepEqual(
    page.find('.dv-draw-strip > *').map(each => [each.textContent, each.style.left, each.style.width]),
    [
      ['␣Paris', '0%', '40%'],
      ['␣the', '40%', '30%'],
      ['␣a', '70%', '20%'],
      ['␣London', '90%', '10%'],
    ],
  );
  assert.deepEqual([page.hit(), page.find('.dv-draw-marker')[0].style.left], [['␣the'], '50%']);
  assert.deepEqual(
    page.rows().map(([label, prob]) => `${label} ${prob}`),
    ['␣Paris 40.00 %', '␣the 30.00 %', '␣a 20.00 %', '␣London 10.00 %'],
  );
});

test('tokens beyond the leading ones are summed up, except the hit one', () => {
  const labels = new Map(THOUSAND.map((_, id) => [id, `t${id + 1}`]));
  const names = (/** @type {number} */ u) =>
    page_of(shown({}, { logits: THOUSAND, step: { u, labels } }))
      .rows()
      .map(([label]) => label);
  const leading = Array.from({ length: 8 }, (_, place) => `t${place + 1}`);
  assert.deepEqual(names(0), [...leading, '992 others']);
  const [, others, hit, rest] = names(0.95).slice(7);
  assert.match(`${others} ${hit} ${rest}`, /^\d+ others t\d+ \d+ others$/);
});

test('the wheel shows the same stretches, clockwise from the top', () => {
  const page = page_of(shown({}, { step: { u: 0.65 } }));
  const pressed = () => ['Bar', 'Wheel'].map(name => page.one('button', name).getAttribute('aria-pressed'));
  assert.deepEqual(pressed(), ['true', 'false']);
  page.one('button', 'Wheel').click();
  assert.deepEqual(pressed(), ['false', 'true']);
  assert.ok(page.find('.dv-draw-bar')[0].classList.contains('dv-hidden'));
  assert.equal(page.find('.dv-wheel-pointer')[0].getAttribute('transform'), 'rotate(234.000)');
  assert.equal(page.find('.dv-wheel-hit')[0].getAttribute('d'), sector(0.4, 0.7));
  assert.match(sector(0, 0.25), /^M0\.000 -100\.000A100 100 0 0 1 100\.000 -0\.000L26\.000 /);
  assert.match(sector(0.2, 0.9), /A100 100 0 1 1/);
  assert.equal(sector(0, 1).split('A').length - 1, 4, 'a full turn has two halves');
  assert.deepEqual(
    page.find('.dv-wheel-name').map(each => each.textContent),
    ['␣Paris', '␣the', '␣a', '␣London'],
  );
});

// --- sentences about it ---------------------------------------------------------------------------

test('the story fits a next step, a taken step and a what-if', () => {
  assert.match(page_of().story(), /^The next step .* it draws “␣the”: its stretch is \[0\.4000, 0\.7000\), 30\.00 %/);
  const page = page_of(recorded({ top_k: 0 }));
  assert.equal(page.story(), 'u = 0.5000 drew “␣the”: its stretch is [0.4000, 0.7000), 30.00 % of all.');
  page.change({ is_what_if: true });
  page.set({ top_k: 3 });
  assert.match(
    page.story(),
    /^What if: with these settings u = 0\.5000 would still draw “␣the”: its stretch is \[0\.4444, /,
  );
  page.set({ top_k: 1 });
  assert.match(page.story(), /would draw “␣Paris”: .* In fact “␣the” was drawn\.$/);
});

test('a narrow stretch has enough digits to tell u and both ends apart', () => {
  const page = page_of(shown({}, { logits: [20, 1, 2, 3], step: { u: 1 - 1e-9 } }));
  assert.match(page.story(), /has u = 0\.9999999990\. .*“␣the”: its stretch is \[0\.9999999944, 1\.0000000000\)/);
});

/** @type {[ReturnType<typeof shown>, RegExp, RegExp][]} */
const NOTHING = [
  [shown({ temperature: 0 }), /Temperature 0 is greedy/, /^Nothing is drawn at temperature 0/],
  [
    shown({ banned: { sequences: [[0], [1], [2], [3]] } }),
    /Banned words removed the last token\. Remove a token from/,
    /^No tokens left/,
  ],
  [shown({}, { row: null }), /no scores here/, /^No scores/],
  [shown({}, { mode: 'playing' }), /^The next step has u/, /^Pause /],
];
test('nothing to draw many times from is told with a reason', () => {
  for (const [state, story, obstacle] of NOTHING) {
    const page = page_of(state);
    assert.match(page.story(), story);
    assert.match(page.status(), obstacle);
    assert.ok(page.many().disabled);
  }
  const page = page_of(recorded({}, { taken: { forced: true, u: null }, step: { u: null } }));
  assert.match(page.story(), /^“␣the” was forced: nothing was drawn/);
  assert.deepEqual([page.hit(), page.find('.dv-draw-marker:not(.dv-hidden)')], [[], []]);
});

// --- a thousand draws -----------------------------------------------------------------------------

test('counts appear with expected counts, and more draws add up', () => {
  const page = page_of();
  for (const total of [1000, 2000]) {
    page.many().click();
    const number = total.toLocaleString('en');
    assert.match(page.status(), new RegExp(`^${number} draws gave 4 tokens \\(xoshiro128\\*\\*, seed 0\\)\\.`));
    const drawn = page.rows().map(([, , count]) => Number(count.replace(',', '')));
    assert.equal(
      drawn.reduce((sum, each) => sum + each),
      total,
    );
    const spread = (2 * Math.sqrt(total * 0.4 * 0.6)).toFixed(0);
    assert.equal(page.rows()[0][3], `${(0.4 * total).toFixed(0)} ± ${spread}`);
  }
});

test('a new distribution or seed resets the draws', () => {
  const page = page_of(shown({ temperature: 1 }));
  const settings = settings_of({ temperature: 2 });
  const changes = [{ settings }, { row: make_row(logits_of(0.1, 0.2, 0.7)) }, { settings: { ...settings, seed: 8 } }];
  for (const change of changes) {
    page.many().click();
    assert.match(page.status(), /^1,000 draws gave/);
    page.change(change);
    assert.equal(page.rows()[0][2], '');
  }
  page.many().click();
  const first = page.rows();
  page.change({ point: 0 });
  assert.deepEqual(page.rows(), first);
  page.set({});
  page.change({ settings: { ...settings, seed: 8 } });
  page.many().click();
  assert.deepEqual(page.rows(), first);
});

test('a new step creates no table elements', () => {
  const page = page_of(shown({}, { logits: THOUSAND }));
  const body = page.find('tbody')[0];
  const { number, made } = changes_in(body, () => page.change({ row: make_row(THOUSAND.toReversed()) }));
  assert.deepEqual([number > 0, made], [true, []]);
});

test('hostile labels are rendered as text', () => {
  const labels = read_hostile();
  for (const label of labels) {
    const page = page_of(shown({}, { step: { labels: new Map([[0, label]]) } }));
    assert.equal(page.rows()[0][0], Array.from(label).length > 120 ? `${label.slice(0, 119)}…` : label);
    page.one('button', 'Wheel').click();
    assert.equal(page.root.querySelectorAll('b, script, img').length, 0);
  }
});
