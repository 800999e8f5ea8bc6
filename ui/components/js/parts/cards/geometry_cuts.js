// Pictures of the stages that remove tokens: what each compares with what.

import {
  bar_ends,
  bar_starts,
  BARS,
  bars_of,
  box,
  cut_place,
  FLOOR,
  level,
  linear_heights,
  log_heights,
  number,
  rank_line,
  WIDTH,
  y_of,
} from './geometry_bars.js';
import { found_by } from './geometry_race.js';

const CONSIDERED = 100; // by top-H
const MOST_TICKS = 6;

const total = values => values.reduce((sum, value) => sum + value, 0);

/** A vertical line after the k-th. */
function top_k(view, stage, applied) {
  const found = found_by(view, stage, applied);
  const { ends, paths } = bars_of(view, found);
  return applied ? { ...paths, cut: rank_line(found.race[0] - 1 + stage.value, ends) } : paths;
}

/**
 * A threshold between two ranks, as it is where it tells them apart, else half-way on a logarithmic scale: one
 * token stays though it is below, and scores that were edited on the way lie elsewhere than the bars.
 */
function between(found, rank, threshold) {
  const above = found.at(rank);
  if (rank >= found.race[1]) return Math.min(threshold, above);
  const below = found.at(rank + 1);
  const is_told = threshold <= above && threshold > below;
  return is_told ? threshold : Math.sqrt(above * Math.max(below, 1e-300));
}

/** A level line at the share of the leader that a token needs. */
function min_p(view, stage, applied) {
  const found = found_by(view, stage, applied);
  const { height_of, paths } = bars_of(view, found);
  if (!applied) return paths;
  return { ...paths, cut: level(height_of(between(found, found.kept[1], stage.figures.threshold))) };
}

/** A level line at a probability; the bars by their logarithm, as the threshold is far below the leader. */
function threshold(view, stage, applied) {
  const found = found_by(view, stage, applied);
  const least = applied ? between(found, found.kept[1], stage.figures.threshold) : 1;
  const { height_of, paths } = bars_of(view, found, probs => log_heights(probs, least));
  return applied ? { ...paths, cut: level(height_of(least)) } : paths;
}

/** The threshold, and the head above it taken off but for the last of those that reach it. */
function xtc(view, stage, applied) {
  const found = found_by(view, stage, applied);
  const { height_of, paths } = bars_of(view, found, linear_heights);
  if (!applied) return paths;
  const { threshold: least, acts, excluded } = stage.figures;
  const reached = excluded ? between(found, found.kept[0], least) : least;
  const second = found.at(found.race[0] + 1);
  const is_wrong = acts && !excluded && reached <= second; // at most one token reaches it
  return { ...paths, cut: level(height_of(is_wrong ? between(found, found.race[0], least) : reached)) };
}

/** Surprise by rank: the level of the entropy, and the band of ranks around it. */
function typical_p(view, stage, applied) {
  const found = found_by(view, stage, applied);
  const typical = applied ? entropy_level(found, stage.figures.entropy) : 1;
  const { ends, height_of, paths } = bars_of(view, found, probs => log_heights(probs, typical));
  if (!applied) return paths;
  const edges = [found.kept[0] - 1, found.kept[1]].filter(rank => rank > 0 && rank < view.vocab);
  return {
    ...paths,
    line: level(height_of(typical)),
    cut: edges.map(rank => rank_line(rank, ends)).join(''),
  };
}

/** The probability that is as surprising as the entropy: among those that stay, or beside them. */
function entropy_level({ at, kept: [first, last], race }, entropy) {
  const typical = 2 ** -entropy;
  const is_below_others = first === race[0] || typical < at(first - 1);
  const is_above_others = last >= race[1] || typical > at(last + 1);
  return is_below_others && is_above_others ? typical : Math.sqrt(at(first) * at(last));
}

/** Surprise by rank: mu, the most that passes, and tau, what is aimed at. */
function mirostat(view, stage, applied) {
  const found = found_by(view, stage, applied);
  const limit = applied ? between(found, found.kept[1], stage.figures.threshold) : 1;
  const aim = applied ? 2 ** -stage.figures.tau : 1;
  const scale = probs => log_heights(probs, Math.min(limit, aim));
  const { height_of, paths } = bars_of(view, found, scale);
  return applied ? { ...paths, cut: level(height_of(limit)), line: level(height_of(aim)) } : paths;
}

/** Scores below the highest one: a tick for each standard deviation, a line at the n-th. */
function top_n_sigma(view, stage, applied) {
  const found = found_by(view, stage, applied);
  const [, last] = found.kept;
  const least = Math.sqrt(found.at(last) * Math.max(found.at(last + 1), 1e-300)); // between two scores
  const { height_of, paths } = bars_of(view, found, probs => log_heights(probs, applied ? least : 1));
  if (!applied) return paths;
  const bottom = y_of(height_of(least));
  const top = y_of(height_of(found.at(found.race[0])));
  const pitch = (bottom - top) / stage.value;
  const shapes = { ...paths, cut: `M0 ${number(bottom)}H${WIDTH}`, line: '' };
  for (let tick = 0; tick <= Math.min(stage.value, MOST_TICKS) + 1e-9; tick++) {
    shapes.line += `M${WIDTH - 9} ${number(top + tick * pitch)}H${WIDTH}`;
  }
  return { ...shapes, line: `${shapes.line}M${WIDTH - 1} ${number(top)}V${number(bottom)}` };
}

/** How much the sorted curve bends at each rank, under the curve itself. */
function tail_free(view, stage, applied) {
  const found = found_by(view, stage, applied);
  const { at } = found;
  const starts = bar_starts(bar_ends(view.vocab));
  const bends = starts.map(rank => Math.abs(at(rank) - 2 * at(rank + 1) + at(rank + 2)));
  const most = Math.max(...bends, 1e-300);
  const scale = () => ({ heights: bends.map(bend => bend / most), height_of: bend => bend / most });
  const { ends, paths } = bars_of(view, found, scale);
  const { heights } = linear_heights(starts.map(at));
  const pitch = WIDTH / starts.length;
  const points = heights.map((height, place) => `${number((place + 0.5) * pitch)} ${number(y_of(height))}`);
  const shapes = { ...paths, line: `M${points.join('L')}` };
  return applied && found.kept[1] < view.vocab ? { ...shapes, cut: rank_line(found.kept[1], ends) } : shapes;
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
  const { kept, race, sum_to } = found_by(view, stage, applied);
  const doublings = [];
  for (let end = 512; end < view.vocab; end *= 2) doublings.push(end);
  const ends = bar_ends(view.vocab, [...BARS, ...doublings, view.vocab]);
  return staircase({
    ends,
    sums: ends.map(sum_to),
    race_end: race[1],
    limit: applied ? stage.value : null,
    kept_place: applied ? cut_place(kept[1], ends) : ends.length,
  });
}

/** The same of the entropy that the leading tokens make up, with a line at the share that they may. */
function top_h(view, stage, applied) {
  const { kept, race, at } = found_by(view, stage, applied);
  const last = Math.min(race[0] + CONSIDERED - 1, race[1], view.vocab);
  const own = Array.from({ length: last - race[0] + 1 }, (_, place) => at(race[0] + place));
  const mass = total(own) || 1;
  const terms = own.map(prob => (prob > 0 ? -(prob / mass) * Math.log(prob / mass) : 0));
  const whole = total(terms) || 1;
  const ends = bar_ends(view.vocab).filter(end => end < last);
  ends.push(last);
  const sums = ends.map(end => total(terms.slice(0, Math.max(0, end - race[0] + 1))) / whole);
  return staircase({
    ends,
    sums,
    race_end: last,
    limit: applied ? stage.value : null,
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
