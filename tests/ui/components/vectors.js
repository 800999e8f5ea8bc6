// The Python engine's results for random rows and chains, as written by tests/ui/components/vectors.py.

import { existsSync, readFileSync } from 'node:fs';
import { unpack_row } from '../../../ui/components/js/kernel/row.js';
import { read_message } from '../../../ui/components/js/wire/message.js';

/**
 * @import { Row, RowExtras, Scene, SearchedStep, Settings, StepOnScreen, Table } from '../../../ui/components/js/types.js'
 *
 * @typedef {object} StageVector
 * @property {string} name
 * @property {number} count
 * @property {number} start
 * @property {number} ids checksum of all ids in rank order
 * @property {number[]} leading
 * @property {number} last_score
 * @property {number} mass_removed
 * @property {number} entropy
 * @property {Record<string, number | null>} figures
 * @property {string} case
 * @property {number[]} moved_ids
 * @property {{id: number, level: number | null} | null} mass
 *
 * @typedef {{name: string, removed: number, kept: number, in_ranking: boolean, first_rank?: number, last_rank?:
 *   number, is_contiguous?: boolean, is_upper?: boolean, is_lower?: boolean}} LineVector
 *
 * @typedef {object} PointVector
 * @property {number} done
 * @property {number} kept
 * @property {number} entropy
 * @property {LineVector[]} lines
 * @property {{first_rank: number, last_rank: number, is_contiguous: boolean, mass: number} | null} cut
 * @property {(string | null)[]} removed_by
 * @property {{ranks: number[], model_prob: number[], prob: number[], cumulative: number[], kept: boolean[], final:
 *   number[], cumulative_final: number[]}} curve
 *
 * @typedef {object} CaseVector
 * @property {Settings} settings
 * @property {number[]} text
 * @property {number} prompt_length
 * @property {number[]} eos_ids
 * @property {number[]} line_break_ids
 * @property {number} xtc_u
 * @property {{tau: number, mu: number} | null} mirostat
 * @property {number[]} us
 * @property {string | null} emptied_by
 * @property {{model: number, tempered: number, final: number}} entropy
 * @property {StageVector[]} stages
 * @property {[number, number, number, number, number, string | null, number][]} candidates rank, id, logit, prob,
 *   cumulative, removed_by, final_prob
 * @property {{u: number, id: number, probability: number, from: number, to: number}[]} draws
 * @property {{id: number, raw_rank: number, logit: number | null, removed_by: string | null, final_prob: number,
 *   steps: ([number, number, number] | null)[]}[]} ways
 * @property {PointVector[]} points
 *
 * @typedef {{name: string, row: Row, cases: CaseVector[]}} RowVector
 */

const FOLDER = new URL(process.env.VECTORS ?? '../../../test-artefacts/vectors/', import.meta.url);

/** @param {string} name */
function read(name) {
  const file = new URL(name, FOLDER);
  if (!existsSync(file)) throw new Error(`${name} is not written yet: run \`make vectors\``);
  return readFileSync(file);
}

/** Read the table of samplers, as the server sends it. @returns {Table} */
export const read_table = () => JSON.parse(read('table.json').toString('utf8'));

/** Read labels of token texts that break pages. @returns {string[]} */
export const read_hostile = () => JSON.parse(read('hostile.json').toString('utf8'));

/** Read the rows, each with the chains to run over it. @returns {Generator<RowVector>} */
export function* read_rows() {
  const arrays = read('rows.bin');
  for (const line of read('rows.jsonl').toString('utf8').trimEnd().split('\n')) {
    const { name, header, offset, bytes, cases } = JSON.parse(line);
    const own = arrays.buffer.slice(arrays.byteOffset + offset, arrays.byteOffset + offset + bytes);
    const packed = unpack_row(header, /** @type {ArrayBuffer} */ (own), 0);
    yield { name, row: row_of(packed), cases };
  }
}

/**
 * Return a row with the fields of a step that is not drawn yet.
 *
 * @param {import('../../../ui/components/js/types.js').PackedRow} packed
 * @param {Partial<StepOnScreen & RowExtras>} [step]
 * @returns {Row}
 */
export const row_of = (packed, step = {}) => ({
  ...packed,
  index: 0,
  is_pending: true,
  chosen: null,
  forced: false,
  u: null,
  xtc_u: null,
  recorded_settings: null,
  recorded_scale: null,
  labels: new Map(),
  ...step,
});

/**
 * Return the scene for a view of a case: its next step, which is not drawn yet.
 *
 * @param {Table} table
 * @param {Row} row
 * @param {CaseVector} vector
 * @param {Partial<Scene>} [more]
 * @returns {Scene & {row: Row}}
 */
export function scene_of(table, row, vector, more = {}) {
  const ids = vector.text.map(id => ({ id }));
  const steps = ids.slice(vector.prompt_length);
  const { xtc_u, us, eos_ids, line_break_ids } = vector;
  return {
    table,
    settings: vector.settings,
    row_count: 15,
    prompt_tokens: ids.slice(0, vector.prompt_length),
    steps,
    model: { eos_ids, line_break_ids },
    ...more,
    row: { ...row, index: steps.length, xtc_u, u: us[0] },
  };
}

/**
 * Read rows as a step sends them, with the engine's own results, and the table with made-up samplers.
 *
 * @returns {{table: Table, rows: Generator<{name: string, row: Row, vector: CaseVector}>}}
 */
export const read_told = () => ({
  table: JSON.parse(read('told.json').toString('utf8')),
  rows: told_rows(),
});

function* told_rows() {
  const arrays = read('told.bin');
  for (const line of read('told.jsonl').toString('utf8').trimEnd().split('\n')) {
    const { name, offset, bytes, case: vector } = JSON.parse(line);
    const message = read_message(new Uint8Array(arrays.subarray(offset, offset + bytes)));
    const row = row_of(/** @type {Row} */ (message.row), { labels: new Map(), shaped: message.shaped ?? null });
    yield { name, row, vector };
  }
}

/**
 * Read a step of contrastive search, and the engine's scores at other alphas.
 *
 * @returns {{step: SearchedStep, others: {alpha: number, step: SearchedStep}[]}}
 */
export const read_searched = () => JSON.parse(read('searched.json').toString('utf8'));
