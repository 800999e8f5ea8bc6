// Pictures of the stages that remove tokens: what each compares with what.

import {
  at_rank, bar_ends, bar_starts, BARS, bars_of, box, cut_place, FLOOR, level, linear_heights, log_heights,
  number, rank_line, WIDTH, windows_of, y_of,
} from './geometry_bars.js';

const CONSIDERED = 100; // by top-H
const MOST_TICKS = 6;

const total = values => values.reduce((sum, value) => sum + value, 0);

/** A vertical line after the k-th. */
function top_k(view, stage, applied) {
  const { ends, paths, race } = bars_of(view, stage, applied);
  return applied ? { ...paths, cut: rank_line(race[0] - 1 + stage.value, ends) } : paths;
}

/** A level line at the share of the leader that a token needs. */
function min_p(view, stage, applied) {
  const { heights, paths, race } = bars_of(view, stage, applied);
  if (!applied) return paths;
  const leader = heights[race[0] - 1] ?? heights.at(-1);
  return { ...paths, cut: level(stage.value * leader) };
}

/** A level line at a probability; the bars by their logarithm, as the threshold is far below the leader. */
function threshold(view, stage, applied) {
  const least = stage.figures.threshold;
  const scale = probs => log_heights(probs, applied ? least : 1);
  const { height_of, paths } = bars_of(view, stage, applied, scale);
  return applied ? { ...paths, cut: level(height_of(least)) } : paths;
}

/** The threshold, and the head above it taken off. */
function xtc(view, stage, applied) {
  const { height_of, paths } = bars_of(view, stage, applied, linear_heights);
  return applied ? { ...paths, cut: level(height_of(stage.figures.threshold)) } : paths;
}

/** Surprise by rank: the level of the entropy, and the band of ranks around it. */
function typical_p(view, stage, applied) {
  const typical = applied ? 2 ** -stage.figures.entropy : 1;
  const scale = probs => log_heights(probs, typical);
  const { ends, height_of, paths, kept } = bars_of(view, stage, applied, scale);
  if (!applied) return paths;
  const edges = [kept[0] - 1, kept[1]].filter(rank => rank > 0 && rank < view.vocab);
  return {
    ...paths, line: level(height_of(typical)), cut: edges.map(rank => rank_line(rank, ends)).join(''),
  };
}

/** Surprise by rank: mu, the most that passes, and tau, what is aimed at. */
function mirostat(view, stage, applied) {
  const { surprise_limit, tau } = applied ? stage.figures : { surprise_limit: 0, tau: 0 };
  const least = 2 ** -Math.max(surprise_limit, tau);
  const { height_of, paths } = bars_of(view, stage, applied, probs => log_heights(probs, least));
  if (!applied) return paths;
  return { ...paths, cut: level(height_of(2 ** -surprise_limit)), line: level(height_of(2 ** -tau)) };
}

/** Scores below the highest one: a tick for each standard deviation, a line at the n-th. */
function top_n_sigma(view, stage, applied) {
  const { ranks, probs } = view.curve;
  const [, last] = windows_of(view, stage, applied).kept;
  // Between the last that stays and the next: right in any unit, whatever temperature comes later.
  const edge = rank => at_rank(ranks, probs, Math.min(rank, ranks.at(-1)));
  const least = Math.sqrt(edge(last) * Math.max(edge(last + 1), 1e-300));
  const scale = all => log_heights(all, applied ? least : 1);
  const { heights, height_of, paths, race } = bars_of(view, stage, applied, scale);
  if (!applied) return paths;
  const bottom = y_of(height_of(least));
  const top = y_of(heights[race[0] - 1] ?? heights.at(-1));
  const pitch = (bottom - top) / stage.value;
  const shapes = { ...paths, cut: `M0 ${number(bottom)}H${WIDTH}`, line: '' };
  for (let tick = 0; tick <= Math.min(stage.value, MOST_TICKS) + 1e-9; tick++) {
    shapes.line += `M${WIDTH - 9} ${number(top + tick * pitch)}H${WIDTH}`;
  }
  return { ...shapes, line: `${shapes.line}M${WIDTH - 1} ${number(top)}V${number(bottom)}` };
}

/** How much the sorted curve bends at each rank, under the curve itself. */
function tail_free(view, stage, applied) {
  const { ranks, probs } = view.curve;
  const at = rank => at_rank(ranks, probs, Math.min(rank, ranks.at(-1)));
  const starts = bar_starts(bar_ends(view.vocab));
  const bends = starts.map(rank => Math.abs(at(rank) - 2 * at(rank + 1) + at(rank + 2)));
  const most = Math.max(...bends, 1e-300);
  const scale = () => ({ heights: bends.map(bend => bend / most), height_of: bend => bend / most });
  const { ends, paths, kept } = bars_of(view, stage, applied, scale);
  const { heights } = linear_heights(starts.map(at));
  const pitch = WIDTH / starts.length;
  const points = heights.map((height, place) => `${number((place + 0.5) * pitch)} ${number(y_of(height))}`);
  const shapes = { ...paths, line: `M${points.join('L')}` };
  return applied && kept[1] < view.vocab ? { ...shapes, cut: rank_line(kept[1], ends) } : shapes;
}

/** A rising staircase, a limit across it, and the steps below the limit kept. */
function staircase({ ends, sums, race_end, kept_place, limit }) {
  const pitch = WIDTH / ends.length;
  const kept_x = (kept_place / ends.length) * WIDTH;
  const shapes = { kept: '', removed: '', line: '', cut: limit === null ? '' : level(limit) };
  for (const [place, end] of ends.entries()) {
    const [left, right] = [place * pitch, (place + 1) * pitch];
    const top = y_of(sums[place]);
    const middle = Math.min(right, Math.max(left, kept_x));
    shapes.kept += box(left, middle, top, FLOOR);
    shapes.removed += box(middle, right, top, FLOOR);
    shapes.line += `${place ? 'V' : `M0 ${FLOOR}V`}${number(top)}H${number(right)}`;
    if (end >= race_end) break;
  }
  return shapes;
}

/** The cumulative staircase of the tokens in the race, with a line at p. */
function top_p(view, stage, applied) {
  const { kept, race } = windows_of(view, stage, applied);
  const doublings = [];
  for (let end = 512; end < view.vocab; end *= 2) doublings.push(end);
  const ends = bar_ends(view.vocab, [...BARS, ...doublings, view.vocab]);
  const { ranks, cumulative } = view.curve;
  const at = rank => (rank < 1 ? 0 : at_rank(ranks, cumulative, Math.min(rank, ranks.at(-1))));
  const before = at(race[0] - 1);
  const whole = at(race[1]) - before || 1;
  const sums = ends.map(end => Math.max(0, at(Math.min(end, race[1])) - before) / whole);
  return staircase({
    ends, sums, race_end: race[1], limit: applied ? stage.value : null,
    kept_place: applied ? cut_place(kept[1], ends) : ends.length,
  });
}

/** The same of the entropy that the leading tokens make up, with a line at the share that they may. */
function top_h(view, stage, applied) {
  const { kept, race } = windows_of(view, stage, applied);
  const { ranks, probs } = view.curve;
  const last = Math.min(race[0] + CONSIDERED - 1, race[1], view.vocab);
  const own = [];
  for (let rank = race[0]; rank <= last; rank++) {
    own.push(at_rank(ranks, probs, Math.min(rank, ranks.at(-1))));
  }
  const mass = total(own) || 1;
  const terms = own.map(prob => (prob > 0 ? -(prob / mass) * Math.log(prob / mass) : 0));
  const whole = total(terms) || 1;
  const ends = bar_ends(view.vocab).filter(end => end < last);
  ends.push(last);
  const sums = ends.map(end => total(terms.slice(0, Math.max(0, end - race[0] + 1))) / whole);
  return staircase({
    ends, sums, race_end: last, limit: applied ? stage.value : null,
    kept_place: applied ? cut_place(Math.min(kept[1], last), ends) : ends.length,
  });
}

const BAR_CLASSES = ['gone', 'removed', 'kept', 'cut'];
const BAR_LINE_CLASSES = ['gone', 'removed', 'kept', 'line', 'cut'];
const STAIR_CLASSES = ['removed', 'kept', 'line', 'cut'];

/** By name: (view, stage, applied) -> paths by class, and the classes from back to front. */
export const CUT_SHAPES = {
  top_h: [top_h, STAIR_CLASSES],
  top_k: [top_k, BAR_CLASSES],
  top_p: [top_p, STAIR_CLASSES],
  min_p: [min_p, BAR_CLASSES],
  typical_p: [typical_p, BAR_LINE_CLASSES],
  epsilon_cutoff: [threshold, BAR_CLASSES],
  eta_cutoff: [threshold, BAR_CLASSES],
  top_n_sigma: [top_n_sigma, BAR_LINE_CLASSES],
  tail_free: [tail_free, BAR_LINE_CLASSES],
  xtc: [xtc, BAR_CLASSES],
  mirostat: [mirostat, BAR_LINE_CLASSES],
};
