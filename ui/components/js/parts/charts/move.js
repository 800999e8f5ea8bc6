// Moving the bars, lines and filled surfaces of a drawn figure, without Plotly: the same paths, in a tenth of the time.
// Plotly's own state, hence its hover boxes, is then behind the picture until its next redraw.

import { axis_key } from '../../lib/plotly.js';

const NOTHING = 'M0,0Z';
const THINNEST_PX = 2; // a thinner opaque bar is widened to whole pixels, as Plotly does

/** @param {number} pixels */
const written = pixels => String(Math.round(pixels * 100) / 100);

/** @param {number} end @param {number} base */
function visible(end, base) {
  if (end === base || Math.abs(end - base) >= THINNEST_PX) return end;
  return end > base ? Math.ceil(end) : Math.floor(end);
}

/** @param {any} data @param {any} full @param {{x: any, y: any}} axes */
function bar_paths({ x, y, base = 0 }, full, axes) {
  const bottom = axes.y.c2p(base);
  const end_of = full.marker.color.startsWith('rgba') ? (/** @type {number} */ end) => end : visible;
  return x.map((/** @type {number} */ place, /** @type {number} */ index) => {
    const [left, right] = [-1, 1].map(side => written(axes.x.c2p(place + (side * full.width) / 2)));
    const top = y[index] === null ? bottom : axes.y.c2p(base + y[index]);
    const from = end_of(bottom, top);
    return `M${left},${written(from)}V${written(end_of(top, from))}H${right}V${written(from)}Z`;
  });
}

/**
 * The paths of the lines, after that of the surface below them if there is one.
 * @param {any} data with a gap after each line
 * @param {any} full
 * @param {{x: any, y: any}} axes
 */
function line_paths({ x, y }, full, axes) {
  /** @type {number[][][]} */
  const lines = [[]];
  x.forEach((/** @type {number|null} */ place, /** @type {number} */ index) => {
    if (place === null || y[index] === null) lines.push([]);
    else lines.at(-1)?.push([axes.x.c2p(place), axes.y.c2p(y[index])]);
  });
  const join = full.line.shape === 'hvh' ? in_steps : straight;
  const paths = lines.filter(points => points.length).map(points => `M${points[0].map(written)}${join(points)}`);
  if (full.fill !== 'tozeroy') return paths;
  const [first, last] = [lines[0][0], lines[0].at(-1)];
  const ground = written(axes.y.c2p(0));
  return last
    ? [`M${written(last[0])},${ground}L${written(first[0])},${ground}L${paths[0].slice(1)}`, ...paths]
    : [NOTHING];
}

/** @param {number[][]} points */
const straight = points =>
  points
    .slice(1)
    .map(point => `L${point.map(written)}`)
    .join('');

/** With its steps halfway between the points. @param {number[][]} points */
const in_steps = points =>
  points
    .slice(1)
    .map(([x, y], place) => `H${written((points[place][0] + x) / 2)}V${written(y)}H${written(x)}`)
    .join('');

/** @param {any} values @param {any} others */
const is_same = (values, others) =>
  ['x', 'y', 'base', 'hovertext'].every(name => String(values[name]) === String(others[name]));

/**
 * Move a figure to new values, if it has an element for each of them.
 * @param {any} layer drawn by Plotly
 * @param {any[]} data for each trace, as for `Plotly.animate`; bars, lines and surfaces on linear axes
 * @returns {boolean | null} whether a value or a hover box differs from what Plotly drew; null if it cannot move
 */
export function move(layer, data) {
  /** @type {[Element, string][]} */
  const moves = [];
  let differs = false;
  for (const [index, values] of data.entries()) {
    const full = layer._fullData[index];
    /** @type {boolean} */
    const is_other = (full.mode === 'markers' || !differs) && !is_same(values, layer.data[index]);
    differs ||= is_other;
    if (full.mode === 'markers' && is_other) return null;
    if (full.mode === 'markers') continue;
    if (full.type === 'scatter' && full.line.width === 0 && full.fill === 'none') continue; // only for hover boxes
    const group = layer.calcdata[index]?.[0]?.node3?.node();
    if (!group) return null;
    const [x, y] = [full.xaxis, full.yaxis].map(id => layer._fullLayout[axis_key(id[0], Number(id.slice(1) || 1))]);
    const paths = full.type === 'bar' ? bar_paths(values, full, { x, y }) : line_paths(values, full, { x, y });
    const nodes = Array.from(group.querySelectorAll('path'));
    if (paths.length > nodes.length) return null;
    nodes.forEach((node, place) => moves.push([node, paths[place] ?? NOTHING]));
  }
  for (const [node, path] of moves) if (node.getAttribute('d') !== path) node.setAttribute('d', path);
  return differs;
}
