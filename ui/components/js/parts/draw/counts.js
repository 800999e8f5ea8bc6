// What is in the draw as a table: tokens, probabilities and, after many draws, counts over what is expected.

import { element, set_class, set_text } from '../../lib/dom.js';
import { look_of } from './bar.js';
import { count, percent, shorten } from '../../words/format.js';
import { MOST_STRETCHES } from '../../kernel/sampling.js';

const LONGEST_TITLE = 120;

/** The table `Stretches`: `node`, and `update(stretches, sampling)`; without draws `sampling` is null. */
export function create_counts() {
  const rows = Array.from({ length: MOST_STRETCHES }, create_row); // all of them: stepping makes no elements
  const body = element('tbody', {}, ...rows.map(row => row.tr));
  const head = text => element('th', { scope: 'col', text });
  const heads = ['Token', 'Probability', 'Drawn', 'Expected ± 2σ'].map(head);
  const node = element(
    'table',
    { class: 'dv-draw-counts', 'aria-label': 'Stretches' },
    element('thead', {}, element('tr', {}, ...heads)),
    body,
  );

  function update(stretches, sampling) {
    rows.slice(stretches.length).forEach(row => set_class(row.tr, 'dv-hidden'));
    const figures = sampling && stretches.map(stretch => sampling.within(stretch));
    const ends = (figures ?? []).flatMap(each => [each.count, each.expected + 2 * each.sigma]);
    const scale = Math.max(1, ...ends);
    stretches.forEach((stretch, place) => {
      update_row(rows[place], stretch, look_of(stretch, place), figures?.[place], scale);
    });
  }

  return { node, update };
}

function create_row() {
  const row = {
    swatch: element('span', { 'aria-hidden': 'true' }),
    label: element('span', { class: 'dv-token' }),
    mark: element('span', { class: 'dv-draw-hit-mark' }),
    prob: element('td', { class: 'dv-draw-number' }),
    drawn: element('span', { class: 'dv-draw-number' }),
    expected: element('td', { class: 'dv-draw-number' }),
    gauge: element('span', { class: 'dv-draw-gauge', 'aria-hidden': 'true' }),
  };
  row.gauge.append(...['band', 'count', 'mean'].map(part => element('i', { class: `dv-gauge-${part}` })));
  row.tr = element(
    'tr',
    {},
    element('th', { scope: 'row' }, row.swatch, row.label, row.mark),
    row.prob,
    element('td', { class: 'dv-draw-drawn' }, row.drawn, row.gauge),
    row.expected,
  );
  return row;
}

function update_row(row, stretch, look, figures, scale) {
  const is_outside = figures && Math.abs(figures.count - figures.expected) > 2 * figures.sigma;
  set_class(row.tr, `${stretch.is_hit ? 'dv-draw-hit' : ''} ${is_outside ? 'dv-draw-outside' : ''}`.trim());
  set_class(row.swatch, `dv-draw-swatch dv-stretch-${look}`);
  set_text(row.label, shorten(stretch.label, LONGEST_TITLE));
  if (row.label.title !== stretch.label) row.label.title = stretch.label;
  set_text(row.mark, stretch.is_hit ? '◂ u' : '');
  set_text(row.prob, percent(stretch.to - stretch.from));
  set_text(row.drawn, figures ? count(figures.count) : '');
  set_text(row.expected, figures ? `${rounded(figures.expected)} ± ${rounded(2 * figures.sigma)}` : '');
  row.gauge.classList.toggle('dv-draw-away', !figures);
  if (!figures) return;
  const { expected, sigma } = figures;
  const places = {
    count: figures.count,
    mean: expected,
    low: Math.max(0, expected - 2 * sigma),
    high: expected + 2 * sigma,
  };
  for (const [name, value] of Object.entries(places)) {
    row.gauge.style.setProperty(`--${name}`, (value / scale).toFixed(5));
  }
}

const rounded = number => (number < 10 ? number.toFixed(1) : count(number));
