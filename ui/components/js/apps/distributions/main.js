// Distributions side by side: the results of several settings for the same logits. Each has one column, made of parts
// that the step page has too.

import { element, set_text } from '../../lib/dom.js';
import * as distribution from '../../parts/charts/distribution.js';
import { create_charts } from '../../parts/charts/mount.js';
import { mount_part } from '../../parts/mount.js';
import * as table from '../../parts/table/table.js';
import { make_view } from '../../view/view.js';
import { read_columns } from '../../wire/columns.js';
import { say } from '../../words/say.js';

/** @import { Reason, Scene, State, View } from '../../types.js' */
/** @import { Column } from '../../wire/columns.js' */
/** @typedef {Pick<State, 'view' | 'slow' | 'digits' | 'mode' | 'row_count' | 'fitted_rows' | 'columns' | 'steps'>} ColumnState */

const ROWS = 8;
const CHART_ROWS = 20; // charts hold more tokens than the table

/** The charts of one column, as a part. */
const charts_part = {
  /** @param {HTMLElement} root */
  create(root) {
    const charts = create_charts(root, { file_name: () => 'distribution' });
    const panel = element('div');
    root.append(charts.note, panel);
    const group = charts.add(panel, distribution);
    return {
      /** @param {ColumnState} state @param {Reason} reason */
      update(state, reason) {
        if (reason === 'theme') group.restyle();
        if (reason === 'resize') group.remeasure();
        group.update(state, { is_calm: true, subject: '' });
        charts.schedule.request();
      },
      destroy: charts.destroy,
    };
  },
};

/** A column's view of its row. @param {Column} column @returns {View | null} */
function view_of({ table: samplers, row, settings, prompt_tokens, steps }) {
  /** @type {Scene} */
  const scene = { table: samplers, row, settings, prompt_tokens, steps, row_count: CHART_ROWS };
  return make_view(scene);
}

/** @param {HTMLElement} list @param {(part: string, error: Error) => void} report */
function create_column(list, report) {
  const title = element('h3');
  const said = element('p', { class: 'dv-muted' });
  const picture = element('div', { 'data-part': 'picture' });
  const rows = element('div', { 'data-part': 'table' });
  const node = element('section', { class: 'dv-column' }, title, said, picture, rows);
  list.append(node);
  const nothing = { fit_rows: () => {} };
  const parts = [
    mount_part(picture, 'picture', charts_part, nothing, report),
    mount_part(rows, 'table', table, nothing, report),
  ];
  return {
    /** @param {Column} column @param {Reason} reason */
    update(column, reason) {
      set_text(title, column.title);
      set_text(said, column.said);
      node.setAttribute('aria-label', say('Distribution of {text}', { text: column.title }));
      /** @type {ColumnState} */
      const state = {
        view: view_of(column),
        slow: false,
        digits: 'full',
        mode: 'paused',
        row_count: ROWS,
        fitted_rows: ROWS,
        columns: [],
        steps: /** @type {any} */ (column.steps),
      };
      for (const part of parts) part.update(state, reason);
    },
    destroy() {
      for (const part of parts) part.destroy?.();
      node.remove();
    },
  };
}

/**
 * @param {HTMLElement} root the element with class `dv`
 * @param {{message?: string}} data `message`: packed by ui/compare/view.py, in base64
 */
export function mount(root, data) {
  root.classList.add('dv-distributions');
  const list = element('div', { class: 'dv-side-by-side' });
  root.append(list);
  /** @type {ReturnType<typeof create_column>[]} */
  const shown = [];
  /** @type {Column[]} */
  let columns = [];
  let message = '';
  const report = (/** @type {string} */ part, /** @type {Error} */ error) =>
    console.error(`The part ${part} has failed.`, error);

  /** @param {Reason} reason */
  function draw(reason) {
    while (shown.length > columns.length) shown.pop()?.destroy();
    while (shown.length < columns.length) shown.push(create_column(list, report));
    list.style.setProperty('--columns', String(columns.length));
    shown.forEach((column, place) => column.update(columns[place], reason));
  }

  /** @param {{message?: string}} now */
  function update(now) {
    if (!now.message || now.message === message) return;
    message = now.message;
    columns = read_columns(Uint8Array.from(atob(message), character => character.charCodeAt(0)));
    draw('step');
  }
  update(data);

  return {
    update,
    restyle: () => draw('theme'),
    destroy() {
      for (const column of shown) column.destroy();
    },
  };
}
