// What the small pictures are made of: the box they are drawn in, bars by rank, and which of them are kept.

export const WIDTH = 92;
export const HEIGHT = 34;
export const TOP = 2;
export const FLOOR = HEIGHT - 2;

// Ranks at which a bar ends. Single ranks first, then ever wider ranges: k = 3 and k = 200 both have a place,
// and the line moves evenly while a slider does.
export const BARS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 16, 25, 40, 64, 100, 160, 256];

const FEWEST_DECADES = 4;

/** Probability at a rank (from 1), read off the curve; its ranks are exact to 100 and log-spaced beyond. */
export function at_rank(ranks, values, rank) {
  if (ranks[rank - 1] === rank) return values[rank - 1];
  let low = 0;
  let high = ranks.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranks[middle] < rank) low = middle + 1;
    else high = middle;
  }
  if (low === 0 || ranks[low] <= rank) return values[low];
  const share = (rank - ranks[low - 1]) / (ranks[low] - ranks[low - 1]);
  return values[low - 1] + share * (values[low] - values[low - 1]);
}

/** The ends of the bars; the last one ends at the vocabulary's end where that comes first. */
export function bar_ends(vocab, ends = BARS) {
  const inside = ends.filter(end => end < vocab);
  if (inside.length < ends.length) inside.push(vocab);
  return inside;
}

/** The likeliest rank of each bar, whose probability is its height. */
export const bar_starts = ends => ends.map((_, place) => (ends[place - 1] ?? 0) + 1);

/** Where, in bars, the cut after `rank` lies; the right end for ranks beyond the last bar. */
export function cut_place(rank, ends) {
  let start = 0;
  for (const [place, end] of ends.entries()) {
    if (rank <= end) return place + (rank - start) / (end - start);
    start = end;
  }
  return ends.length;
}

export const number = value => String(Math.round(value * 100) / 100);

export function box(left, right, top, floor) {
  if (right - left < 0.05) return '';
  return `M${number(left)} ${number(top)}H${number(right)}V${number(floor)}H${number(left)}z`;
}

/** Paths of bars: kept within one stretch of places, removed within the other, gone outside both. */
export function bar_paths(heights, kept, race) {
  const paths = { kept: '', removed: '', gone: '' };
  const pitch = WIDTH / heights.length;
  const wide = pitch * 0.8;
  for (const [place, height] of heights.entries()) {
    const left = place * pitch + (pitch - wide) / 2;
    const top = FLOOR - Math.max(1, Math.min(1, height) * (FLOOR - TOP));
    // A bar may stand for several ranks, so a cut can pass through it.
    const x_of = edge => left + wide * Math.min(1, Math.max(0, edge - place));
    const edges = [race[0], kept[0], kept[1], race[1]].map(x_of);
    const [enter, from, to, leave] = edges;
    paths.gone += box(left, enter, top, FLOOR) + box(leave, left + wide, top, FLOOR);
    paths.removed += box(enter, from, top, FLOOR) + box(to, leave, top, FLOOR);
    paths.kept += box(from, to, top, FLOOR);
  }
  return paths;
}

/** Heights of probabilities on a line from 0 to the leader's. */
export function linear_heights(probs) {
  const highest = Math.max(probs[0], 1e-300);
  return { heights: probs.map(prob => prob / highest), height_of: prob => prob / highest };
}

/** The same by their logarithm, with `least` well in sight: what is level here is equally surprising. */
export function log_heights(probs, least) {
  const highest = Math.max(probs[0], 1e-300);
  const depth = Math.max(FEWEST_DECADES, 1.3 * Math.log10(highest / Math.max(least, 1e-300)));
  const height_of = prob => Math.max(0, 1 + Math.log10(Math.max(prob, 1e-300) / highest) / depth);
  return { heights: probs.map(height_of), height_of };
}

export const y_of = height => FLOOR - Math.min(1, Math.max(0, height)) * (FLOOR - TOP);

/** A line across the picture at a height. */
export const level = height => `M0 ${number(y_of(height))}H${WIDTH}`;

/** Bars of the leading tokens under a scale, and what a cut does to them; `found` is what it finds. */
export function bars_of(view, found, scale = linear_heights) {
  const ends = bar_ends(view.vocab);
  const { heights, height_of } = scale(bar_starts(ends).map(found.at));
  const places = ([first, last]) => [cut_place(first - 1, ends), cut_place(last, ends)];
  return { ends, heights, height_of, paths: bar_paths(heights, places(found.kept), places(found.race)) };
}

/** A vertical line after a rank; beyond the last bar an arrow says that it lies further right. */
export function rank_line(rank, ends) {
  const x = Math.min(Math.max((cut_place(rank, ends) / ends.length) * WIDTH, 1), WIDTH - 1);
  return `M${number(x)} 0V${HEIGHT}${rank > ends.at(-1) ? `M${WIDTH - 5} 3l4 3l-4 3` : ''}`;
}
