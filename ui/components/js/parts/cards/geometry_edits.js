// Pictures of the stages that change scores: tokens that move, tokens that are struck out, the whole curve
// sharpened or flattened.

import { at_rank, bar_ends, bar_paths, bar_starts, box, FLOOR, number, TOP, WIDTH } from './geometry_bars.js';
import { first_cut, product, temperature_of } from './geometry_race.js';

const SCORE_BARS = 9;
const MOVED_BARS = 5; // at most, so that leaders stay to compare with
const SHORTEST_ARROW = 5;
const BEYOND = 0.5; // of the picture's own span: where a score that leaves it is drawn

/** Moved tokens, and the leaders among the others, as [{from, to}] by their score just before the stage. */
function scores_around(view, stage, applied) {
  const divided = product(view.stages.slice(0, view.stages.indexOf(stage)));
  const edited = applied ? stage.figures.edited.filter(({ from }) => Number.isFinite(from)) : [];
  const moved = edited.slice(0, MOVED_BARS);
  const ids = new Set(edited.map(({ id }) => id));
  const others = view.rows
    .filter(({ id, logit }) => !ids.has(id) && Number.isFinite(logit))
    .slice(0, SCORE_BARS - moved.length)
    .map(({ logit }) => ({ from: logit / divided, to: logit / divided }));
  return [...moved, ...others].sort((one, other) => other.from - one.from);
}

/** Scores as bars: filled as they are after the stage, outlined where they were, an arrow where one moved. */
function moved(view, stage, applied) {
  const rows = scores_around(view, stage, applied);
  const from = rows.map(row => row.from);
  const high = Math.max(...from);
  const span = Math.max(high - Math.min(...from), 1e-9);
  const clamp = score => Math.min(high + BEYOND * span, Math.max(high - (1 + BEYOND) * span, score));
  const shown = [...from, ...rows.map(row => clamp(row.to))];
  const low = Math.min(...shown);
  const whole = Math.max(Math.max(...shown) - low, 1e-9);
  const y_of = score => FLOOR - 5 - ((clamp(score) - low) / whole) * (FLOOR - 5 - TOP);
  const pitch = WIDTH / SCORE_BARS;
  const shapes = { kept: '', before: '', arrow: '' };
  for (const [index, row] of rows.entries()) {
    const left = index * pitch + 1;
    const right = left + pitch - 2.4;
    const middle = (left + right) / 2;
    const [y_from, y_to] = [y_of(row.from), y_of(row.to)];
    if (row.to === -Infinity) {
      // struck out
      shapes.before += box(left, right, y_from, FLOOR);
      const top = number(Math.min(y_from, FLOOR - 8));
      shapes.arrow += `M${number(left - 0.5)} ${FLOOR}L${number(right + 0.5)} ${top}`;
      continue;
    }
    shapes.kept += box(left, right, y_to, FLOOR);
    if (Math.abs(row.to - row.from) <= 1e-4 * Math.abs(row.from)) continue;
    shapes.before += box(left, right, Math.min(y_from, y_to), Math.max(y_from, y_to)); // between old and new
    if (Math.abs(y_to - y_from) < SHORTEST_ARROW) continue; // the outline says enough
    const tip = y_to > y_from ? -3 : 3;
    shapes.arrow += `M${number(middle)} ${number(y_from)}V${number(y_to)}m-2 ${tip}l2 ${-tip}l2 ${tip}`;
  }
  return shapes;
}

/** The curve's probabilities as if all scores were multiplied by `power`, at these ranks. */
function tempered({ ranks, probs }, power, starts) {
  const highest = Math.max(probs[0], 1e-300);
  const shares = Array.from(probs, prob => (prob / highest) ** power);
  let total = shares[0];
  for (let i = 1; i < ranks.length; i++) {
    total += ((shares[i - 1] + shares[i]) / 2) * (ranks[i] - ranks[i - 1]);
  }
  return starts.map(rank => at_rank(ranks, shares, rank) / total);
}

/** What the shown curve's scores must be multiplied by, to be those just before and just after a stage. */
function powers_around(view, stage) {
  const own = view.stages.indexOf(stage);
  const first = first_cut(view.stages);
  // The curve stands as it was just before the first cut, or at the point that is looked at.
  const last_shown = first < 0 ? view.stages.length : first;
  const later = first >= 0 && first < own; // this stage is not in the curve yet
  if (later) {
    const before = 1 / product(view.stages.slice(last_shown, own));
    return [before, before / temperature_of(stage)];
  }
  const has_come = ({ name }) => {
    const place = view.points.findIndex(point => point.name === name);
    return place >= 0 && place <= view.point;
  };
  const after = product(view.stages.slice(own + 1, last_shown).filter(has_come));
  return [after * temperature_of(stage), after];
}

/** The distribution of the leading tokens: outlined before a temperature, filled after it. */
function scaled(view, stage, applied) {
  const starts = bar_starts(bar_ends(view.vocab));
  const [before_power, after_power] = applied ? powers_around(view, stage) : [1, 1];
  const before = tempered(view.curve, before_power, starts);
  const is_greedy = applied && stage.name === 'temperature' && stage.value === 0;
  const after = is_greedy
    ? starts.map(rank => (rank === 1 ? 1 : 0))
    : tempered(view.curve, after_power, starts);
  const highest = Math.max(after[0], before[0], 1e-12);
  const pitch = WIDTH / starts.length;
  const all = [0, starts.length];
  const { kept } = bar_paths(
    after.map(prob => prob / highest),
    all,
    all,
  );
  if (!applied) return { kept };
  const outline = before.map((prob, place) => {
    const y = number(FLOOR - (prob / highest) * (FLOOR - TOP));
    return `${place ? 'V' : 'M0 '}${y}H${number((place + 1) * pitch)}`;
  });
  return { kept, before: outline.join('') };
}

/** The same, and a scale from the lowest to the highest temperature with a mark at the step's own. */
function dynamic(view, stage, applied) {
  const shapes = scaled(view, stage, applied);
  if (!applied) return shapes;
  const { low, high } = stage.value;
  const [left, right] = [WIDTH * 0.4, WIDTH - 3];
  const share = high > low ? (stage.figures.temperature - low) / (high - low) : 0.5;
  const x = left + Math.min(1, Math.max(0, share)) * (right - left);
  const scale = `M${number(left)} 6v-4v2H${number(right)}v-2v4`;
  return { ...shapes, line: scale, arrow: `M${number(x)} 1V9` };
}

const SCORE_CLASSES = ['kept', 'before', 'arrow'];

/** By name: (view, stage, applied) -> paths by class, and the classes from back to front. */
export const EDIT_SHAPES = {
  logit_bias: [moved, SCORE_CLASSES],
  repetition_penalty: [moved, SCORE_CLASSES],
  presence_penalty: [moved, SCORE_CLASSES],
  frequency_penalty: [moved, SCORE_CLASSES],
  dry: [moved, SCORE_CLASSES],
  no_repeat_ngram: [moved, SCORE_CLASSES],
  banned: [moved, SCORE_CLASSES],
  min_new_tokens: [moved, SCORE_CLASSES],
  temperature: [scaled, ['kept', 'before']],
  dynamic_temperature: [dynamic, ['kept', 'before', 'line', 'arrow']],
};
