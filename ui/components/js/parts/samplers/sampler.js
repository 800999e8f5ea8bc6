// One sampler: its controls, its effect on this step, and its description. A sampler that is off takes one line.

import { is_on as is_sampler_on } from '../../kernel/chain.js';
import { usual_value } from '../../kernel/table.js';
import { element, set_attribute, set_text } from '../../lib/dom.js';
import { exact_field, exact_text, slider_of, switch_of } from '../../lib/fields.js';
import { say } from '../../words/say.js';
import { effect } from './effect.js';
import { rule_picture } from './rule_picture.js';
import { source_editor } from './source.js';
import { token_editor } from './tokens.js';

/** @import { Actions, Fields, NumberField, Sampler, State, Table, Value, View } from '../../types.js' */
/** @typedef {Pick<State, 'table' | 'settings' | 'stage_defaults' | 'model' | 'view' | 'point' | 'row' | 'labels' | 'strategy' | 'digits'>} Properties */
/** @typedef {ReturnType<typeof create_sampler>} SamplerPart */

/** A value in words, for the title of the switch. @param {Sampler} sampler @param {Value} value */
function in_words({ numbers, value: shape }, value) {
  if (shape === 'number') return exact_text(numbers[0], Number(value));
  const fields = /** @type {Fields} */ (value);
  return numbers.map(number => `${number.label} ${exact_text(number, Number(fields[number.name]))}`).join(', ');
}

/** The reason why an active sampler has no effect on screen. @param {View|null} view @param {string} name */
const when_it_holds = (view, name) =>
  !view
    ? say('no scores yet')
    : view.missing === name
      ? say('the server is computing it')
      : say('holds from the next token on');

/**
 * An active sampler's effect in contrastive search, which has no row to show it on.
 *
 * @param {Sampler} sampler
 * @returns {[string, string]}
 */
const in_search = ({ kind }) =>
  kind === 'edit'
    ? ['acts on the scores that candidates come from', '']
    : ['No effect here', 'contrastive search draws nothing'];

/**
 * A sampler's description: a sentence, a formula, its source, and its rule as a picture.
 *
 * @param {Sampler} sampler
 * @param {HTMLElement|SVGElement} picture
 */
function details_of({ name, about, formula, paper }, picture) {
  const source =
    paper && element('a', { href: paper.url, target: '_blank', rel: 'noopener noreferrer', text: paper.text });
  return element(
    'div',
    { class: 'dv-about', id: `dv-about-${name}`, hidden: true },
    element('p', { text: about }),
    element('p', { class: 'dv-formula', text: formula }),
    picture,
    ...(source ? [element('p', {}, source)] : []),
  );
}

/**
 * The sampler's fields with one changed; the other number of a pair gives way.
 *
 * @param {Sampler} sampler
 * @param {Fields} fields
 * @param {string} name
 * @param {number} value
 */
function with_field({ pair }, fields, name, value) {
  const changed = { ...fields, [name]: value };
  if (!pair) return changed;
  const [low, high] = pair;
  if (Number(changed[low]) > Number(changed[high])) changed[name === low ? high : low] = value;
  return changed;
}

/**
 * @param {Sampler} sampler
 * @param {Actions} actions
 * @param {{grip: HTMLElement, remove: (() => void)|null}} handles its drag handle; a function that removes it, or null
 *   if it stays
 */
export function create_sampler(sampler, actions, { grip, remove }) {
  const { name, label } = sampler;
  const has_numbers = sampler.value === 'number' || sampler.value === 'numbers';
  /** @type {Value} */
  let value = sampler.off;
  /** @type {Value} */
  let remembered = null; // its last setting
  /** @type {Record<string, Fields>} */
  let defaults = {};
  /** @type {number|null} */
  let vocab = null;
  let is_line = false;
  /** @type {Table|null} */
  let table = null;
  // An empty list of tokens is not a value to switch on: such a sampler waits for its first token, or its source.
  const known = () => remembered ?? (has_numbers ? usual_value(sampler, defaults) : null);
  const is_on = () => table !== null && is_sampler_on(table, { [name]: value }, name);
  const starting_value = () => {
    const start = known();
    return sampler.picture === 'rank' && vocab && typeof start === 'number' ? Math.min(start, vocab) : start;
  };
  /** The settings with a new value, before the page draws them. @param {Value} changed */
  const changed_to = changed => {
    value = changed;
    if (is_on()) remembered = changed;
    return { [name]: changed };
  };
  const take = (/** @type {Value} */ changed) => {
    actions.set(changed_to(changed));
    actions.settle();
  };

  /** The slider and exact field of one number. @param {NumberField} number */
  function control(number) {
    const is_only = sampler.value === 'number';
    const accessible = is_only ? label : `${label} ${number.label.toLowerCase()}`;
    const fields = () => /** @type {Fields} */ (is_on() ? value : known());
    const read = (/** @type {Value} */ shown) =>
      Number(is_only ? (shown ?? known()) : /** @type {Fields} */ (shown ?? known())[number.name]);
    const with_number = (/** @type {number} */ changed) =>
      is_only ? changed : with_field(sampler, fields(), number.name, changed);
    const range = { ...number, name: is_only ? label : `${label} ${number.label.toLowerCase()}` };
    const off = is_only ? sampler.off : undefined;
    const spoken = (/** @type {number} */ shown) => (shown === off ? say('off') : exact_text(number, shown));
    const exact = exact_field(range, say('{name}, exact value', { name: accessible }), {
      check: typed => actions.check(name, number.name, typed),
      apply: changed => take(with_number(changed)),
    });
    const slider = slider_of(range, accessible, {
      spoken,
      settle() {
        lay_out();
        actions.settle();
      },
    });
    slider.input.addEventListener('input', () => actions.set(changed_to(with_number(slider.input.valueAsNumber))));
    const row = is_only
      ? null
      : element(
          'div',
          { class: 'dv-pair' },
          element('span', { text: number.label, 'aria-hidden': 'true' }),
          slider.input,
          exact.input,
        );
    return {
      slider,
      exact,
      row,
      /** @param {Value} shown */
      update(shown) {
        slider.update(read(shown), sampler.picture === 'rank' ? (vocab ?? undefined) : undefined);
        exact.update(read(shown));
      },
    };
  }
  const controls = has_numbers ? sampler.numbers.map(control) : [];
  const own_editor = () =>
    sampler.value === 'source' ? source_editor(sampler, take) : token_editor(sampler, actions, take);
  const editor = has_numbers ? null : own_editor();
  const toggle = switch_of(say('{name} on', { name: label }), turn_on => {
    const start = starting_value();
    if (turn_on && start === null) return editor?.focus(); // nothing to switch on before a token or a source is given
    take(turn_on ? start : sampler.off);
  });

  const picture = rule_picture(sampler);
  const first = element('p', { class: 'dv-effect' });
  const second = element('p', { class: 'dv-effect dv-muted' });
  const remark = element('p', { class: 'dv-remark dv-hidden' });
  const details = details_of(sampler, picture.node);
  const ask = element('button', {
    type: 'button',
    class: 'dv-quiet dv-ask',
    text: '?',
    'aria-label': say('About {name}', { name: label }),
    'aria-expanded': 'false',
    'aria-controls': details.id,
    onclick: () => {
      details.hidden = !details.hidden;
      actions.show({}); // to draw its picture
      set_attribute(ask, 'aria-expanded', String(!details.hidden));
    },
  });
  const [only] = sampler.value === 'number' ? controls : [];
  const rows = controls.map(({ row }) => row).filter(row => row !== null);
  const node = element(
    'section',
    { class: 'dv-sampler', role: 'group', 'aria-label': label, 'data-sampler': name },
    element(
      'div',
      { class: 'dv-sampler-head' },
      grip,
      element('span', { class: 'dv-sampler-name', text: label, title: sampler.about }),
      ask,
      ...(only ? [only.exact.input] : []),
      toggle.button,
      ...(remove
        ? [
            element('button', {
              type: 'button',
              class: 'dv-quiet',
              text: '×',
              'aria-label': say('Remove {name}', { name: label }),
              onclick: remove,
            }),
          ]
        : []),
    ),
    ...(only ? [only.slider.input] : []),
    ...(rows.length || editor
      ? [element('div', { class: 'dv-fields' }, ...rows, ...(editor ? [editor.node] : []))]
      : []),
    element('div', { class: 'dv-effects' }, first, second),
    remark,
    details,
    ...controls.map(({ exact }) => exact.alert),
  );

  /** Use one line while off, except while a hand drags the slider through its off value. */
  function lay_out() {
    const wants_line = !is_on() && known() !== null;
    const is_held = controls.some(({ slider }) => slider.is_held);
    const has_focus = controls.some(({ slider, exact }) =>
      [slider.input, exact.input].some(input => input === document.activeElement),
    );
    if (!is_held && (!wants_line || !has_focus)) is_line = wants_line;
    node.classList.toggle('dv-sampler-line', is_line);
  }

  /** @param {string} one @param {string} two @param {string} [three] */
  function tell(one, two, three = '') {
    set_text(remark, three);
    remark.classList.toggle('dv-hidden', !three);
    set_text(first, one);
    set_text(second, two);
    set_attribute(first, 'title', one);
    set_attribute(second, 'title', two);
  }

  return {
    node,
    starting_value,
    /** Put the focus where a person continues: the first number, the box for a token, or the switch. */
    focus() {
      (editor ?? controls[0]?.slider.input ?? toggle.button).focus();
    },
    /** @param {Properties} state */
    update(state) {
      const { view } = state;
      table = state.table;
      value = /** @type {Value} */ (state.settings[name] ?? sampler.off);
      if (is_on()) remembered = value;
      defaults = state.stage_defaults;
      vocab = state.model?.listed ?? state.model?.vocab_size ?? null;
      for (const each of controls) each.update(value);
      editor?.update(is_on() ? value : remembered, state);
      const start = starting_value();
      toggle.update(
        is_on(),

        is_on()
          ? say('Switch off')
          : editor || start === null
            ? say('Switch on')
            : say('Switch on, with {value}', { value: in_words(sampler, start) }),
      );
      lay_out();
      const shown = view?.samplers.find(each => each.name === name);
      const place = view ? view.points.findIndex(point => point.name === name) : -1;
      const is_later = view !== null && place > view.point;
      const is_applied = Boolean(shown?.on) && !is_later;
      const is_idle = state.strategy !== null && sampler.kind !== 'edit';
      node.classList.toggle('dv-faded', !is_on() || is_idle || Boolean(shown?.no_effect));
      node.classList.toggle('dv-lit', state.point !== null && place >= 0 && place === view?.point);
      if (!is_on()) tell(sampler.idle, '');
      else if (state.strategy) tell(...in_search(sampler));
      else if (!shown?.on) tell(when_it_holds(view, name), '');
      else if (is_later) tell(say('not applied yet'), '');
      else tell(...effect(sampler, shown, state.table, state.digits), shown.remark ?? '');
      if (!details.hidden) picture.update(view, is_applied ? (shown ?? null) : null);
    },
  };
}
