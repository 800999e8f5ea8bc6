// Compares results with the engine over all chains in the vectors.

import assert from 'node:assert/strict';
import { is_previewed } from '../../../ui/components/js/kernel/stages.js';
import { Differences } from './near.js';
import { read_rows, read_table, scene_of } from './vectors.js';

/**
 * @import { Row, Scene } from '../../../ui/components/js/types.js'
 * @import { CaseVector } from './vectors.js'
 */

const MOST_SHOWN = 12;

export const table = read_table();

/**
 * Fail with the first differences, if any; return the number of chains tried.
 *
 * @param {(found: Differences, scene: Scene & {row: Row}, vector: CaseVector) => void} check
 */
export function over_all_chains(check) {
  /** @type {string[]} */
  const faults = [];
  /** @type {Set<string>} */
  const tried = new Set();
  let chains = 0;
  for (const { name, row, cases } of read_rows()) {
    for (const [number, vector] of cases.entries()) {
      const names = vector.stages?.map(stage => stage.name) ?? [];
      const found = new Differences(`${name}, chain ${number} (${names})`);
      check(found, scene_of(table, row, vector), vector);
      faults.push(...found.found);
      for (const each of names) tried.add(each);
      chains += 1;
    }
  }
  const shown = faults.slice(0, MOST_SHOWN).join('\n');
  assert.equal(faults.length, 0, `${faults.length} differences in ${chains} chains:\n${shown}`);
  assert.deepEqual([...tried].sort(), table.order.filter(is_previewed).sort(), 'not every sampler was tried');
  return chains;
}
