// How the four charts of a step's distribution look: what stands around each plot, its axes, colours, patterns.

import { stage_name } from '../../words/format.js';
import { faded, on, reader } from '../../lib/plotly.js';

const KEPT = { look: 'kept', text: 'kept' };
const REMOVED = { look: 'removed', text: 'removed' };
const CHOSEN = { look: 'chosen', text: 'chosen' };

/** What is on the page around each plot. */
export const figures = [
  {
    key: 'logits',
    name: 'Logits',
    y_title: 'score',
    x_title: 'token',
    has_token_labels: true,
    legend: [KEPT, REMOVED, CHOSEN],
  },
  {
    key: 'softmax',
    name: 'Softmax',
    y_title: 'probability',
    x_title: 'token',
    has_token_labels: true,
    legend: [
      KEPT,
      REMOVED,
      CHOSEN,
      { look: 'before', text: 'before: T = 1, nothing cut' },
      { look: 'final', text: 'in the draw' },
    ],
  },
  {
    key: 'cumulative',
    name: 'Cumulative probability',
    y_title: 'running sum',
    x_title: 'rank',
    legend: [
      { look: 'line-before', text: 'before the cuts' },
      { look: 'line-kept', text: 'in the draw' },
      { look: 'line-cut', text: stage_name('top_k') },
      { look: 'line-cut-2', text: stage_name('top_p') },
      { look: 'line-muted', text: stage_name('min_p') },
      { look: 'line-chosen', text: 'u' },
    ],
  },
  {
    key: 'rank_curve',
    name: 'Rank curve',
    y_title: 'probability',
    x_title: 'rank',
    legend: [
      { look: 'line-before', text: 'T = 1, nothing cut' },
      { look: 'line-kept', text: 'kept' },
      { look: 'tail', text: 'removed' },
      { look: 'dot-chosen', text: 'chosen' },
    ],
  },
];

/** Which axes lie in which figure; `from` and `to` are shares of its width. */
export const subplots = [
  { figure: 'logits', number: 1, from: 0, to: 1, zooms: false },
  { figure: 'softmax', number: 2, from: 0, to: 1, zooms: false },
  { figure: 'cumulative', number: 3, from: 0, to: 1, zooms: true },
  { figure: 'rank_curve', number: 4, from: 0, to: 1, zooms: true },
];

const bars = (number, name, marker, more = {}) =>
  on(number, { type: 'bar', name, marker, width: 0.78, hoverinfo: 'skip', ...more });

const line = (number, name, style, more = {}) =>
  on(number, { type: 'scatter', mode: 'lines', name, line: style, hoverinfo: 'skip', ...more });

const vertical_styles = (number, look) => [
  line(number, stage_name('top_k'), { color: look.cut, width: 2, dash: 'dash' }),
  line(number, stage_name('top_p'), { color: look.cut_2, width: 2, dash: 'dot' }),
  line(number, stage_name('min_p'), { color: look.muted, width: 2, dash: 'dashdot' }),
];

/**
 * What never changes while stepping: type, axes, colours and patterns of every trace.
 * The colours must be fixed per trace, because `Plotly.animate` does not restyle bars.
 */
export function styles(look) {
  const hatch = (shape, colour, ground) => ({
    shape,
    fillmode: 'replace',
    fgcolor: colour,
    bgcolor: ground,
    size: 6,
    solidity: 0.42,
  });
  const kept = { color: look.kept };
  const removed = {
    color: look.removed,
    line: { color: look.before, width: 1 },
    pattern: hatch('/', look.before, faded(look.removed, 0.18)),
  };
  const chosen = {
    color: look.chosen,
    line: { color: look.text, width: 1.5 },
    pattern: hatch('x', faded(look.text, 0.55), look.chosen),
  };
  const states = number => [
    bars(number, 'kept', kept),
    bars(number, 'removed', removed),
    bars(number, 'chosen', chosen),
  ];
  const before = { color: look.before, width: 1.5, dash: 'dash' };
  return [
    ...states(1),
    reader(1),
    line(
      2,
      'before: T = 1, nothing cut',
      { color: look.before, width: 1 },
      { fill: 'tozeroy', fillcolor: faded(look.before, 0.16) },
    ),
    ...states(2),
    line(2, 'in the draw', { color: look.text, width: 2 }),
    reader(2),
    line(3, 'before the cuts', { ...before, shape: 'hv' }, { hoverinfo: 'text' }),
    line(3, 'in the draw', { color: look.kept, width: 2, shape: 'hv' }),
    ...vertical_styles(3, look),
    line(
      3,
      'u',
      { color: look.chosen, width: 2 },
      {
        mode: 'lines+markers',
        cliponaxis: false,
        marker: {
          symbol: 'diamond',
          opacity: 1,
          size: [0, 11, 0],
          color: look.chosen,
          line: { color: look.text, width: [0, 1.5, 0] },
        },
      },
    ),
    line(
      4,
      'removed',
      { color: look.before, width: 2, dash: 'dot' },
      {
        fill: 'toself',
        fillcolor: faded(look.removed, 0.3),
        fillpattern: {
          shape: '/',
          fgcolor: look.removed,
          bgcolor: faded(look.removed, 0.12),
          size: 8,
          solidity: 0.25,
        },
      },
    ),
    line(4, 'T = 1, nothing cut', before, { hoverinfo: 'text' }),
    line(4, 'kept', { color: look.kept, width: 2.5 }),
    // A line through one point is nothing to see; larger than the diamond that may lie on it.
    on(4, {
      type: 'scatter',
      mode: 'markers',
      name: 'kept',
      hoverinfo: 'skip',
      cliponaxis: false,
      showlegend: false,
      marker: { symbol: 'circle', size: 18, color: look.kept },
    }),
    ...vertical_styles(4, look),
    on(4, {
      type: 'scatter',
      mode: 'markers',
      name: 'chosen',
      hoverinfo: 'skip',
      cliponaxis: false,
      marker: { symbol: 'diamond', size: 11, color: look.chosen, line: { color: look.text, width: 1.5 } },
    }),
  ];
}
