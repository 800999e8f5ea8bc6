// The sentences on samplers: every template, with the figures and labels of its sampler.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { is_previewed } from '../../../../ui/components/js/kernel/stages.js';
import { sampler_of } from '../../../../ui/components/js/kernel/table.js';
import { make_view } from '../../../../ui/components/js/view/view.js';
import { render, sampler_note, sampler_sentence } from '../../../../ui/components/js/words/sentences.js';
import { over_all_chains, table } from '../chains.js';
import { bare, shown } from '../fixtures.js';

/**
 * @import { SamplerView, View } from '../../../../ui/components/js/types.js'
 */

const OFF = 'temperature none'; // 1 turns it off, and no chain of a page includes it
const BROKEN = /[{}]|NaN|undefined|Infinity|\b1 tokens/;

test('every template is filled, in the grammar of its numbers', () => {
  const cases = new Set();
  over_all_chains((found, scene, vector) => {
    if (vector.emptied_by) return;
    const view = /** @type {View} */ (make_view(scene));
    for (const sampler of view.samplers.filter(({ on }) => on)) {
      const said = `${sampler_sentence(sampler, view, table)} ${sampler_note(sampler, table)}`;
      found.holds(`${sampler.name}: ${said}`, said.length > 20 && !BROKEN.test(said));
      const says = sampler_of(table, sampler.name)?.says ?? {};
      cases.add(`${sampler.name} ${sampler.case in says ? sampler.case : ''}`);
    }
  });
  const all = table.samplers
    .filter(({ name }) => is_previewed(name))
    .flatMap(({ name, says }) => Object.keys(says).map(which => `${name} ${which}`));
  assert.deepEqual(
    all.filter(each => !cases.has(each) && each !== OFF),
    [],
    'not every template was tried',
  );
});

test('a sentence names the tokens that an edit changed', () => {
  const view = /** @type {View} */ (shown({ banned: { sequences: [[0], [2]] } }).view);
  assert.match(bare(sampler_sentence(view.samplers[0], view, table)), /“␣Paris” and “␣a”/);
});

test('a template renders its figures in their formats', () => {
  const figures = { p: 0.9, removed: 1, mass: 0.0912, h: 2.345, z: -1.5, u: 0.99999, names: ['a', 'b', 'c'] };
  assert.equal(render('{p:share} {removed:tokens} {mass:percent}', figures), '90 % 1 token 9.12 %');
  assert.equal(render('{h:bits} {z:score} {p:number} {u:u}', figures), '2.35 bits −1.50 0.9 0.9999900000');
  assert.equal(render('{names:names}', figures), '“\u2068a\u2069”, “\u2068b\u2069” and others');
  assert.equal(render('{mass:percent} {h:bits} {z:score} {u:u}', figures, 'few'), '9.1 % 2.3 bits −1.5 0.9999900000');
});

test('a case without a template uses the default one', () => {
  const sampler = {
    name: 'top_p',
    case: 'made up',
    on: true,
    before: 3,
    figures: { p: 0.5, after: 2, removed: 1, mass_removed: 0.2 },
  };
  const view = /** @type {View} */ (/** @type {unknown} */ ({ samplers: [], emptied_by: null }));
  const said = sampler_sentence(/** @type {SamplerView} */ (/** @type {unknown} */ (sampler)), view, table);
  assert.match(said, /50 %/);
});
