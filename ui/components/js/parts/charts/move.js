// Moving the bars and lines of a drawn figure, without Plotly: the same paths, in a tenth of the time. Plotly's own
// state, hence its hover boxes, is then behind the picture until its next redraw.

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

/** @param {any} data with a gap after each line @param {{x: any, y: any}} axes */
function line_paths({ x, y }, axes) {
  /** @type {string[][]} */
  const lines = [[]];
  x.forEach((/** @type {number|null} */ place, /** @type {number} */ index) => {
    if (place === null || y[index] === null) lines.push([]);
    else lines.at(-1)?.push([axes.x.c2p(place), axes.y.c2p(y[index])].map(written).join());
  });
  return lines.filter(points => points.length).map(points => `M${points.join('L')}`);
}

/**
 * Move a figure to new values, if it has an element for each of them.
 * @param {any} layer drawn by Plotly
 * @param {any[]} data for each trace, as for `Plotly.animate`; bars and straight lines on linear axes
 * @returns {boolean} whether the figure now shows the values
 */
export function move(layer, data) {
  /** @type {[Element, string][]} */
  const moves = [];
  for (const [index, values] of data.entries()) {
    const full = layer._fullData[index];
    if (full.type === 'scatter' && full.line.width === 0) continue; // only for hover boxes
    const group = layer.calcdata[index]?.[0]?.node3?.node();
    if (!group) return false;
    const [x, y] = [full.xaxis, full.yaxis].map(id => layer._fullLayout[axis_key(id[0], Number(id.slice(1) || 1))]);
    const paths = full.type === 'bar' ? bar_paths(values, full, { x, y }) : line_paths(values, { x, y });
    const nodes = Array.from(group.querySelectorAll('path'));
    if (paths.length > nodes.length) return false;
    nodes.forEach((node, place) => moves.push([node, paths[place] ?? NOTHING]));
  }
  for (const [node, path] of moves) if (node.getAttribute('d') !== path) node.setAttribute('d', path);
  return true;
}
