// A sampler's rule as a small picture, drawn from its report: the leading tokens, the removed ones, its threshold or
// share.

import { set_attribute, svg } from '../../lib/dom.js';
import { say } from '../../words/say.js';

/** @import { Sampler, SamplerView, View } from '../../types.js' */

const WIDTH = 240;
const HEIGHT = 70;
const FLOOR = HEIGHT - 2;
const TOP = 4;
// Ranks at which a bar ends: first single ranks, then ever wider ranges, so that rank 3 and rank 200 both have a place.
const BARS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128, 160, 200, 256];
const SHOWN_MOVES = 8;

let made_so_far = 0; // patterns are found by id, and a page holds many pictures

/** @param {number} value */
const number = value => String(Math.round(value * 100) / 100);
/** @param {number} left @param {number} right @param {number} top */
const box = (left, right, top) => `M${number(left)} ${number(top)}H${number(right)}V${FLOOR}H${number(left)}z`;
/** @param {number} share of the highest */
const y_of = share => FLOOR - Math.min(1, Math.max(0, share)) * (FLOOR - TOP);

/**
 * Value of a curve at a rank; its ranks are exact up to 100 and log-spaced beyond.
 *
 * @param {number[]} ranks
 * @param {number[]} values
 * @param {number} rank
 */
function at_rank(ranks, values, rank) {
  const place = ranks.findIndex(each => each >= rank);
  return values[place < 0 ? values.length - 1 : place];
}

/**
 * The place of a sampler's threshold on the curve. The threshold applies to the tokens left by earlier samplers; the
 * curve covers all tokens before the first cut. Null without a threshold, or if scores changed in between.
 * @param {View} view
 * @param {SamplerView} shown
 */
function level_of({ samplers, ranked }, shown) {
  const { threshold } = shown.figures;
  const on = samplers.filter(sampler => sampler.on);
  const place = on.indexOf(shown);
  const between = on.slice(Math.min(place, ranked), Math.max(place, ranked));
  const is_of_another = between.some(each => each.changes_scores || (place < ranked && each.mass_removed > 0));
  if (typeof threshold !== 'number' || is_of_another) return null;
  return between.reduce((level, { mass_removed }) => level * (1 - mass_removed), threshold);
}

/** Bars of the leading tokens, kept and removed. @param {View} view @param {SamplerView} shown */
function bars(view, shown) {
  const { curve } = view;
  const pitch = WIDTH / BARS.length;
  const highest = Math.max(curve.prob[0], 1e-300);
  const paths = { kept: '', removed: '', stop: '' };
  let start = 1;
  BARS.forEach((end, place) => {
    const height = at_rank(curve.ranks, curve.prob, start) / highest;
    const is_kept =
      shown.first_rank === null || shown.last_rank === null || (start >= shown.first_rank && start <= shown.last_rank);
    paths[is_kept ? 'kept' : 'removed'] += box(
      place * pitch + 1,
      (place + 1) * pitch - 1,
      Math.min(y_of(height), FLOOR - 1),
    );
    start = end + 1;
  });
  const level = level_of(view, shown);
  if (level !== null) paths.stop = `M0 ${number(y_of(level / highest))}H${WIDTH}`;
  return paths;
}

/** The running sum as a staircase, and the kept share. @param {View} view @param {SamplerView} shown */
function staircase(view, shown) {
  const { curve, mass_lines } = view;
  const pitch = WIDTH / BARS.length;
  const steps = BARS.map(
    (end, place) =>
      `${place ? 'L' : 'M'}${number(place * pitch)} ${number(y_of(at_rank(curve.ranks, curve.cumulative, end)))}H${number((place + 1) * pitch)}`,
  );
  const level = mass_lines.find(({ name }) => name === shown.name)?.level ?? null;
  return {
    ...bars(view, shown),
    line: steps.join(''),
    stop: level === null ? '' : `M0 ${number(y_of(level))}H${WIDTH}`,
  };
}

/** Moved scores, each with an arrow from its old place. @param {View} _view @param {SamplerView} shown */
function moves(_view, { moved }) {
  const all = moved.slice(0, SHOWN_MOVES);
  const finite = all.flatMap(({ from, to }) => [from, to]).filter(Number.isFinite);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const share = (/** @type {number} */ score) =>
    Number.isFinite(score) ? 0.1 + (0.85 * (score - low)) / (high - low || 1) : 0;
  const pitch = WIDTH / SHOWN_MOVES;
  const paths = { before: '', kept: '', stop: '' };
  all.forEach(({ from, to }, place) => {
    const [left, middle] = [place * pitch + 2, (place + 0.5) * pitch];
    paths.before += box(left, left + pitch - 4, y_of(share(from)));
    paths.kept += box(left + 4, left + pitch - 8, Math.min(y_of(share(to)), FLOOR - 0.5));
    paths.stop += `M${number(middle)} ${number(y_of(share(from)))}V${number(y_of(share(to)))}`;
  });
  return paths;
}

/** The model's own curve, drawn behind the shaped one. @param {View} view */
function curves({ curve }) {
  const highest = Math.max(curve.prob[0], curve.model_prob[0], 1e-300);
  const pitch = WIDTH / BARS.length;
  const path = (/** @type {number[]} */ values) =>
    BARS.map(
      (end, place) =>
        `${place ? 'L' : 'M'}${number((place + 0.5) * pitch)} ${number(y_of(at_rank(curve.ranks, values, end) / highest))}`,
    ).join('');
  return { before_line: path(curve.model_prob), line: path(curve.prob) };
}

/** @type {Record<Sampler['picture'], (view: View, shown: SamplerView) => Record<string, string>>} */
const PICTURES = { rank: bars, window: bars, threshold: bars, mass: staircase, edit: moves, scale: curves };
const PATHS = ['before', 'kept', 'removed', 'before_line', 'line', 'stop'];

/** The picture: `node`, and `update(view, shown)`; empty without the sampler's results. @param {Sampler} sampler */
export function rule_picture({ picture, label }) {
  const hatch = `dv-rule-hatch-${made_so_far++}`;
  const paths = Object.fromEntries(PATHS.map(name => [name, svg('path', { class: `dv-rule-${name}`, d: '' })]));
  paths.removed.setAttribute('fill', `url(#${hatch})`);
  const node = svg(
    'svg',
    {
      class: 'dv-rule-picture',
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: 'img',
      'aria-label': say('What {sampler} does to this step', { sampler: label }),
    },
    svg(
      'defs',
      {},
      svg(
        'pattern',
        { id: hatch, width: 4, height: 4, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
        svg('rect', { width: 2, height: 4, class: 'dv-rule-stripe' }),
      ),
    ),
    ...Object.values(paths),
  );
  return {
    node,
    /** @param {View|null} view @param {SamplerView|null} shown */
    update(view, shown) {
      const found = view && shown ? PICTURES[picture](view, shown) : {};
      for (const name of PATHS) set_attribute(paths[name], 'd', found[name] ?? '');
    },
  };
}
