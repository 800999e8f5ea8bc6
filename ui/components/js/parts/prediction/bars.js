// Bars that a person draws by pointer, touch or keys. Once revealed, the model's bars are next to them.
//
// Horizontal bars are set one at a time. The bars of a curve are vertical, and are drawn by sweeping across them.

import { element, set_attribute, set_class, set_text, svg } from '../../lib/dom.js';
import { say } from '../../words/say.js';
import { rounded, share_of, step_of, value_text } from './values.js';

/**
 * @import { Scale } from './values.js'
 *
 * @typedef {Scale & {labels: string[], axis: string, figure: string, is_curve: boolean}} Bars
 * @typedef {{drawn: number[], truth: number[], worst: number}} Revealed
 * @typedef {{bars: Bars, values: number[], revealed: Revealed | null}} State
 * @typedef {{set: (place: number, value: number) => void}} Actions
 */

const MOST_VALUES = 8; // most bars of a curve that leave room for their values
const LONG = 7; // characters of a label from which a curve's labels are written downwards

/** @param {string} label */
const is_long = label => label.length >= LONG;

/** @param {HTMLElement} root @param {Actions} actions */
export function create(root, actions) {
  const list = element('div', { class: 'dv-guesses', role: 'group' });
  const scale = element('div', { class: 'dv-guesses-scale', 'aria-hidden': 'true' });
  const line = svg('svg', { class: 'dv-guesses-line', viewBox: '0 0 100 100', preserveAspectRatio: 'none' });
  const told = element('p', { class: 'dv-guesses-told dv-muted', 'aria-hidden': 'true' });
  const axis = element('p', { class: 'dv-guesses-axis dv-muted', 'aria-hidden': 'true' });
  const plot = element('div', { class: 'dv-guesses-plot' }, scale, list);
  root.append(plot, axis, told);
  line.setAttribute('aria-hidden', 'true');
  const own_line = svg('polyline', { class: 'dv-guesses-own-line' });
  const model_line = svg('polyline', { class: 'dv-guesses-model-line' });
  line.append(own_line, model_line);

  /** @type {ReturnType<typeof create_bar>[]} */
  const rows = [];
  /** @type {State | null} */
  let state = null;
  let held = -1; // the bar that the pointer is on
  let looked_at = -1;

  /** The value under the pointer, by the track of a bar. @param {PointerEvent} event @param {number} place */
  function value_at(event, place) {
    const { bars } = /** @type {State} */ (state);
    const box = rows[place].track.getBoundingClientRect();
    const share = bars.is_curve
      ? (box.bottom - event.clientY) / (box.height || 1)
      : (event.clientX - box.left) / (box.width || 1);
    return rounded(bars.low + Math.min(1, Math.max(0, share)) * (bars.high - bars.low), bars);
  }

  /** The bar of a curve that the pointer is over or next to. @param {PointerEvent} event */
  function place_under(event) {
    const places = rows.map(({ track }) => track.getBoundingClientRect());
    const found = places.findIndex(box => event.clientX <= box.right);
    return found === -1 ? rows.length - 1 : found;
  }

  /** @param {PointerEvent} event */
  function on_down(event) {
    if (!state || state.revealed || event.button > 0) return;
    const target = /** @type {Element} */ (event.target);
    const place = state.bars.is_curve ? place_under(event) : rows.findIndex(({ track }) => track.contains(target));
    if (place < 0) return;
    held = place;
    list.setPointerCapture?.(event.pointerId);
    rows[place].track.focus({ preventScroll: true });
    actions.set(place, value_at(event, place));
    event.preventDefault();
  }

  /** @param {PointerEvent} event */
  function on_move(event) {
    if (held < 0 || !state || state.revealed) return;
    if (!state.bars.is_curve) {
      actions.set(held, value_at(event, held));
      return;
    }
    // A quick pointer skips bars: they get the values in between.
    const to = place_under(event);
    const from = held;
    const first = state.values[from];
    const last = value_at(event, to);
    const way = Math.abs(to - from);
    for (let done = 1; done <= way; done++) {
      const place = from + Math.sign(to - from) * done;
      actions.set(place, rounded(first + ((last - first) * done) / way, state.bars));
    }
    if (!way) actions.set(to, last);
    held = to;
    look_at(to);
  }

  const let_go = () => {
    held = -1;
  };
  list.addEventListener('pointerdown', on_down);
  list.addEventListener('pointermove', on_move);
  list.addEventListener('pointerup', let_go);
  list.addEventListener('pointercancel', let_go);

  /** @param {KeyboardEvent} event @param {number} place */
  function on_key(event, place) {
    if (!state || state.revealed || event.ctrlKey || event.metaKey || event.altKey) return;
    const { bars, values } = state;
    const step = step_of(bars);
    /** @type {Record<string, number>} */
    const wanted = {
      ArrowUp: values[place] + step,
      ArrowRight: values[place] + step,
      ArrowDown: values[place] - step,
      ArrowLeft: values[place] - step,
      PageUp: values[place] + 10 * step,
      PageDown: values[place] - 10 * step,
      Home: bars.low,
      End: bars.high,
    };
    if (!(event.key in wanted)) return;
    event.preventDefault();
    event.stopPropagation();
    actions.set(place, rounded(wanted[event.key], bars));
  }

  /** @param {number} place */
  function look_at(place) {
    looked_at = place;
    if (state) tell(state);
  }

  /** One line on the inspected bar, as a curve has no room for all values. @param {State} now */
  function tell({ bars, values, revealed }) {
    const place = Math.min(looked_at, values.length - 1);
    const is_told = bars.is_curve && place >= 0;
    set_text(
      told,
      is_told ? `${bars.axis} ${bars.labels[place]}: ${words_of(bars, values, revealed, place)}` : '\u00a0',
    );
  }

  /** @param {State} now */
  function update(now) {
    state = now;
    const { bars, values, revealed } = now;
    // The model's values may lie beyond the scale of the drawing.
    const top = Math.max(bars.high, ...(revealed?.truth ?? []));
    const bottom = Math.min(bars.low, ...(revealed?.truth ?? []));
    const shown = { ...bars, low: bottom, high: top };
    while (rows.length > values.length) rows.pop()?.node.remove();
    while (rows.length < values.length) {
      const place = rows.length;
      rows.push(
        create_bar(
          list,
          event => on_key(event, place),
          () => look_at(place),
        ),
      );
    }
    set_class(root, `dv-prediction ${bars.is_curve ? 'dv-guesses-standing' : 'dv-guesses-lying'}`);
    set_attribute(list, 'aria-label', bars.figure);
    list.style.setProperty('--bars', String(values.length));
    values.forEach((value, place) => {
      const bar = rows[place];
      const truth = revealed?.truth[place];
      set_text(bar.label, bars.labels[place]);
      set_text(bar.said, value_text(value, bars));
      set_text(bar.real, truth === undefined ? '' : value_text(truth, bars));
      bar.node.classList.toggle('dv-guesses-worst', revealed?.worst === place);
      bar.node.classList.toggle('dv-guesses-revealed', revealed !== null);
      bar.node.classList.toggle('dv-guesses-many', values.length > MOST_VALUES);
      bar.node.classList.toggle('dv-guesses-tokens', bars.is_curve && bars.labels.some(is_long));
      bar.track.style.setProperty('--own', String(share_of(value, shown)));
      bar.track.style.setProperty('--model', String(truth === undefined ? 0 : share_of(truth, shown)));
      set_attribute(bar.track, 'aria-label', bars.axis ? `${bars.axis} ${bars.labels[place]}` : bars.labels[place]);
      set_attribute(bar.track, 'aria-orientation', bars.is_curve ? 'vertical' : 'horizontal');
      set_attribute(bar.track, 'aria-valuemin', String(bars.low));
      set_attribute(bar.track, 'aria-valuemax', String(bars.high));
      set_attribute(bar.track, 'aria-valuenow', String(Number(value.toFixed(4))));
      set_attribute(bar.track, 'aria-valuetext', words_of(bars, values, revealed, place));
      set_attribute(bar.track, 'aria-disabled', revealed ? 'true' : null);
    });
    if (bars.is_curve) draw_lines(values, revealed, shown);
    else line.remove();
    scale.replaceChildren(
      ...(bars.is_curve ? [top, (top + bottom) / 2, bottom] : []).map(at =>
        element('span', { text: value_text(at, bars) }),
      ),
    );
    set_text(axis, bars.is_curve ? bars.axis : '');
    tell(now);
  }

  /** @param {number[]} values @param {Revealed | null} revealed @param {Scale} shown */
  function draw_lines(values, revealed, shown) {
    if (line.parentNode !== list) list.append(line);
    /** @param {number[]} row */
    const points = row =>
      row.map((value, at) => `${((at + 0.5) / row.length) * 100},${100 - share_of(value, shown) * 100}`).join(' ');
    set_attribute(own_line, 'points', points(values));
    set_attribute(model_line, 'points', revealed ? points(revealed.truth) : null);
  }

  return { update: (/** @type {State} */ now) => update(now) };
}

/** A bar's text. @param {Bars} bars @param {number[]} values @param {Revealed | null} revealed @param {number} place */
function words_of(bars, values, revealed, place) {
  const own = value_text(values[place], bars);
  return revealed
    ? say('you said {own}, the model has {real}', { own, real: value_text(revealed.truth[place], bars) })
    : own;
}

/** @param {HTMLElement} list @param {(event: KeyboardEvent) => void} on_key @param {() => void} on_look */
function create_bar(list, on_key, on_look) {
  const label = element('span', { class: 'dv-guess-label dv-token', 'aria-hidden': 'true' });
  const track = element(
    'div',
    { class: 'dv-guess-track', role: 'slider', tabindex: '0' },
    element('i', { class: 'dv-guess-own' }),
    element('i', { class: 'dv-guess-model' }),
  );
  const said = element('span', { class: 'dv-guess-said' });
  const real = element('span', { class: 'dv-guess-real' });
  const node = element(
    'div',
    { class: 'dv-guess' },
    label,
    track,
    element('span', { class: 'dv-guess-values', 'aria-hidden': 'true' }, said, real),
  );
  track.addEventListener('keydown', on_key);
  track.addEventListener('focus', on_look);
  node.addEventListener('pointerenter', on_look);
  list.append(node);
  return { node, label, track, said, real };
}
