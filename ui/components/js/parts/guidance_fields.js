// What a text under guidance begins from, in the prompt: the negative prompt, and the scale, which may move
// at any time.

import { exact_field, slider_of } from './cards/fields.js';
import { element, set_attribute, set_text } from '../lib/dom.js';

const MOST = 100; // as in engine/guidance.py
const SCALE = {
  name: 'Guidance scale',
  low: 1,
  high: 5,
  step: 0.05,
  check: value => (value >= 1 && value <= MOST ? null : `must be from 1 to ${MOST}`),
  remedy: '1 is without guidance, 1.5 is a good start',
};

/**
 * @param {object} actions
 * @param {{begin(): void, changed(): void}} what to do when the text is to begin, and when it is another
 */
export function create_guidance_fields(actions, { begin, changed }) {
  const button = element('button', {
    type: 'button',
    text: 'Guidance',
    'aria-expanded': 'false',
    'aria-controls': 'dv-guidance-fields',
    title: 'Lead the text away from a negative prompt (classifier-free guidance)',
    onclick: toggle,
  });
  const area = element('textarea', {
    'aria-label': 'Negative prompt',
    rows: 1,
    class: 'dv-prompt-text',
    spellcheck: 'false',
    placeholder: 'Text to lead away from, for example the prompt without the word that matters',
  });
  const apply = value => {
    actions.guide(value);
    actions.settle();
  };
  const slider = slider_of(SCALE, SCALE.name, { off: 1, slide: actions.guide, settle: actions.settle });
  const exact = exact_field(SCALE, `${SCALE.name}, exact`, apply);
  const note = element('p', { class: 'dv-muted dv-guidance-note' });
  const node = element(
    'div',
    { class: 'dv-guidance-fields', id: 'dv-guidance-fields', hidden: true },
    element(
      'div',
      { class: 'dv-guidance-away' },
      element('span', { class: 'dv-muted', text: 'away from' }),
      area,
    ),
    element(
      'div',
      { class: 'dv-guidance-scale' },
      element('span', { class: 'dv-muted', text: 'scale' }),
      slider.input,
      exact.input,
    ),
    exact.alert,
    note,
  );

  let is_open = false;
  let is_possible = true; // a search takes no negative prompt
  function arrange() {
    button.hidden = !is_possible;
    node.hidden = !is_open || !is_possible;
    set_attribute(button, 'aria-expanded', String(is_open));
  }
  function toggle() {
    is_open = !is_open;
    arrange();
    if (is_open) area.focus();
    changed();
  }
  area.addEventListener('input', changed);
  area.addEventListener('keydown', event => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      begin();
    }
  });

  return {
    button,
    node,
    /** The negative prompt as it stands there; null while the fields are closed. */
    get text() {
      return node.hidden ? null : area.value;
    },
    /** A new text, also one that came back after a reload: the fields show what it began from. */
    take({ negative_prompt }) {
      is_open = negative_prompt !== null;
      arrange();
      if (negative_prompt !== null) area.value = negative_prompt;
    },
    /** Whether Start would begin something else than what is on screen. */
    differs({ negative_prompt, negative_tokens, guidance_scale }) {
      if (this.text !== negative_prompt) return true;
      return this.text !== null && negative_tokens === null && guidance_scale !== 1;
    },
    update({ negative_tokens, guidance_scale, wanted }) {
      is_possible = !wanted.is_search;
      arrange();
      slider.update(guidance_scale, null);
      exact.update(guidance_scale, null);
      const is_off = guidance_scale === 1;
      set_text(
        note,
        negative_tokens
          ? 'The scale acts on the step on screen at once, and on the next ones.'
          : is_off
            ? 'Scale 1 is without guidance: Start reads the prompt alone.'
            : 'Start reads both prompts: two passes a step, two caches. Above 1 the text is led away from this one.',
      );
    },
  };
}
