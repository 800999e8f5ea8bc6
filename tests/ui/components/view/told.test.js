// Results that the browser does not compute itself: light rows, which have their tail in bins, and samplers without a
// rule in the browser. With the settings that the engine ran, every figure shown is the engine's.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { make_view } from '../../../../ui/components/js/view/view.js';
import { Differences } from '../near.js';
import { read_told, scene_of } from '../vectors.js';

/**
 * @import { Scene, View } from '../../../../ui/components/js/types.js'
 * @import { CaseVector } from '../vectors.js'
 */

const MOST_SHOWN = 12;

/**
 * @param {(name: string) => boolean} is_wanted
 * @param {(found: Differences, scene: Scene, view: View, vector: CaseVector) => void} check
 */
function over_told(is_wanted, check) {
  const { table, rows } = read_told();
  const faults = [];
  let number = 0;
  for (const { name, row, vector } of rows) {
    if (!is_wanted(name)) continue;
    const found = new Differences(`${name} (${vector.stages.map(stage => stage.name)})`);
    const scene = scene_of(table, row, vector);
    check(found, scene, /** @type {View} */ (make_view(scene)), vector);
    faults.push(...found.found);
    number += 1;
  }
  const shown = faults.slice(0, MOST_SHOWN).join('\n');
  assert.equal(faults.length, 0, `${faults.length} differences in ${number} rows:\n${shown}`);
  return number;
}

/** @param {Differences} found @param {View} view @param {CaseVector} vector */
function check_figures(found, view, vector) {
  found.same('missing', view.missing, null);
  found.same('exact', view.exact, true);
  found.same('emptied', view.emptied_by, null);
  for (const stage of vector.stages) {
    const own = view.samplers.find(sampler => sampler.name === stage.name);
    if (!own) throw new Error(`${stage.name} is not in the view`);
    found.same(`${stage.name} count`, own.after, stage.count);
    found.near(`${stage.name} mass removed`, own.mass_removed, stage.mass_removed);
    found.near(`${stage.name} entropy`, own.entropy_after, stage.entropy);
    for (const [name, figure] of Object.entries(stage.figures)) {
      if (figure === null) found.holds(`${stage.name} ${name}`, !Number.isFinite(own.figures[name]));
      else found.near(`${stage.name} ${name}`, Number(own.figures[name]), figure, 1e-7);
    }
    found.same(`${stage.name} case`, own.case, stage.case);
  }
  for (const name of /** @type {const} */ (['model', 'tempered', 'final'])) {
    found.near(`entropy, ${name}`, view.entropy[name], vector.entropy[name]);
  }
}

/** @param {Differences} found @param {View} view @param {CaseVector} vector */
function check_rows(found, view, vector) {
  found.same('rows', view.rows.length, vector.candidates.length);
  for (const [place, [rank, id, logit, prob, cumulative, removed_by, final_prob]] of vector.candidates.entries()) {
    const row = view.rows[place];
    found.same(`row ${rank}`, [row?.rank, row?.id, row?.removed_by], [rank, id, removed_by]);
    found.near(`logit of row ${rank}`, row?.logit, logit, 0);
    found.near(`probability of row ${rank}`, row?.prob, prob, 1e-7);
    found.near(`cumulative of row ${rank}`, row?.cumulative, Math.min(1, cumulative), 1e-7);
    found.near(`final probability of row ${rank}`, row?.final_prob, final_prob, 1e-7);
  }
  const [draw] = vector.draws;
  if (view.greedy) return;
  found.same('token drawn', view.draw?.id, draw.id);
  found.near('probability drawn', view.draw?.probability, draw.probability);
  found.near('stretch from', view.draw?.from, draw.from);
  found.near('stretch to', view.draw?.to, draw.to);
}

test('a light row shows what the engine computed', context => {
  const number = over_told(
    name => name.startsWith('light'),
    (found, _, view, vector) => {
      check_figures(found, view, vector);
      check_rows(found, view, vector);
    },
  );
  context.diagnostic(`${number} light rows`);
});

test('a sampler without a browser rule shows the engine’s results', context => {
  const number = over_told(
    name => name.startsWith('made-up'),
    (found, scene, view, vector) => {
      check_figures(found, view, vector);
      check_rows(found, view, vector);
      const at_end = /** @type {View} */ (make_view({ ...scene, point: vector.stages.length }));
      const lines = vector.points[1].lines.map(line => [line.name, line.removed, line.kept, line.in_ranking]);
      found.same(
        'lines',
        at_end.lines.map(line => [line.name, line.removed, line.kept, line.in_ranking]),
        lines,
      );
    },
  );
  context.diagnostic(`${number} rows with made-up samplers`);
});
