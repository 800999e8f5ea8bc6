// The small pictures on the stage cards: what each stage does to this step's own distribution.
// A state of tokens is one path, so that a picture changes with three or four attribute writes.

import { set_attribute, svg } from './dom.js';

const WIDTH = 92;
const HEIGHT = 34;
const TOP = 2;
const FLOOR = HEIGHT - 2;

// Ranks at which a bar ends. Single ranks first, then ever wider ranges: k = 3 and k = 200 both have a place,
// and the line moves evenly while a slider does.
const BARS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 16, 25, 40, 64, 100, 160, 256];
const SCORE_BARS = 9;
const SHORTEST_ARROW = 5;
const SCORE_BARS_MOVED = 5; // at most, so that leaders stay to compare with
const SHOWN_SEGMENTS = 12;

let made_so_far = 0; // patterns are found by id, and a page may hold more than one picture

/** Probability at a rank (from 1), read off the curve; its ranks are exact to 100 and log-spaced beyond. */
function at_rank(ranks, values, rank) {
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
function bar_ends(vocab, ends = BARS) {
  const inside = ends.filter(end => end < vocab);
  if (inside.length < ends.length) inside.push(vocab);
  return inside;
}

/** The likeliest rank of each bar, whose probability is its height. */
const bar_starts = ends => ends.map((_, place) => (ends[place - 1] ?? 0) + 1);

/** Where, in bars, the cut after `rank` lies; the right end for ranks beyond the last bar. */
function cut_place(rank, ends) {
  let start = 0;
  for (const [place, end] of ends.entries()) {
    if (rank <= end) return place + (rank - start) / (end - start);
    start = end;
  }
  return ends.length;
}

const number = value => String(Math.round(value * 100) / 100);

function box(left, right, top, floor) {
  if (right - left < 0.05) return '';
  return `M${number(left)} ${number(top)}H${number(right)}V${number(floor)}H${number(left)}z`;
}

/** Paths of bars: kept up to one place, removed up to the next, and those that were gone before. */
function bar_paths(heights, kept_place, race_place) {
  const paths = { kept: '', removed: '', gone: '' };
  const pitch = WIDTH / heights.length;
  const wide = pitch * 0.8;
  for (const [place, height] of heights.entries()) {
    const left = place * pitch + (pitch - wide) / 2;
    const top = FLOOR - Math.max(1, height * (FLOOR - TOP));
    // A bar may stand for several ranks, so a cut can pass through it.
    const kept = left + wide * Math.min(1, Math.max(0, kept_place - place));
    const race = Math.max(kept, left + wide * Math.min(1, Math.max(0, race_place - place)));
    paths.kept += box(left, kept, top, FLOOR);
    paths.removed += box(kept, race, top, FLOOR);
    paths.gone += box(race, left + wide, top, FLOOR);
  }
  return paths;
}

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

/** Rows for the picture of the penalty, in rank order: moved ones, and the leaders among the others. */
function leading_and_moved(rows, has_moved) {
  const moved = rows.filter(has_moved).slice(0, SCORE_BARS_MOVED);
  const others = rows.filter(row => !has_moved(row)).slice(0, SCORE_BARS - moved.length);
  return [...moved, ...others].sort((one, other) => one.rank - other.rank);
}

/** Scores: outlined as the model gave them, filled after the penalty, an arrow where one has moved. */
function penalty_shapes(view, stage, applied) {
  const temperature = view.stages.find(each => each.name === 'temperature');
  const place = view.points.findIndex(each => each.name === 'temperature');
  // A row's score is divided by T from the point of the temperature on; the penalty acts before that.
  const divided = temperature?.on && temperature.value > 0 && place >= 0 && view.point >= place;
  const penalised = row => (applied ? row.score * (divided ? temperature.value : 1) : row.logit);
  const has_moved = row => Math.abs(row.logit - penalised(row)) > 1e-4 * Math.abs(row.logit);
  const rows = leading_and_moved(view.rows, has_moved);
  const after = rows.map(penalised);
  const all = [...rows.map(row => row.logit), ...after];
  const low = Math.min(...all);
  const span = Math.max(Math.max(...all) - low, 1e-9);
  const y_of = score => FLOOR - 5 - ((score - low) / span) * (FLOOR - 5 - TOP);
  const pitch = WIDTH / SCORE_BARS;
  const shapes = { kept: '', before: '', arrow: '' };
  for (const [index, row] of rows.entries()) {
    const left = index * pitch + 1;
    const right = left + pitch - 2.4;
    const [from, to] = [y_of(row.logit), y_of(after[index])];
    shapes.kept += box(left, right, to, FLOOR);
    if (!has_moved(row)) continue;
    shapes.before += box(left, right, Math.min(from, to), Math.max(from, to)); // between old and new
    const middle = (left + right) / 2;
    if (Math.abs(to - from) < SHORTEST_ARROW) continue; // the outline says enough
    const tip = to > from ? -3 : 3;
    shapes.arrow += `M${number(middle)} ${number(from)}V${number(to)}m-2 ${tip}l2 ${-tip}l2 ${tip}`;
  }
  return shapes;
}

/** What the leading tokens held before the temperature, from what they hold after: p before ~ (p after)^T. */
function before_temperature(view, stage, starts) {
  const { ranks, raw_probs, probs } = view.curve;
  const penalty = view.stages.find(each => each.name === 'repetition_penalty');
  if (!penalty?.on) return starts.map(rank => at_rank(ranks, raw_probs, rank));
  // Greedy divides by nothing: the scores, and so these, are as before.
  if (stage.value === 0) return starts.map(rank => at_rank(ranks, probs, rank));
  // A penalty reorders, so the model's own curve is not the one before the temperature.
  const shares = Array.from(probs, prob => (prob / probs[0]) ** stage.value);
  let total = shares[0];
  for (let i = 1; i < ranks.length; i++) {
    total += ((shares[i - 1] + shares[i]) / 2) * (ranks[i] - ranks[i - 1]);
  }
  return starts.map(rank => at_rank(ranks, shares, rank) / total);
}

/** The distribution of the leading tokens: a grey outline before the temperature, filled after it. */
function temperature_shapes(view, stage, applied) {
  const starts = bar_starts(bar_ends(view.vocab));
  const after = applied && stage.value === 0
    ? starts.map(rank => (rank === 1 ? 1 : 0))
    : starts.map(rank => at_rank(view.curve.ranks, view.curve.probs, rank));
  const before = applied ? before_temperature(view, stage, starts) : after;
  const highest = Math.max(after[0], before[0], 1e-12);
  const pitch = WIDTH / starts.length;
  const { kept } = bar_paths(after.map(prob => prob / highest), starts.length, starts.length);
  if (!applied) return { kept };
  const outline = before.map((prob, place) => {
    const y = number(FLOOR - (prob / highest) * (FLOOR - TOP));
    return `${place ? 'V' : 'M0 '}${y}H${number((place + 1) * pitch)}`;
  });
  return { kept, before: outline.join('') };
}

/** Probabilities of the leading tokens, and which of them a cut keeps, removes, or never saw. */
function cut_bars(view, stage, applied) {
  const ends = bar_ends(view.vocab);
  const probs = bar_starts(ends).map(rank => at_rank(view.curve.ranks, view.curve.probs, rank));
  const heights = probs.map(prob => prob / Math.max(probs[0], 1e-300));
  const kept = applied ? cut_place(stage.after, ends) : ends.length;
  const race = applied ? cut_place(stage.before, ends) : ends.length;
  return { ends, paths: bar_paths(heights, kept, race) };
}

/** The leading bars with a vertical line after the k-th. */
function top_k_shapes(view, stage, applied) {
  const { ends, paths } = cut_bars(view, stage, applied);
  if (!applied) return paths;
  const x = Math.min((cut_place(stage.value, ends) / ends.length) * WIDTH, WIDTH - 1);
  paths.cut = `M${number(x)} 0V${HEIGHT}`;
  if (stage.value > ends.at(-1)) paths.cut += `M${WIDTH - 5} 3l4 3l-4 3`; // the line lies beyond the picture
  return paths;
}

/** The leading bars with a horizontal line at the share of the leader that a token needs. */
function min_p_shapes(view, stage, applied) {
  const { paths } = cut_bars(view, stage, applied);
  if (applied) {
    const y = FLOOR - stage.value * (FLOOR - TOP);
    paths.cut = `M0 ${number(y)}H${WIDTH}`;
  }
  return paths;
}

/** The cumulative staircase of the tokens in the race, with a horizontal line at p. */
function top_p_shapes(view, stage, applied) {
  const race = applied ? stage.before : view.vocab;
  const doublings = [];
  for (let end = 512; end < view.vocab; end *= 2) doublings.push(end);
  const ends = bar_ends(view.vocab, [...BARS, ...doublings, view.vocab]);
  const { ranks, cumulative } = view.curve;
  const whole = at_rank(ranks, cumulative, Math.min(race, ranks.at(-1))) || 1;
  const y_of = share => number(FLOOR - Math.min(1, share) * (FLOOR - TOP));
  const pitch = WIDTH / ends.length;
  const kept_x = applied ? (cut_place(stage.after, ends) / ends.length) * WIDTH : WIDTH;
  const shapes = { kept: '', removed: '', line: '', cut: '' };
  for (const [place, end] of ends.entries()) {
    const [left, right] = [place * pitch, (place + 1) * pitch];
    const top = y_of(at_rank(ranks, cumulative, Math.min(end, race)) / whole);
    const middle = Math.min(right, Math.max(left, kept_x));
    shapes.kept += box(left, middle, Number(top), FLOOR);
    shapes.removed += box(middle, right, Number(top), FLOOR);
    shapes.line += `${place ? 'V' : `M0 ${FLOOR}V`}${top}H${number(right)}`;
    if (end >= race) break;
  }
  if (applied) shapes.cut = `M0 ${y_of(stage.value)}H${WIDTH}`;
  return shapes;
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

const SHAPES = {
  repetition_penalty: [penalty_shapes, ['kept', 'before', 'arrow']],
  temperature: [temperature_shapes, ['kept', 'before']],
  top_k: [top_k_shapes, ['gone', 'removed', 'kept', 'cut']],
  top_p: [top_p_shapes, ['removed', 'kept', 'line', 'cut']],
  min_p: [min_p_shapes, ['gone', 'removed', 'kept', 'cut']],
};

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
