// The content of the draw as a table: tokens, probabilities and, after many draws, counts next to the expected values.

import { MOST_STRETCHES } from '../../kernel/sampling.js';
import { element, set_class, set_text } from '../../lib/dom.js';
import { count, percent, shorten } from '../../words/format.js';
import { say, with_figures } from '../../words/say.js';
import { look_of } from './bar.js';

/** @import { Sampling } from '../../kernel/sampling.js' */
/** @import { Stretch } from './bar.js' */

const LONGEST_TITLE = 120;

/** The table `Stretches`: `node`, and `update(stretches, sampling)`; `sampling` is null without draws. */
export function create_counts() {
  const rows = Array.from({ length: MOST_STRETCHES }, create_row); // all rows at once: stepping creates no elements
  const heads = [say('Token'), say('Probability'), say('Drawn'), say('Expected ± 2σ')].map(text =>
    element('th', { scope: 'col', text }),
  );
  const node = element(
    'table',
    { class: 'dv-figures dv-counts', 'aria-label': say('Stretches') },
    element('thead', {}, element('tr', {}, ...heads)),
    element('tbody', {}, ...rows.map(({ tr }) => tr)),
  );
  return {
    node,
    /** @param {Stretch[]} stretches @param {Sampling|null} sampling */
    update(stretches, sampling) {
      for (const { tr } of rows.slice(stretches.length)) set_class(tr, 'dv-hidden');
      const figures = stretches.map(stretch => sampling?.within(stretch) ?? null);
      const scale = Math.max(1, ...figures.flatMap(each => (each ? [each.count, each.expected + 2 * each.sigma] : [])));
      stretches.forEach((stretch, place) =>
        update_row(rows[place], stretch, look_of(stretch, place), figures[place], scale),
      );
    },
  };
}

function create_row() {
  const swatch = element('span', { 'aria-hidden': 'true' });
  const label = element('span', { class: 'dv-token' });
  const prob = element('td', { class: 'dv-figure' });
  const drawn = element('span', { class: 'dv-figure' });
  const expected = element('td', { class: 'dv-figure' });
  const gauge = element(
    'span',
    { class: 'dv-gauge', 'aria-hidden': 'true' },
    ...['band', 'count', 'mean'].map(part => element('i', { class: `dv-gauge-${part}` })),
  );
  const tr = element(
    'tr',
    {},
    element('th', { scope: 'row' }, swatch, label),
    prob,
    element('td', {}, drawn, gauge),
    expected,
  );
  return { swatch, label, prob, drawn, expected, gauge, tr };
}

/**
 * @param {ReturnType<typeof create_row>} row
 * @param {Stretch} stretch
 * @param {string} look
 * @param {{count: number, expected: number, sigma: number}|null} figures
 * @param {number} scale
 */
function update_row(row, stretch, look, figures, scale) {
  const is_outside = figures !== null && Math.abs(figures.count - figures.expected) > 2 * figures.sigma;
  set_class(row.tr, `${stretch.is_hit ? 'chosen' : ''} ${is_outside ? 'dv-outside' : ''}`.trim());
  set_class(row.swatch, `dv-draw-swatch dv-stretch dv-stretch-${look}`);
  set_text(row.label, shorten(stretch.label, LONGEST_TITLE));
  set_text(row.prob, percent(stretch.to - stretch.from));
  set_text(row.drawn, figures ? count(figures.count) : '');
  set_text(row.expected, figures ? `${rounded(figures.expected)} ± ${rounded(2 * figures.sigma)}` : '');
  row.gauge.classList.toggle('dv-hidden', !figures);
  if (!figures) return;
  const { expected, sigma } = figures;
  const places = {
    count: figures.count,
    mean: expected,
    low: Math.max(0, expected - 2 * sigma),
    high: expected + 2 * sigma,
  };
  for (const [name, value] of Object.entries(places))
    row.gauge.style.setProperty(`--${name}`, (value / scale).toFixed(5));
}

/** @param {number} number */
const rounded = number => (number < 10 ? with_figures(number.toFixed(1)) : count(number));
