// Stage view's controls in addition to Step and Play: a slider for the sampler chosen here, and hide and reveal.

import { sampler_of } from '../../kernel/table.js';
import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { exact_text, slider_of } from '../../lib/fields.js';
import { say } from '../../words/say.js';

/** @import { Actions, Sampler, State } from '../../types.js' */
/** @typedef {Pick<State, 'table' | 'settings' | 'model' | 'stage_slider' | 'hiding' | 'strategy' | 'read_only'>} Properties */

/** The page's samplers that one slider sets; none in a search, which draws nothing. @param {Properties} state */
const slidable = ({ table, settings, strategy }) =>
  (settings.order ?? []).flatMap(name => {
    const sampler = sampler_of(table, name);
    return sampler?.value === 'number' && (!strategy || sampler.kind === 'edit') ? [sampler] : [];
  });

/** @param {Sampler} sampler @param {number} value */
const value_text = ({ kind, off, numbers }, value) =>
  kind === 'cut' && value === off ? say('off') : exact_text(numbers[0], value);

/**
 * @param {HTMLElement} root
 * @param {Pick<Actions, 'set' | 'settle' | 'show' | 'hide'>} actions
 */
export function create(root, actions) {
  const choice = element('select', { 'aria-label': say('Slider for') });
  let is_pointed = false;
  for (const how of ['pointerdown', 'keydown'])
    choice.addEventListener(how, () => {
      is_pointed = how === 'pointerdown';
    });
  choice.addEventListener('change', () => {
    actions.show({ stage_slider: choice.value });
    if (is_pointed) choice.blur(); // later keys belong to the page
  });
  const value = element('output');
  const box = element('div', { class: 'dv-stage-slider' }, choice, value);
  const hide = element('button', {
    type: 'button',
    text: say('Hide'),
    title: say('Cover the candidates of each step until they are revealed (H)'),
    'aria-keyshortcuts': 'H',
    onclick: () => actions.hide(),
  });
  root.append(hide, box);
  /** @type {ReturnType<typeof slider_of>|null} */
  let slider = null;
  let shown = '';

  /** @param {Sampler} sampler */
  function slide(sampler) {
    slider?.input.remove();
    slider = slider_of(sampler.numbers[0], sampler.label, {
      settle: () => actions.settle(),
      spoken: changed => value_text(sampler, changed),
    });
    const { input } = slider;
    input.addEventListener('input', () => actions.set({ [sampler.name]: input.valueAsNumber }));
    value.before(input);
    shown = sampler.name;
  }

  return {
    /** @param {Properties} state */
    update(state) {
      set_attribute(hide, 'aria-pressed', String(state.hiding));
      const samplers = state.read_only ? [] : slidable(state);
      const names = samplers.map(({ name }) => name);
      set_class(box, names.length ? 'dv-stage-slider' : 'dv-hidden');
      if (!names.length) return;
      if ([...choice.options].map(option => option.value).join() !== names.join())
        choice.replaceChildren(...samplers.map(({ name, label }) => element('option', { value: name, text: label })));
      const sampler = samplers[Math.max(0, names.indexOf(state.stage_slider))];
      choice.value = sampler.name;
      if (shown !== sampler.name) slide(sampler);
      const now = Number(state.settings[sampler.name] ?? sampler.off);
      slider?.update(now, sampler.picture === 'rank' ? (state.model?.listed ?? state.model?.vocab_size) : undefined);
      set_text(value, value_text(sampler, now));
    },
  };
}
