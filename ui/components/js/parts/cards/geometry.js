// The small pictures on the stage cards: what each stage does to this step's own distribution.
// A state of tokens is one path, so that a picture changes with three or four attribute writes.

import { set_attribute, svg } from '../../lib/dom.js';
import { box, HEIGHT, number, WIDTH } from './geometry_bars.js';
import { CUT_SHAPES } from './geometry_cuts.js';
import { EDIT_SHAPES } from './geometry_edits.js';

const SHAPES = { ...EDIT_SHAPES, ...CUT_SHAPES };
const SHOWN_SEGMENTS = 12;

let made_so_far = 0; // patterns are found by id, and a page may hold more than one picture

/** An empty picture: paths by class, from back to front, and the hatch for what is removed. */
function frame(name, classes) {
  const hatch = `dv-hatch-${name}-${made_so_far++}`;
  const pattern = svg(
    'pattern',
    { id: hatch, width: 4, height: 4, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    svg('rect', { width: 4, height: 4, class: 'dv-geo-paper' }),
    svg('rect', { width: 2, height: 4, class: 'dv-geo-stripe' }),
  );
  const paths = {};
  for (const each of classes) {
    paths[each] = svg('path', { class: `dv-geo-${each}`, d: '' });
    if (each === 'removed') paths[each].setAttribute('fill', `url(#${hatch})`);
  }
  const node = svg(
    'svg',
    { class: 'dv-geo', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true', 'data-picture': name },
    svg('defs', {}, pattern),
    ...Object.values(paths),
  );
  const draw = shapes => {
    for (const each of classes) set_attribute(paths[each], 'd', shapes[each] ?? '');
  };
  return { node, draw };
}

/** Where a row lies on the final cumulative, or null where the rows do not reach it. */
function stretch_of(view, id) {
  let from = 0;
  for (const row of view.rows) {
    const share = row.final_prob ?? 0;
    if (row.id === id) return share > 0 ? [from, from + share] : null;
    from += share;
  }
  return null;
}

/** The final distribution as one bar, a segment a token, and a needle at u. */
function draw_shapes(view, hit, needle) {
  const [top, floor] = [13, 29];
  const shapes = { even: '', odd: '', removed: '', chosen: '', edge: '', needle: '' };
  let from = 0;
  for (const [index, row] of view.rows.slice(0, SHOWN_SEGMENTS).entries()) {
    const share = row.final_prob ?? 0;
    if (share <= 0) continue;
    const [left, right] = [from * WIDTH, Math.min(WIDTH, (from + share) * WIDTH)];
    shapes[index % 2 ? 'odd' : 'even'] += box(left, right, top, floor);
    from += share;
    if (right < WIDTH - 0.5) shapes.edge += `M${number(right)} ${top}V${floor}`;
  }
  if (from > 0) shapes.removed = box(Math.min(WIDTH, from * WIDTH), WIDTH, top, floor); // all others together
  const stretch = hit && (hit.from === undefined ? stretch_of(view, hit.id) : [hit.from, hit.to]);
  if (stretch) {
    const left = Math.min(stretch[0] * WIDTH, WIDTH - 1.5);
    shapes.chosen = box(left, Math.max(stretch[1] * WIDTH, left + 1.5), top, floor);
  }
  if (needle !== null) {
    const x = Math.min(Math.max(needle * WIDTH, 0.5), WIDTH - 0.5);
    const head = `M${number(x)} ${top - 1}l-4.5 -9h9z`;
    shapes.needle = `${head}M${number(x - 0.6)} ${top - 1}h1.2V${floor + 3}h-1.2z`;
  }
  return shapes;
}

/** The picture of a stage: `node`, and `update(view, stage, applied)`; not applied shows what comes in. */
export function stage_picture(name) {
  const [shapes_of, classes] = SHAPES[name];
  const { node, draw } = frame(name, classes);
  const update = (view, stage, applied) => draw(view?.rows.length ? shapes_of(view, stage, applied) : {});
  return { node, update };
}

/** The picture of the draw: `update(view, hit, u)`; `hit` has an id, `from` and `to` where known. */
export function draw_picture() {
  const { node, draw } = frame('draw', ['even', 'odd', 'removed', 'chosen', 'edge', 'needle']);
  return { node, update: (view, hit, u) => draw(view ? draw_shapes(view, hit, u) : {}) };
}
