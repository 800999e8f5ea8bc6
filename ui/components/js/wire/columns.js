// Columns in: the rows of their models, and each column's results for its row. ui/compare/view.py packs them.

import { learn_own, split, unpack_outcomes, unpacked } from './message.js';

/** @import { Row, Settings, Table } from '../types.js' */
/**
 * @typedef {object} Column
 * @property {string} title
 * @property {string} said its step's effect, in words
 * @property {Table} table
 * @property {Row} row
 * @property {Settings} settings
 * @property {{id: number}[]} prompt_tokens
 * @property {{id: number}[]} steps the steps up to and including the one shown
 */

/**
 * @param {Uint8Array} bytes
 * @returns {Column[]}
 */
export function read_columns(bytes) {
  const { header, arrays } = split(bytes);
  const rows = header.rows.map((/** @type {any} */ row) => unpacked(row, arrays));
  const with_id = (/** @type {number} */ id) => ({ id });
  return header.columns.map((/** @type {any} */ { row, shaped, step, title, said, settings, token }) => {
    unpack_outcomes(shaped, arrays);
    const own = { ...rows[row], ...step, shaped };
    learn_own(own);
    return {
      title,
      said,
      settings,
      table: header.table,
      row: own,
      prompt_tokens: header.prompt_ids.map(with_id),
      steps: [...header.text_ids.map(with_id), with_id(token)],
    };
  });
}
