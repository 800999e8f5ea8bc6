// Kernel and view against the engine, over random chains of all samplers: the remaining tokens, every figure, every
// line, every value of the curves, every row of the table, the draw.

import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { curve_of } from '../../../../ui/components/js/view/curve.js';
import { draw_of } from '../../../../ui/components/js/view/draw.js';
import { stand_of } from '../../../../ui/components/js/view/rows.js';
import { candidate, make_view, trace_of } from '../../../../ui/components/js/view/view.js';
import { on_show } from '../../../../ui/components/js/view/what_if.js';
import { over_all_chains } from '../chains.js';

/**
 * @import { Scene, Row, View } from '../../../../ui/components/js/types.js'
 * @import { Differences } from '../near.js'
 * @import { PointVector, StageVector } from '../vectors.js'
 */

const FLOAT32 = 2.5e-7; // two float32 steps, as a fraction
const COMPUTED = ['dynamic_temperature', 'dry'];
const ALL_IDS = 65_536; // up to this vocabulary size, the browser knows all ids

/**
 * Return the tolerance for scores from a sampler on: a computed amount (from an entropy, a power) may round to the
 * float32 next to the engine's.
 *
 * @param {StageVector[]} stages
 */
const rounding_of = stages => (stages.some(({ name }) => COMPUTED.includes(name)) ? FLOAT32 : 0);

/** Return the view, which must exist. @param {Scene} scene @returns {View} */
const view_of = scene => /** @type {View} */ (make_view(scene));

test('kept tokens and figures after every sampler match the engine', context => {
  const chains = over_all_chains((found, scene, vector) => {
    const { shaped } = on_show(scene);
    found.same('emptied by', shaped.emptied_by?.name ?? null, vector.emptied_by);
    if (vector.emptied_by) return;
    found.same(
      'samplers',
      shaped.stages.map(stage => stage.name),
      vector.stages.map(stage => stage.name),
    );
    const view = view_of(scene);
    for (const [place, stage] of vector.stages.entries()) {
      const { after, mass_removed } = shaped.stages[place];
      const { entropy_bits, ranking } = after;
      const is_known = scene.row.vocab <= ALL_IDS;
      found.same(`${stage.name} count`, after.count, stage.count);
      const ids = Uint32Array.from(
        { length: Math.min(after.count, ranking.known) },
        (_, n) => ranking.id_at(n + 1) ?? -1,
      );
      const leading = stage.leading.slice(0, is_known ? undefined : ids.length);
      found.same(`${stage.name} leading ids`, [...ids.subarray(0, leading.length)], leading);
      if (is_known) found.same(`${stage.name} ids`, crc32(new Uint8Array(ids.buffer)), stage.ids);
      const rounding = rounding_of(vector.stages.slice(0, place + 1));
      found.near(`${stage.name} last score`, ranking.value_at(after.count), stage.last_score, rounding);
      found.near(`${stage.name} mass removed`, mass_removed, stage.mass_removed);
      found.near(`${stage.name} entropy`, entropy_bits, stage.entropy);
      const own = view.samplers.find(sampler => sampler.name === stage.name);
      found.same(`${stage.name} case`, own?.case, stage.case);
      for (const [name, figure] of Object.entries(stage.figures)) {
        const value = own?.figures[name];
        if (figure === null) found.holds(`${stage.name} ${name} is ${value}`, !Number.isFinite(value));
        else found.near(`${stage.name} ${name}`, Number(value), figure, name === 'temperature' ? 1e-7 : 1e-9);
      }
      found.same(
        `${stage.name} moved`,
        own?.moved.map(({ id }) => id),
        stage.moved_ids,
      );
    }
    found.near('entropy of the model', view.entropy.model, vector.entropy.model);
    found.near('entropy after temperature', view.entropy.tempered, vector.entropy.tempered);
    found.near('entropy in the end', view.entropy.final, vector.entropy.final);
  });
  context.diagnostic(`${chains} chains`);
});

test('table rows and token paths match the engine', () => {
  over_all_chains((found, scene, vector) => {
    if (vector.emptied_by) return;
    const view = view_of(scene);
    found.same('number of rows', view.rows.length, vector.candidates.length);
    for (const [place, [rank, id, logit, prob, cumulative, removed_by, final_prob]] of vector.candidates.entries()) {
      const row = view.rows[place];
      found.same(`row ${rank}`, [row.rank, row.id, row.removed_by], [rank, id, removed_by]);
      found.near(`logit of row ${rank}`, row.logit, logit, 0);
      found.near(`probability of row ${rank}`, row.prob, prob);
      found.near(`cumulative of row ${rank}`, row.cumulative, Math.min(1, cumulative));
      found.near(`final probability of row ${rank}`, row.final_prob, final_prob);
    }
    for (const { id, raw_rank, logit, removed_by, final_prob, steps } of vector.ways) {
      const row = candidate(scene, view, { id, raw_rank, logit });
      found.same(`who removed ${id}`, row?.removed_by, removed_by);
      found.near(`final probability of ${id}`, row?.final_prob, final_prob);
      const way = trace_of(scene, { id, raw_rank, logit });
      for (const [done, step] of steps.entries()) {
        const { rank, score, prob, removed } = way[done];
        found.same(`${id} is removed after ${done}`, removed, step === null);
        if (!step) continue;
        found.near(`score of ${id} after ${done}`, score, step[0], rounding_of(vector.stages.slice(0, done)));
        if (rank !== step[1] && scene.row.vocab <= ALL_IDS) found.same(`rank of ${id} after ${done}`, rank, step[1]);
        found.near(`probability of ${id} after ${done}`, prob, step[2]);
      }
    }
  });
});

test('lines and curves match the engine at every point', () => {
  over_all_chains((found, scene, vector) => {
    if (vector.emptied_by) return;
    for (const point of vector.points) {
      check_point(found, { ...scene, point: point.done }, point);
      if (point.done === vector.stages.length) check_final(found, { ...scene, point: point.done + 1 }, point);
    }
  });
});

/** @param {Differences} found @param {Scene & {row: Row}} scene @param {PointVector} point */
function check_point(found, scene, point) {
  const view = view_of(scene);
  const at = `at ${point.done}`;
  found.same(`kept ${at}`, view.kept, point.kept);
  found.near(`entropy ${at}`, view.entropy.shown, point.entropy);
  found.same(`number of lines ${at}`, view.lines.length, point.lines.length);
  for (const [place, line] of point.lines.entries()) {
    /** @type {Record<string, unknown>} */
    const own = { ...view.lines[place] };
    for (const [name, value] of Object.entries(line))
      found.same(`${name} of line ${line.name} ${at}`, own[name], value);
  }
  found.same(`cut ${at}`, view.cut === null, point.cut === null);
  if (view.cut && point.cut) {
    const { mass, ...ends } = point.cut;
    const { first_rank, last_rank, is_contiguous } = view.cut;
    found.same(`ends of the cut ${at}`, { first_rank, last_rank, is_contiguous }, ends);
    found.near(`mass of the cut ${at}`, view.cut.mass, mass);
  }
  found.same(
    `removed by ${at}`,
    view.rows.map(row => row.removed_by),
    point.removed_by,
  );
  const { shaped } = on_show(scene);
  const curve = curve_of(stand_of(scene, shaped, point.done), point.curve.ranks);
  for (const name of /** @type {const} */ (['model_prob', 'prob', 'cumulative'])) {
    found.all_near(`${name} ${at}`, curve[name], point.curve[name]);
  }
  found.same(`kept ranks ${at}`, curve.kept, point.curve.kept);
  found.holds(
    'no final probability before the softmax',
    curve.final.every(each => each === null),
  );
}

/** @param {Differences} found @param {Scene & {row: Row}} scene @param {PointVector} point */
function check_final(found, scene, point) {
  const { shaped } = on_show(scene);
  const curve = curve_of(stand_of(scene, shaped, point.done + 1), point.curve.ranks);
  found.all_near('final', curve.final, point.curve.final);
  found.all_near('cumulative in the end', curve.cumulative_final, point.curve.cumulative_final);
}

test('the draw matches the engine and lies on the drawn curve', () => {
  over_all_chains((found, scene, vector) => {
    if (vector.emptied_by) return;
    const view = view_of(scene);
    const { shaped, settings } = on_show(scene);
    for (const draw of vector.draws) {
      const at = { ...scene, row: { ...scene.row, u: draw.u } };
      const own = draw_of(stand_of(at, shaped, vector.stages.length + 2), settings);
      if (draw.u === scene.row.u) found.same('the draw of the view', view.draw, own);
      if (view.greedy) {
        found.same('nothing is drawn', own, null);
        continue;
      }
      if (own?.id !== null) found.same(`token drawn at ${draw.u}`, own?.id, draw.id);
      found.near(`probability drawn at ${draw.u}`, own?.probability, draw.probability);
      found.near(`stretch from at ${draw.u}`, own?.from, draw.from);
      found.near(`stretch to at ${draw.u}`, own?.to, draw.to);
      const rank = own?.rank ?? 0;
      const [below, above] = shaped.cumulative_final([rank - 1, rank]);
      const level = own?.level ?? NaN;
      found.holds(
        `${level} lies in the step from ${below} to ${above}`,
        level >= below - 1e-9 && level <= above + 1e-9,
      );
    }
  });
});

test('a share of the probability is marked on the drawn curve', () => {
  over_all_chains((found, scene, vector) => {
    if (vector.emptied_by) return;
    const view = view_of(scene);
    const expected = vector.stages.filter(stage => stage.mass);
    found.same('number of lines', view.mass_lines.length, expected.length);
    const { shaped } = on_show(scene);
    const { ranking, mass } = shaped.before_cuts;
    for (const [place, line] of view.mass_lines.entries()) {
      const told = expected[place].mass;
      if (ranking.id_at(line.rank) !== null) found.same(`token at ${line.name}`, ranking.id_at(line.rank), told?.id);
      if (told?.level != null) found.near(`level of ${line.name}`, line.level, Math.min(1, told.level));
      if (line.level === null) continue;
      const [below, above] = [line.rank - 1, line.rank].map(rank => ranking.cumulative_at(rank) / mass);
      const is_there = line.level >= below - 1e-9 && line.level <= above + 1e-9;
      found.holds(`${line.name}: ${line.level} lies in the step from ${below} to ${above}`, is_there);
    }
  });
});
