// One sampler on the page: slider, exact value and switch of every kind, its effect, and its description.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampler_of } from '../../../../../ui/components/js/kernel/table.js';
import { create } from '../../../../../ui/components/js/parts/samplers/samplers.js';
import { speak } from '../../../../../ui/components/js/words/say.js';
import { table } from '../../chains.js';
import { make_state, recorded, settings_of, shown } from '../../fixtures.js';
import { begin_typing, changes_in, live, name_of, pointer, settled, text_of, type } from '../../harness.js';
import { read_told, scene_of } from '../../vectors.js';

/**
 * @import { Sampler, State, Value } from '../../../../../ui/components/js/types.js'
 */

const FIRST = { temperature: 0.9, top_k: 3, top_p: 0.9, min_p: 0 };
const DRY = { multiplier: 0.8, base: 1.75, allowed_length: 2, last_n: -1, breakers: [7] };

/** @param {Record<string, Value>} [values] @param {Parameters<typeof shown>[1]} [more] @param {Parameters<typeof live>[2]} [actions] */
function page_of(values = FIRST, more = {}, actions = {}) {
  const page = live(create, shown(values, more), actions);
  const entry = (/** @type {string} */ label) => page.one('group', label);
  return {
    ...page,
    entry,
    slider: (/** @type {string} */ name) => page.one('slider', name),
    exact: (/** @type {string} */ name) => page.one('spinbutton', `${name}, exact value`),
    switch_of: (/** @type {string} */ label) => page.one('switch', `${label} on`),
    says: (/** @type {string} */ label) => text_of(entry(label).querySelector('.dv-effects') ?? entry(label)),
    remark: (/** @type {string} */ label) => entry(label).querySelector('.dv-remark:not(.dv-hidden)')?.textContent,
  };
}

/** Return a sampler's numbers, by the names of their controls. @param {Sampler} sampler */
const names_of = ({ label, value, numbers }) =>
  value === 'number' ? [label] : numbers.map(number => `${label} ${number.label.toLowerCase()}`);

test('a new page has four samplers and the draw, in the order of the chain', () => {
  const page = page_of();
  const entries = Array.from(page.root.querySelectorAll('[data-sampler]'), name_of);
  assert.deepEqual(entries, ['Temperature', 'Top-k', 'Top-p', 'Min-p', 'Draw']);
  const sliders = page.all('slider').map(each => {
    const { min, max, step, value } = /** @type {HTMLInputElement} */ (each);
    return [min, max, step, value, each.getAttribute('aria-valuetext')];
  });
  assert.deepEqual(sliders, [
    ['0', '2', '0.01', '0.9', '0.90'],
    ['0', '8', '1', '3', '3'], // at most the vocabulary's size
    ['0.01', '1', '0.01', '0.9', '0.90'],
    ['0', '1', '0.005', '0', 'off'],
  ]);
  assert.equal(page.exact('Temperature').value, '0.90');
  page.change({ settings: settings_of({ ...FIRST, temperature: 0 }) });
  assert.equal(page.slider('Temperature').getAttribute('aria-valuetext'), 'greedy');
});

test('every sampler has a switch, and every number a slider and field', () => {
  const values = Object.fromEntries(table.samplers.map(({ name, off }) => [name, off]));
  const order = [...table.order];
  const page = page_of({}, { settings: { ...values, order, seed: 0 } });
  for (const sampler of table.samplers) {
    page.switch_of(sampler.label);
    if (['biases', 'sequences', 'source'].includes(sampler.value)) continue;
    if (sampler.value === 'numbers' || sampler.off === null) page.switch_of(sampler.label).click();
    for (const name of names_of(sampler)) {
      page.slider(name);
      page.exact(name);
    }
  }
  assert.equal(page.root.querySelectorAll('.dv-sampler[data-sampler]').length, table.samplers.length + 1);
});

test('moves of the slider and checked exact values apply', async () => {
  const page = page_of(FIRST, {}, { check: async (_, __, value) => ({ value }) });
  type(page.exact('Temperature'), '1e6');
  await settled();
  assert.deepEqual(page.taken(), [
    ['check', 'temperature', 'temperature', 1e6],
    ['set', { temperature: 1e6 }],
    ['settle'],
  ]);
  assert.deepEqual([page.slider('Temperature').value, page.exact('Temperature').value], ['2', '1000000.00']);
  type(page.exact('Temperature'), 'greedy');
  assert.deepEqual(page.taken(), [['set', { temperature: 0 }], ['settle']]);
  const slider = page.slider('Top-p');
  pointer(slider, 'pointerdown');
  for (const value of ['0.8', '0.5']) begin_typing(slider, value);
  assert.deepEqual(page.taken(), [
    ['set', { top_p: 0.8 }],
    ['set', { top_p: 0.5 }],
  ]);
  assert.equal(page.exact('Top-p').value, '0.50');
});

test('a switch remembers what the sampler was set to', () => {
  const page = page_of();
  page.switch_of('Top-k').click();
  assert.deepEqual(page.taken(), [['set', { top_k: 0 }], ['settle']]);
  assert.equal(page.switch_of('Top-k').getAttribute('aria-checked'), 'false');
  assert.equal(page.says('Top-k'), 'the number of tokens is not limited');
  assert.equal(page.switch_of('Top-k').title, 'Switch on, with 3');
  page.switch_of('Top-k').click();
  assert.deepEqual(page.taken('set'), [['set', { top_k: 3 }]]);
  page.switch_of('Min-p').click(); // never on before, so it takes the usual value
  assert.deepEqual(page.taken('set'), [['set', { min_p: 0.05 }]]);
});

test('a sampler turned off folds once its control is released', () => {
  const page = page_of();
  const is_line = (/** @type {string} */ label) => page.entry(label).classList.contains('dv-sampler-line');
  assert.deepEqual(['Temperature', 'Top-k', 'Min-p'].map(is_line), [false, false, true]);
  const slider = page.slider('Temperature');
  pointer(slider, 'pointerdown');
  begin_typing(slider, '1'); // 1 turns it off
  assert.ok(!is_line('Temperature'));
  begin_typing(slider, '1.2');
  assert.ok(!is_line('Temperature'));
  begin_typing(slider, '1');
  pointer(slider, 'pointerup');
  slider.dispatchEvent(new window.Event('change'));
  assert.ok(is_line('Temperature'));
  pointer(page.slider('Min-p'), 'pointerdown');
  begin_typing(page.slider('Min-p'), '0.3');
  assert.ok(is_line('Min-p'), 'it opens once the hand lets go');
  pointer(page.slider('Min-p'), 'pointerup');
  page.slider('Min-p').dispatchEvent(new window.Event('change'));
  assert.ok(!is_line('Min-p'));
  page.slider('Top-k').focus(); // nor while it has the keyboard focus
  type(page.slider('Top-k'), '0');
  assert.ok(!is_line('Top-k'));
  page.slider('Top-k').blur();
  page.change({});
  assert.ok(is_line('Top-k'));
});

test('a change of one number keeps all the others', () => {
  const page = page_of({ dry: DRY });
  assert.equal(page.exact('DRY last n tokens').value, 'all');
  type(page.exact('DRY last n tokens'), '31');
  assert.deepEqual(page.taken('set'), [['set', { dry: { ...DRY, last_n: 31 } }]]);
  type(page.exact('DRY last n tokens'), 'All');
  assert.deepEqual(page.taken('set'), [['set', { dry: DRY }]]);
  type(page.slider('DRY base'), '2');
  assert.deepEqual(page.taken('set'), [['set', { dry: { ...DRY, base: 2 } }]]);
  page.switch_of('DRY').click();
  assert.deepEqual(page.taken('set'), [['set', { dry: null }]]);
  assert.match(page.switch_of('DRY').title, /Multiplier 0\.80, Base 2\.00/);
  page.switch_of('DRY').click();
  assert.deepEqual(page.taken('set'), [['set', { dry: { ...DRY, base: 2 } }]]);
  const fresh = page_of({ dry: null }, { stage_defaults: { dry: { ...DRY, breakers: [3, 4] } } });
  fresh.switch_of('DRY').click();
  assert.deepEqual(fresh.taken('set'), [['set', { dry: { ...DRY, breakers: [3, 4] } }]], 'from the tokenizer');
});

test('one end of a range pushes the other', () => {
  const page = page_of({ dynamic_temperature: { low: 0.5, high: 1.5, exponent: 1 } });
  type(page.slider('Dynamic temperature lowest t'), '1.8');
  assert.deepEqual(page.taken('set'), [['set', { dynamic_temperature: { low: 1.8, high: 1.8, exponent: 1 } }]]);
  type(page.slider('Dynamic temperature highest t'), '0.3');
  assert.deepEqual(page.taken('set'), [['set', { dynamic_temperature: { low: 0.3, high: 0.3, exponent: 1 } }]]);
});

test('`?` explains a sampler with its formula and paper', () => {
  const page = page_of({ typical_p: 0.9 });
  const ask = page.one('button', 'About Typical-p');
  assert.deepEqual([ask.getAttribute('aria-expanded'), page.all('link')], ['false', []]);
  ask.click();
  assert.equal(ask.getAttribute('aria-expanded'), 'true');
  const about = document.getElementById(ask.getAttribute('aria-controls'));
  const sampler = table.samplers.find(({ name }) => name === 'typical_p');
  assert.ok(about?.textContent?.includes(sampler?.about ?? '?') && about.textContent.includes(sampler?.formula ?? '?'));
  const paper = page.one('link', sampler?.paper?.text);
  assert.deepEqual([paper.href, paper.rel], ['https://arxiv.org/abs/2202.00666', 'noopener noreferrer']);
  ask.click();
  assert.deepEqual(page.all('link'), []);
});

// --- its effect -----------------------------------------------------------------------------------

/** @type {[Record<string, Value>, string, string][]} */
const EFFECTS = [
  [{ top_k: 3 }, 'Top-k', '4 → 3 tokens, 10 % removed'],
  [{ min_p: 0.4 }, 'Min-p', '4 → 3 tokens, 10 % removed · p ≥ 16.00 %'],
  [{ top_k: 4 }, 'Top-k', '4 → 4 tokens: nothing removed'],
  [{ temperature: 0.5 }, 'Temperature', 'uncertainty 1.85 → 1.56 bits'],
  [{ temperature: 0 }, 'Temperature', '4 → 1 token, 60 % removed · greedy: only the highest score stays'],
  [{ logit_bias: { bias: [[3, 2]] } }, 'Logit bias', '␣London −2.30 → −0.30 · 1 token changed'],
  [{ presence_penalty: 1 }, 'Presence penalty', 'nothing to change here · nothing generated yet'],
  [{ banned: { sequences: [[1]] } }, 'Banned words', '4 → 3 tokens, 30 % removed (␣the) · 1 token banned'],
  [{ banned: { sequences: [[300, 301]] } }, 'Banned words', 'nothing to remove here · nothing to ban'],
];

test('the effect of each kind of sampler in a few words', () => {
  for (const [values, label, words] of EFFECTS) {
    const said = page_of(values).says(label);
    assert.ok(said.startsWith(words), `${said} for ${JSON.stringify(values)}`);
  }
  assert.equal(page_of({ temperature: 0.5 }, { digits: 'few' }).says('Temperature'), 'uncertainty 1.8 → 1.6 bits');
  const label = '<img src=x onerror=alert(1)>\u202e';
  const page = page_of({ banned: { sequences: [[1]] } }, { step: { labels: new Map([[1, label]]) } });
  assert.equal(page.root.querySelector('img'), null);
  assert.ok(page.root.querySelector('.dv-token')?.textContent?.startsWith('<img src=x'));
});

test('samplers after the shown stage are not applied yet', () => {
  const page = page_of({ temperature: 0.5, top_k: 2 }, { point: 1 });
  assert.match(page.says('Temperature'), /^uncertainty/);
  assert.equal(page.says('Top-k'), 'not applied yet');
  assert.deepEqual(
    ['Temperature', 'Top-k'].map(label => page.entry(label).classList.contains('dv-lit')),
    [true, false],
  );
});

test('a sampler shows its remark and the reason for no effect', () => {
  const settings = settings_of({ temperature: 0, top_k: 2, mirostat: { tau: 5, eta: 0.1 } });
  const list = [
    { name: 'top_k', reason: 'temperature 0 has already left a single token', has_effect: false },
    { name: 'mirostat', reason: 'it sees only the tokens left here', has_effect: true },
  ];
  const page = page_of({}, { settings, remarks: { settings, list } });
  assert.equal(page.says('Top-k'), 'No effect heretemperature 0 has already left a single token');
  assert.ok(page.entry('Top-k').classList.contains('dv-faded'));
  assert.equal(page.switch_of('Top-k').getAttribute('aria-checked'), 'true');
  assert.equal(page.remark('Mirostat'), 'it sees only the tokens left here');
  assert.equal(page.remark('Top-k'), undefined);
});

test('a sampler has nothing to act on after all tokens are removed', () => {
  const page = page_of({ banned: { sequences: [[0], [1], [2], [3]] }, top_k: 2 });
  assert.match(page.says('Banned words'), /^4 → 0 tokens, 100 % removed \(␣Paris, ␣the and ␣a, …\)/);
  assert.equal(page.says('Top-k'), 'No tokens left to act onan earlier sampler removed them all');
});

test('a sampler added after a step applies from the next token', () => {
  const values = settings_of({ top_k: 3 });
  const page = live(create, recorded({ top_k: 3 }));
  page.change({ settings: { ...values, order: ['top_k', 'min_p'], min_p: 0.3 } });
  assert.match(text_of(page.one('group', 'Min-p')), /holds from the next token on/);
  assert.match(text_of(page.one('group', 'Top-k')), /4 → 3 tokens/);
  page.change({ row: null });
  assert.match(text_of(page.one('group', 'Top-k')), /no scores yet/);
  type(page.one('slider', 'Top-k'), '2'); // settings can be chosen before the first text
  assert.equal(page.state.settings.top_k, 2);
});

test('an unknown sampler takes controls and note from the server', () => {
  const told = read_told();
  const made_up = told.table.order.filter(name => !table.order.includes(name));
  const shown_so_far = new Set();
  for (const { row, vector } of told.rows) {
    const stage = vector.stages.find(({ name }) => made_up.includes(name) && !shown_so_far.has(name));
    if (!stage || vector.emptied_by) continue;
    shown_so_far.add(stage.name);
    const scene = scene_of(told.table, row, vector);
    const page = live(create, make_state(/** @type {Partial<State>} */ (scene)));
    const label = sampler_of(told.table, stage.name)?.label ?? '';
    page.one('slider', label);
    assert.match(text_of(page.one('group', label)), new RegExp(`· ${stage.count.toLocaleString('en')} left`));
  }
  assert.deepEqual([...shown_so_far].sort(), made_up.toSorted());
});

test('the picture of a rule shows this step, and nothing when off', () => {
  const paths = (/** @type {any} */ page, /** @type {string} */ name) =>
    page.root.querySelector(`.dv-rule-picture .dv-rule-${name}`).getAttribute('d');
  const page = page_of({ top_k: 3 });
  page.one('button', 'About Top-k').click();
  page.one('img', 'What Top-k does to this step');
  assert.deepEqual(
    ['kept', 'removed'].map(name => paths(page, name).split('M').length - 1),
    [3, 20],
  );
  page.switch_of('Top-k').click();
  assert.deepEqual(
    ['kept', 'removed'].map(name => paths(page, name)),
    ['', ''],
  );
  const share = page_of({ top_p: 0.5 });
  share.one('button', 'About Top-p').click();
  assert.match(paths(share, 'stop'), /^M0 36H240$/); // halfway up
  const threshold = page_of({ min_p: 0.5 });
  threshold.one('button', 'About Min-p').click();
  assert.match(paths(threshold, 'stop'), /^M0 36H240$/);
  const edit = page_of({ logit_bias: { bias: [[3, 2]] } });
  edit.one('button', 'About Logit bias').click();
  assert.equal(paths(edit, 'stop').split('M').length - 1, 1, 'one token moves');
});

// Thresholds after earlier samplers, over a row of 16 tokens, each with .8 of its predecessor's probability.
const SIXTEEN = Array.from({ length: 16 }, (_, id) => id * Math.log(0.8));

test('a threshold separates kept from removed bars, if it can be drawn', () => {
  /** @type {[Record<string, Value>, string][]} */
  const levels = [
    [{ top_k: 3, min_p: 0.7 }, 'Min-p'],
    [{ temperature: 0.5, top_k: 8, eta_cutoff: 0.3 }, 'Eta cutoff'],
    [{ banned: { sequences: [[0]] }, top_k: 9, mirostat: { tau: 1.5, eta: 0.1 } }, 'Mirostat'],
  ];
  for (const [values, label] of levels) {
    const page = page_of(values, { logits: SIXTEEN });
    page.one('button', `About ${label}`).click();
    const path = (/** @type {string} */ name) => page.entry(label).querySelector(`.dv-rule-${name}`).getAttribute('d');
    const tops = (/** @type {string} */ name) =>
      Array.from(path(name).matchAll(/M[\d.]+ ([\d.]+)H/g), found => Number(found[1])).slice(0, 8);
    const [level] = tops('stop');
    assert.ok(Math.max(...tops('kept')) <= level + 0.02 && level <= Math.min(...tops('removed')) + 0.02, label);
  }
  const page = page_of({ top_k: 8, temperature: 0.3, min_p: 0.2 }, { logits: SIXTEEN }); // over bars of other scores
  page.one('button', 'About Min-p').click();
  assert.equal(page.entry('Min-p').querySelector('.dv-rule-stop').getAttribute('d'), '');
});

test('no sampler picture contains an invalid number in any language', t => {
  t.after(() => speak({}));
  speak({ '1,024.5': '1.024,5' });
  const usual = table.samplers.map(({ name, numbers, value }) => [
    name,
    value === 'number' ? numbers[0].usual : Object.fromEntries(numbers.map(each => [each.name, each.usual])),
  ]);
  const bias = [-3, 5].map((by, place) => [3 * place, by]);
  const values = {
    ...Object.fromEntries(usual),
    ...{ logit_bias: { bias }, banned: { sequences: [[2]] }, dry: DRY },
  };
  for (const logits of [
    [4, 3, 2, 1],
    [1, 1, 1, 1],
    [5, -Infinity, 2, -Infinity],
    [80, 0, -80, -90],
  ]) {
    const page = page_of(/** @type {any} */ (values), { logits });
    for (const ask of page.all('button', /^About /)) ask.click();
    for (const point of [null, 0, 5, 12, 22]) {
      page.change({ point });
      const drawn = Array.from(page.root.querySelectorAll('.dv-rule-picture path'), path =>
        path.getAttribute('d'),
      ).join(' ');
      assert.doesNotMatch(drawn, /NaN|Infinity|undefined|,/, `${logits} at ${point}`);
    }
  }
});

test('an update writes only differences and creates no elements', () => {
  const page = page_of({ ...FIRST, dry: DRY, logit_bias: { bias: [[0, 1]] } });
  assert.equal(changes_in(page.root, () => page.change({})).number, 0);
  const settings = { ...page.state.settings, top_p: 0.5 };
  const slid = changes_in(page.root, () => page.change({ settings }));
  assert.ok(slid.number > 0);
  assert.deepEqual(slid.made, []);
});
