// One stage's card: its controls, what it did to this step, and its picture. A card that is off is one line.

import { effect } from './effects.js';
import { exact_field, exact_text, slider_of, switch_of } from './fields.js';
import { usual_value } from '../../words/catalogue.js';
import { is_on as is_stage_on } from '../../kernel/chain.js';
import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { stage_picture } from './geometry.js';
import { token_editor } from './token_editors.js';

/** Whether a stage is on, still to come at the point that is looked at, or is that point. */
export function standing(state, view, name) {
  const place = view.points.findIndex(point => point.name === name);
  return {
    is_later: place >= 0 && place > view.point,
    is_lit: state.point !== null && place === view.point,
  };
}

/** The classes of a card by its state. */
export function card_class({ is_faded = false, is_lit = false, is_line = false }) {
  const own = [is_faded && 'dv-card-faded', is_lit && 'dv-card-lit', is_line && 'dv-card-line'];
  return ['dv-card', ...own.filter(Boolean)].join(' ');
}

/** A value in words, for the title of the switch. */
function in_words(stage, value) {
  if (stage.editor === 'number') return exact_text(stage.fields[0], value);
  const one = field => `${field.label} ${exact_text(field, value[field.name])}`;
  return stage.fields.map(one).join(', ');
}

/** What the stage is: in a sentence, as a formula, and where it comes from. */
function details_of(stage) {
  const paper =
    stage.paper &&
    element('a', {
      href: stage.paper.url,
      target: '_blank',
      rel: 'noopener noreferrer',
      text: stage.paper.text,
    });
  return element(
    'div',
    { class: 'dv-card-about', id: `dv-about-${stage.name}`, hidden: true },
    element('p', { text: stage.about }),
    element('p', { class: 'dv-formula', text: stage.formula }),
    ...(paper ? [element('p', {}, paper)] : []),
  );
}

/** The "?" that opens and closes them. */
function details_button(stage, details) {
  const button = element('button', {
    type: 'button',
    class: 'dv-ask',
    text: '?',
    'aria-label': `About ${stage.label}`,
    'aria-expanded': 'false',
    'aria-controls': details.id,
    onclick: () => {
      details.hidden = !details.hidden;
      set_attribute(button, 'aria-expanded', String(!details.hidden));
    },
  });
  return button;
}

/** Slider and exact field of one number. `read` and `write` reach its value within the stage's. */
function number_control(stage, field, actions, { read, write, fields, after }) {
  const is_only = stage.editor === 'number';
  const label = is_only ? stage.label : `${stage.label} ${field.label.toLowerCase()}`;
  const setting = { ...field, name: is_only ? stage.name : `${stage.name}.${field.name}` };
  const apply = value => {
    write(value);
    actions.settle();
  };
  const exact = exact_field(setting, `${label}, exact value`, apply, fields);
  const off = is_only ? stage.off : undefined;
  const slider = slider_of(field, label, {
    off,
    slide: write,
    settle() {
      after();
      actions.settle();
    },
  });
  return {
    field,
    slider,
    exact,
    row: is_only
      ? null
      : element(
          'div',
          { class: 'dv-field' },
          element('span', { class: 'dv-field-name', text: field.label, 'aria-hidden': 'true' }),
          slider.input,
          exact.input,
        ),
    update(value, vocab) {
      const shown = read(value);
      slider.update(shown, vocab);
      exact.update(shown, vocab);
    },
  };
}

/** A stage's fields with one changed; of a pair the other gives way. */
function with_field(stage, fields, name, value) {
  const changed = { ...fields, [name]: value };
  const [low, high] = stage.pair ?? [];
  if (stage.pair && changed[low] > changed[high]) changed[name === low ? high : low] = value;
  return changed;
}

/**
 * @param {object} stage as in the catalogue
 * @param {object} actions
 * @param {{grip: HTMLElement, remove: (() => void)|null}} parts the handle that moves the card; what takes it
 *   away, null for a card that stays
 */
export function stage_card(stage, actions, { grip, remove }) {
  const { name } = stage;
  let value = stage.off;
  let remembered = null; // what it was set to last
  let defaults = {};
  let vocab = null;
  let is_line = false;
  // An empty list of tokens is no value to switch on with: such a card waits for its first token.
  const known = () => remembered ?? (editor ? null : usual_value(stage, defaults));
  const is_on = () => is_stage_on({ [name]: value }, name);
  const starting_value = () => {
    const start = known();
    return name === 'top_k' && vocab ? Math.min(start, vocab) : start;
  };
  const set = changed => {
    value = changed;
    if (is_on()) remembered = changed;
    actions.set({ [name]: changed });
  };

  const fields = () => (is_on() ? value : known());
  const controls = (stage.editor === 'number' || stage.editor === 'numbers' ? stage.fields : []).map(field =>
    number_control(
      stage,
      field,
      actions,
      stage.editor === 'number'
        ? { read: shown => shown ?? known(), write: set, fields: () => ({}), after: lay_out }
        : {
            read: shown => (shown ?? known())[field.name],
            write: changed => set(with_field(stage, fields(), field.name, changed)),
            fields,
            after: lay_out,
          },
    ),
  );
  const editor = controls.length
    ? null
    : token_editor(stage, actions, changed => {
        set(changed);
        actions.settle();
      });
  const toggle = switch_of(stage.label, turn_on => {
    const start = starting_value();
    if (turn_on && start === null) return editor.focus(); // nothing to switch on before a token is named
    set(turn_on ? start : stage.off);
    actions.settle();
  });

  const picture = stage_picture(name);
  const first = element('div', { class: 'dv-effect' });
  const second = element('div', { class: 'dv-effect dv-muted' });
  const remark = element('p', { class: 'dv-card-remark dv-hidden' });
  const details = details_of(stage);
  const [only] = stage.editor === 'number' ? controls : [];
  const card = element(
    'section',
    { class: 'dv-card', role: 'group', 'aria-label': `Card: ${stage.label}`, 'data-stage': name },
    grip,
    element('span', { class: 'dv-card-name', text: stage.label, title: stage.about }),
    details_button(stage, details),
    ...(only ? [only.slider.input, only.exact.input] : []),
    toggle.button,
    ...(remove
      ? [
          element('button', {
            type: 'button',
            class: 'dv-remove',
            text: '×',
            'aria-label': `Remove ${stage.label}`,
            title: 'Remove the card',
            onclick: remove,
          }),
        ]
      : []),
    ...(only
      ? []
      : [
          element(
            'div',
            { class: 'dv-fields' },
            ...controls.map(control => control.row),
            ...(editor ? [editor.node] : []),
          ),
        ]),
    element(
      'div',
      { class: 'dv-card-body' },
      picture.node,
      element('div', { class: 'dv-effects' }, first, second),
    ),
    remark,
    details,
    ...controls.map(control => control.exact.alert),
  );

  /** One line while off; never while the hand that turns a slider through its off value is on it. */
  function lay_out() {
    const inputs = controls.flatMap(({ slider, exact }) => [slider.input, exact.input]);
    const wants_line = !is_on() && known() !== null;
    const is_held = controls.some(({ slider }) => slider.is_held);
    const has_focus = inputs.includes(card.getRootNode().activeElement);
    if (!is_held && (!wants_line || !has_focus)) is_line = wants_line;
    card.classList.toggle('dv-card-line', is_line);
  }

  const say = (one, two, three = '') => {
    set_text(remark, three);
    set_class(remark, three ? 'dv-card-remark' : 'dv-card-remark dv-hidden');
    set_text(first, one);
    set_text(second, two);
    set_attribute(first, 'title', one);
    set_attribute(second, 'title', two);
  };
  const dress = states => {
    lay_out();
    set_class(card, card_class({ ...states, is_line }));
  };

  return {
    card,
    starting_value,
    /** Put the focus where one goes on: the first number, or the box for a token. */
    focus() {
      if (editor) editor.focus();
      else controls[0].slider.input.focus();
    },
    update(state, view) {
      value = state.settings[name] ?? stage.off;
      if (is_on()) remembered = value;
      defaults = state.stage_defaults;
      vocab = state.model?.vocab_size ?? view?.vocab ?? null;
      for (const control of controls) control.update(value, vocab);
      editor?.update(is_on() ? value : remembered, state);
      const start = starting_value();
      toggle.update(is_on(), editor || start === null ? '' : `, with ${in_words(stage, start)}`);
      if (!view) {
        dress({ is_faded: !is_on() });
        say(is_on() ? 'no scores yet' : 'off', is_on() ? '' : stage.idle);
        picture.update(null);
        return;
      }
      const shape = view.stages.find(each => each.name === name);
      const { is_later, is_lit } = standing(state, view, name);
      const is_applied = Boolean(shape?.on) && !is_later && shape.before > 0;
      dress({ is_faded: !is_applied || Boolean(shape?.switched_off), is_lit });
      set_attribute(second, 'data-long', Boolean(shape?.on && shape.switched_off));
      if (!shape?.on) say('off', stage.idle);
      else if (is_later) say('not yet applied', '');
      else say(...effect(state, view, shape), shape.remark ?? '');
      picture.update(view, shape ?? { name, on: false, value: stage.off, figures: {} }, is_applied);
    },
  };
}
