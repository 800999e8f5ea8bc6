// The controls on a card: sliders, exact fields, the switch. They hold the values themselves; whoever drags
// or types is never overwritten by an update.

import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { count, quoted, shorten } from '../../words/format.js';

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const MOVING_KEYS = /^(Arrow|Page|Home|End)/;

/**
 * A typed value: `{value}`, or `{sentence}` that names the setting, what was typed and the remedy.
 *
 * @param {object} setting `name`, and the `check` and `remedy` of a field as the catalogue has them
 * @param {string} text what was typed
 * @param {number|null} vocab how many tokens the model scores
 * @param {object} [others] the stage's other fields
 */
export function read_exact(setting, text, vocab, others = {}) {
  const typed = text.trim();
  const [word] = Object.entries(setting.words ?? {}).find(([, each]) => each === typed.toLowerCase()) ?? [];
  const value = Number(word ?? (NUMBER.test(typed) ? typed : NaN));
  const is_number = Number.isFinite(value);
  const problem = is_number ? setting.check(value, others, vocab) : 'must be a number';
  if (!problem) return { value };
  const shown = typed === '' ? 'nothing' : is_number ? shorten(typed, 24) : quoted(typed);
  const remedy = typeof setting.remedy === 'function' ? setting.remedy(value, vocab) : setting.remedy;
  return { sentence: `${setting.name} ${problem}, got ${shown}; ${remedy}.` };
}

/** A value as its field shows it: a word where it has one, two decimals or as many as it has. */
export function exact_text(field, value) {
  if (field.words?.[value]) return field.words[value];
  const text = String(value);
  if (field.integer) return text;
  return text.includes('e') || (text.split('.')[1] ?? '').length > 2 ? text : value.toFixed(2);
}

/** The value as a screen reader says it; `off` is the stage's, undefined for one field of several. */
export function spoken_value(field, value, off) {
  if (field.name === 'temperature' && value === 0) return 'greedy';
  if (value === off) return 'off';
  return field.integer && !field.words?.[value] ? count(value) : exact_text(field, value);
}

/**
 * A text field for an exact value, with its sentence for nonsense.
 *
 * @param {object} setting `name` in the sentence, `check`, `remedy`, `step` as in `read_exact`
 * @param {string} label its accessible name
 * @param {(value: number) => void} apply called with each new valid value
 * @param {() => object} [others] the stage's other fields
 */
export function exact_field(setting, label, apply, others = () => ({})) {
  const input = element('input', {
    type: 'text',
    inputmode: setting.step < 1 ? 'decimal' : 'numeric',
    autocomplete: 'off',
    spellcheck: 'false',
    role: 'spinbutton',
    'aria-label': label,
    class: 'dv-exact',
  });
  const alert = element('p', { class: 'dv-card-error dv-hidden', role: 'alert' });
  let current; // the value that is set
  let vocab = null;
  let is_typing = false;
  const complain = sentence => {
    set_text(alert, sentence);
    set_class(alert, sentence ? 'dv-card-error' : 'dv-card-error dv-hidden');
    set_attribute(input, 'aria-invalid', sentence ? 'true' : null);
  };
  const write = () => {
    const text = exact_text(setting, current);
    if (input.value !== text) input.value = text;
    set_attribute(input, 'aria-valuenow', current);
    set_attribute(input, 'aria-valuetext', setting.words?.[current]); // a screen reader would say the number
  };
  /** The page redraws a frame later; what follows at once, as a held arrow key, counts from here. */
  const take = value => {
    const has_changed = value !== current;
    current = value;
    write();
    if (has_changed) apply(value);
  };
  const commit = () => {
    const { value, sentence } = read_exact(setting, input.value, vocab, others());
    is_typing = false;
    complain(sentence ?? '');
    if (sentence) return; // what was typed stays, to be mended
    take(value);
  };
  const nudge = direction => {
    const moved = Number((current + direction * (setting.step ?? 1)).toFixed(6));
    if (setting.check(moved, others(), vocab)) return;
    is_typing = false;
    complain('');
    take(moved);
  };
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
    update(value, vocab_size) {
      vocab = vocab_size;
      if (value !== current) {
        current = value;
        if (alert.textContent) complain(''); // set elsewhere: the complaint is about nothing any more
      }
      const is_held = is_typing && input.getRootNode().activeElement === input;
      if (!is_held && !alert.textContent) {
        is_typing = false;
        write();
      }
    },
  };
}

/**
 * The range input of a number. Between pressing and letting go the hand owns the thumb.
 *
 * @param {object} field as in the catalogue
 * @param {string} label its accessible name
 * @param {{off?: number, slide(value: number): void, settle(): void}} what it changes; `off` is spoken so
 */
export function slider_of(field, label, { off, slide, settle }) {
  const input = element('input', {
    type: 'range',
    min: field.low,
    max: field.high,
    step: field.step,
    'aria-label': label,
    class: 'dv-slider',
  });
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
  input.addEventListener('input', () => {
    const value = input.valueAsNumber;
    set_attribute(input, 'aria-valuetext', spoken_value(field, value, off));
    slide(value);
  });
  input.addEventListener('change', () => {
    release();
    settle();
  });
  return {
    input,
    get is_held() {
      return is_held;
    },
    update(value, vocab) {
      if (is_held) return;
      if (field.name === 'k' && vocab) set_attribute(input, 'max', Math.min(field.high, vocab));
      if (input.valueAsNumber !== value) input.value = value; // beyond the end it stands at the end
      set_attribute(input, 'aria-valuetext', spoken_value(field, value, off));
    },
  };
}

/**
 * Off and on again.
 *
 * @param {string} label the stage's
 * @param {(is_on: boolean) => void} turn
 */
export function switch_of(label, turn) {
  let is_on = false;
  const button = element('button', {
    type: 'button',
    role: 'switch',
    class: 'dv-switch',
    'aria-label': `${label} on`,
    'aria-checked': 'false',
    onclick: () => turn(!is_on),
  });
  return {
    button,
    /** `with_value` is what it would be switched on with, in words. */
    update(now_on, with_value) {
      is_on = now_on;
      set_attribute(button, 'aria-checked', String(is_on));
      set_attribute(button, 'title', is_on ? 'Switch off' : `Switch on${with_value}`);
    },
  };
}
