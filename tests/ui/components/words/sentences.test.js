// The sentences on samplers, identical letter by letter to Python's from the engine's own results.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { is_previewed } from '../../../../ui/components/js/kernel/stages.js';
import { sampler_of } from '../../../../ui/components/js/kernel/table.js';
import { make_view } from '../../../../ui/components/js/view/view.js';
import { render, sampler_note, sampler_sentence } from '../../../../ui/components/js/words/sentences.js';
import { over_all_chains, table } from '../chains.js';

/**
 * @import { SamplerView, View } from '../../../../ui/components/js/types.js'
 */

const OFF = 'temperature none'; // 1 turns it off, and no chain of a page includes it

/**
 * Return a sampler with slightly larger or smaller figures.
 *
 * @param {SamplerView} sampler
 * @param {number} factor
 * @returns {SamplerView}
 */
function nudged(sampler, factor) {
  const figures = Object.entries(sampler.figures).map(([name, figure]) => [
    name,
    typeof figure === 'number' ? figure * factor : figure,
  ]);
  return { ...sampler, figures: Object.fromEntries(figures) };
}

test('sampler sentences match the engine’s letter by letter', context => {
  let sentences = 0;
  const cases = new Set();
  const chains = over_all_chains((found, scene, vector) => {
    if (vector.emptied_by) return;
    const view = /** @type {View} */ (make_view(scene));
    for (const { name, says, note, case: which } of vector.stages) {
      const sampler = view.samplers.find(each => each.name === name);
      if (!sampler) throw new Error(`${name} is not in the view`);
      // A figure at the edge between two roundings may fall to either side.
      const [low, high] = [nudged(sampler, 1 - 1e-12), nudged(sampler, 1 + 1e-12)];
      const same = { sentence: says, note };
      for (const what of /** @type {const} */ (['sentence', 'note'])) {
        /** @param {SamplerView} each */
        const said = each => (what === 'note' ? sampler_note(each, table) : sampler_sentence(each, view, table));
        const is_near = said(low) === same[what] || said(high) === same[what];
        if (!is_near) found.same(`${what} of ${name}`, said(sampler), same[what]);
      }
      cases.add(`${name} ${which in (sampler_of(table, name)?.says ?? {}) ? which : ''}`);
      sentences += 1;
    }
  });
  const all = table.samplers
    .filter(({ name }) => is_previewed(name))
    .flatMap(({ name, says }) => Object.keys(says).map(which => `${name} ${which}`));
  const untried = all.filter(each => !cases.has(each) && each !== OFF);
  assert.deepEqual(untried, [], 'not every template was tried');
  context.diagnostic(`${sentences} sentences of ${all.length} templates over ${chains} chains`);
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
