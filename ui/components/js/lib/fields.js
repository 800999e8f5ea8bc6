// Controls for a number: a slider, a field for the exact value, a switch. An update never overwrites a value that is
// being dragged or typed.

import { quoted } from '../words/format.js';
import { say, with_figures } from '../words/say.js';
import { element, set_attribute, set_class, set_text } from './dom.js';

/**
 * @typedef {object} Range
 * @property {string} name
 * @property {number} low ends of the slider
 * @property {number} high
 * @property {number} step
 * @property {boolean} [whole] whether only whole numbers are allowed
 * @property {Record<string, string>} [words] values shown as a word
 */
/** @typedef {{value: number} | {sentence: string}} Checked the value that was accepted, or why it was not */

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const MOVING_KEYS = /^(Arrow|Page|Home|End)/;
const CLOSE = 1e-9;

/**
 * A value as its field shows it: a word if it has one, otherwise two decimals or as many as it has.
 * @param {Range} range
 * @param {number} value
 */
export function exact_text({ words, whole }, value) {
  if (words?.[value]) return words[value];
  const text = String(value);
  const is_exact = whole || text.includes('e') || (text.split('.')[1] ?? '').length > 2;
  return with_figures(is_exact ? text : value.toFixed(2));
}

/**
 * The typed number, with a decimal comma or point. A whole number may have thousands separators. NaN for anything else.
 * @param {Range} range
 * @param {string} text
 */
export function typed_number({ words = {}, whole }, text) {
  const typed = text.trim();
  const word = Object.keys(words).find(value => words[value].toLowerCase() === typed.toLowerCase());
  if (word !== undefined) return Number(word);
  if (whole && /^[+-]?[1-9]\d{0,2}([.,]\d{3})+$/.test(typed)) return Number(typed.replace(/[.,]/g, ''));
  const plain = /^[+-]?\d*,\d+(e[+-]?\d+)?$/i.test(typed) ? typed.replace(',', '.') : typed;
  return NUMBER.test(plain) ? Number(plain) : NaN;
}

/**
 * Tell if a slider can be at a value, so that it needs no check.
 * @param {Range} range
 * @param {number} value
 */
export function is_position({ low, high, step }, value) {
  const places = (value - low) / step;
  return value >= low && value <= high && Math.abs(places - Math.round(places)) < CLOSE * Math.max(1, places);
}

/**
 * A text field for an exact value. An invalid entry stays for correction, with a sentence below.
 *
 * @param {Range} range
 * @param {string} label the field's accessible name
 * @param {object} what
 * @param {(value: number) => Promise<Checked>} what.check called for every value that is not a position of the slider
 * @param {(value: number) => void} what.apply called with each new valid value
 */
export function exact_field(range, label, { check, apply }) {
  const input = element('input', {
    type: 'text',
    inputmode: range.whole ? 'numeric' : 'decimal',
    autocomplete: 'off',
    spellcheck: 'false',
    role: 'spinbutton',
    'aria-label': label,
    class: 'dv-exact',
  });
  const alert = element('p', { class: 'dv-complaint dv-hidden', role: 'alert' });
  let current = NaN; // the current value
  let is_typing = false;
  let asked = 0;

  /** @param {string} sentence */
  function complain(sentence) {
    set_text(alert, sentence);
    set_class(alert, sentence ? 'dv-complaint' : 'dv-complaint dv-hidden');
    set_attribute(input, 'aria-invalid', sentence ? 'true' : null);
  }
  function write() {
    const text = Number.isNaN(current) ? '' : exact_text(range, current);
    if (input.value !== text) input.value = text;
    set_attribute(input, 'aria-valuenow', current);
    set_attribute(input, 'aria-valuetext', range.words?.[current]); // otherwise a screen reader would say the number
  }
  /** @param {number} value */
  function take(value) {
    const has_changed = value !== current;
    current = value; // the page redraws one frame later; a held arrow key counts from here
    write();
    if (has_changed) apply(value);
  }
  async function commit() {
    const value = typed_number(range, input.value);
    const turn = ++asked;
    is_typing = false;
    if (is_position(range, value)) {
      complain('');
      return take(value);
    }
    const values = { name: range.name, got: quoted(input.value.trim()), now: exact_text(range, current) };
    const refusal = input.value.trim()
      ? say('{name} must be a number, got {got}; {now} still applies.', values)
      : say('{name} must be a number, got nothing; {now} still applies.', values);
    const checked = Number.isNaN(value) ? { sentence: refusal } : await check(value);
    if (turn !== asked) return; // more was typed in the meantime
    if ('sentence' in checked) return complain(checked.sentence);
    complain('');
    take(checked.value);
  }
  /** @param {number} direction */
  function nudge(direction) {
    const moved = Number((current + direction * range.step).toFixed(6));
    if (!is_position({ ...range, low: Math.min(range.low, current), high: Math.max(range.high, current) }, moved))
      return;
    is_typing = false;
    complain('');
    take(moved);
  }
  input.addEventListener('input', () => {
    is_typing = true;
  });
  input.addEventListener('change', commit);
  input.addEventListener('blur', () => {
    if (is_typing) commit();
  });
  input.addEventListener('keydown', event => {
    if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
      event.preventDefault();
      nudge(event.key === 'ArrowUp' ? 1 : -1);
    } else if (event.key === 'Escape' && (is_typing || alert.textContent)) {
      event.stopPropagation();
      is_typing = false;
      complain('');
      write();
    } else if (event.key === 'Enter' && is_typing) commit();
  });
  return {
    input,
    alert,
    /** @param {number} value the current value */
    update(value) {
      if (value !== current) {
        current = value;
        if (alert.textContent) complain(''); // set elsewhere: the complaint no longer applies
      }
      const is_held = is_typing && input.getRootNode() instanceof Document && document.activeElement === input;
      if (is_held || alert.textContent) return;
      is_typing = false;
      write();
    },
  };
}

/**
 * The range input of a number. It reports each movement by its event `input`. From press to release the hand controls
 * the thumb.
 *
 * @param {Range} range
 * @param {string} label the slider's accessible name
 * @param {object} what
 * @param {() => void} what.settle called when the slider is released
 * @param {(value: number) => string} [what.spoken] the value for a screen reader
 */
export function slider_of(range, label, { settle, spoken = value => exact_text(range, value) }) {
  const { low, high, step } = range;
  const input = element('input', { type: 'range', min: low, max: high, step, 'aria-label': label, class: 'dv-slider' });
  let is_held = false;
  const hold = () => {
    is_held = true;
  };
  const release = () => {
    is_held = false;
  };
  input.addEventListener('pointerdown', hold);
  input.addEventListener('keydown', event => {
    if (MOVING_KEYS.test(event.key)) hold();
  });
  for (const end of ['pointerup', 'pointercancel', 'lostpointercapture', 'keyup', 'blur']) {
    input.addEventListener(end, release);
  }
  input.addEventListener('input', () => set_attribute(input, 'aria-valuetext', spoken(input.valueAsNumber)));
  input.addEventListener('change', () => {
    release();
    settle();
  });
  return {
    input,
    get is_held() {
      return is_held;
    },
    /**
     * @param {number} value beyond an end, the thumb stays at that end
     * @param {number} [most] an upper limit below the range's own
     */
    update(value, most = high) {
      if (is_held) return;
      set_attribute(input, 'max', Math.min(high, most));
      if (input.valueAsNumber !== value) input.value = String(value);
      set_attribute(input, 'aria-valuetext', spoken(value));
    },
  };
}

/**
 * A switch for off and on.
 *
 * @param {string} label
 * @param {(is_on: boolean) => void} turn
 */
export function switch_of(label, turn) {
  let is_on = false;
  const button = element('button', {
    type: 'button',
    role: 'switch',
    class: 'dv-switch',
    'aria-label': label,
    'aria-checked': 'false',
    onclick: () => turn(!is_on),
  });
  return {
    button,
    /**
     * @param {boolean} now_on
     * @param {string} title
     */
    update(now_on, title) {
      is_on = now_on;
      set_attribute(button, 'aria-checked', String(is_on));
      set_attribute(button, 'title', title);
    },
  };
}
