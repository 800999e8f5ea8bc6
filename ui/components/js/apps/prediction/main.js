// A prediction: a person draws bars, presses Reveal, and sees the model's values next to theirs.
//
// The server computes these only then, so nothing in the browser can reveal them earlier.

import { element, set_text } from '../../lib/dom.js';
import { forget, recall_json, remember } from '../../lib/storage.js';
import { create } from '../../parts/prediction/bars.js';
import { with_share } from '../../parts/prediction/shares.js';
import { marked, say } from '../../words/say.js';

/**
 * @import { Bars, Revealed } from '../../parts/prediction/bars.js'
 *
 * @typedef {Bars & {name: string, number: number, start: number[], is_distribution: boolean,
 *   revealed: Revealed | null}} Data as ui/learn/prediction/view.py hands it over
 */

const DRAG = marked('Drag the bars to what you expect.');
const SWEEP = marked('Drag across to sketch the curve that you expect.');
const KEYS = marked('With the keyboard: Tab to a bar, arrow keys to move it.');

/**
 * @param {HTMLElement} root the element with class `dv`
 * @param {Data} data
 * @param {(name: string, value: unknown) => void} tell
 */
export function mount(root, data, tell) {
  const drawing = element('div');
  const button = element('button', { type: 'button', class: 'dv-primary', text: say('Reveal') });
  const hint = element('span', { class: 'dv-muted' });
  const legend = element(
    'p',
    { class: 'dv-prediction-legend' },
    element('span', { class: 'dv-legend-own', text: say('Yours') }),
    element('span', { class: 'dv-legend-model', text: say('The model’s') }),
  );
  const foot = element('div', { class: 'dv-prediction-foot' }, button, hint);
  root.append(legend, drawing, foot);

  let now = data;
  /** @type {number[]} */
  let values = [];
  /** @type {number[]} the bars set so far, the latest last */
  let set_bars = [];
  let is_touched = false;
  let is_asked = false;

  const part = create(drawing, {
    set(place, value) {
      values = now.is_distribution ? with_share(values, place, value, set_bars) : values.with(place, value);
      set_bars = [...set_bars.filter(at => at !== place), place];
      is_touched = true;
      remember('sessionStorage', key_of(now), JSON.stringify(values));
      draw();
    },
  });

  button.addEventListener('click', () => {
    is_asked = true;
    draw();
    tell('reveal', { number: now.number, values });
  });

  function draw() {
    const { revealed } = now;
    part.update({ bars: now, values, revealed });
    foot.classList.toggle('dv-hidden', revealed !== null);
    legend.classList.toggle('dv-hidden', revealed === null);
    button.disabled = !is_touched || is_asked;
    set_text(hint, is_asked ? say('The model computes.') : `${say(now.is_curve ? SWEEP : DRAG)} ${say(KEYS)}`);
  }

  /** @param {Data} given */
  function update(given) {
    const is_other = given.name !== now.name || !values.length;
    now = given;
    is_asked = false;
    if (is_other) set_bars = [];
    if (given.revealed) {
      values = given.revealed.drawn;
      forget('sessionStorage', key_of(given));
    } else if (is_other) {
      const kept = recall_json('sessionStorage', key_of(given));
      is_touched = Array.isArray(kept) && kept.length === given.labels.length;
      values = is_touched ? kept : [...given.start];
    }
    draw();
  }
  update(data);

  return { update: (/** @type {object} */ given) => update(/** @type {Data} */ (given)), restyle() {}, destroy() {} };
}

/** The name under which a drawing survives a reload. @param {Data} data */
const key_of = ({ name }) => `decoding-visualiser-${name}`;
