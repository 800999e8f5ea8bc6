// The prompt: text, examples, chat template, Start.

import { element, set_attribute, set_text } from '../lib/dom.js';
import { count, shorten } from '../words/format.js';
import { create_guidance_fields } from './guidance_fields.js';
import { create_menu } from '../lib/menu.js';
import { create_strategy_fields, differs_in_strategy } from './strategy_fields.js';

/** Mounts into `root`; see README.md for what a part is. */
export function create(root, actions) {
  const area = element('textarea', {
    'aria-label': 'Prompt',
    rows: 1,
    class: 'dv-prompt-text',
    spellcheck: 'false',
  });
  const list = element('ul', { class: 'dv-examples' });
  const examples = create_menu('Examples', list);
  const chat = element('input', { type: 'checkbox' });
  const chat_label = element('label', {
    class: 'dv-check',
    title: "Wrap the prompt as the model's chat template does",
  });
  chat_label.append(chat, ' chat template');
  const start = element('button', {
    type: 'button',
    text: 'Start',
    title: 'Begin anew from this prompt (Ctrl+Enter)',
  });
  const refusal = element('p', { class: 'dv-error', role: 'alert' });
  const hint = element('p', { class: 'dv-prompt-hint dv-muted', 'aria-live': 'polite' });
  const strategy = create_strategy_fields(actions);
  const guidance = create_guidance_fields(actions, { begin, changed: () => say(last_state) });
  root.append(
    element(
      'div',
      { class: 'dv-prompt-row' },
      area,
      element(
        'div',
        { class: 'dv-prompt-buttons' },
        examples.node,
        strategy.chooser,
        guidance.button,
        chat_label,
        start,
      ),
    ),
    strategy.node,
    guidance.node,
    refusal,
    hint,
  );
  let shown_run = null;
  let listed = null;
  let taught = null; // the example on screen, while its prompt is
  let last_state = null;

  function begin() {
    actions.start(area.value, chat.checked && !chat_label.hidden, {}, guidance.text);
  }

  function fit_height() {
    area.style.height = 'auto';
    area.style.height = `${Math.min(area.scrollHeight + 2, 160)}px`;
  }

  /** What is said of an example was measured on the bundled model. */
  const is_taught = state =>
    taught?.prompt === area.value &&
    state?.model.source === 'bundled' &&
    guidance.text === taught.negative_prompt &&
    state.wanted.is_search === (taught.strategy !== null);

  function say(state) {
    set_text(refusal, state?.error_at === 'start' ? state.error : '');
    const differs =
      state &&
      shown_run === state.run &&
      (area.value !== state.prompt ||
        chat.checked !== state.chat ||
        guidance.differs(state) ||
        differs_in_strategy(state));
    if (differs)
      set_text(hint, 'Press Start (Ctrl+Enter) to use the new prompt; the text below keeps its own.');
    else set_text(hint, is_taught(state) ? taught.look_at : '');
    start.classList.toggle('dv-wanted', Boolean(differs));
  }

  area.addEventListener('input', () => {
    fit_height();
    say(last_state);
  });
  area.addEventListener('keydown', event => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      begin();
    }
  });
  chat.addEventListener('change', () => say(last_state));
  start.addEventListener('click', begin);
  function try_out(example) {
    examples.close();
    taught = example;
    area.value = example.prompt;
    chat.checked = false;
    fit_height();
    actions.want({ is_search: example.strategy !== null, ...example.strategy });
    if (example.negative_prompt !== null) actions.guide(example.guidance_scale);
    actions.start(example.prompt, false, example.settings, example.negative_prompt);
  }

  const entry = example =>
    element(
      'li',
      {},
      element(
        'button',
        { type: 'button', title: example.look_at, onclick: () => try_out(example) },
        element('b', { text: example.name }),
        element('span', { class: 'dv-token dv-muted', text: shorten(example.prompt, 46) }),
      ),
    );

  return {
    destroy: examples.destroy,
    update(state, _view, reason) {
      last_state = state;
      if (reason === 'resize') fit_height();
      if (listed !== state.examples) {
        listed = state.examples;
        list.replaceChildren(...listed.map(entry));
        taught ??= listed.find(example => example.prompt === state.prompt) ?? null;
      }
      if (shown_run !== state.run) {
        // A new text, also one that came back after a reload: the field shows what it began from.
        shown_run = state.run;
        area.value = state.prompt;
        chat.checked = state.chat;
        guidance.take(state);
        fit_height();
      }
      strategy.update(state);
      guidance.update(state);
      chat_label.hidden = !state.model.has_chat_template;
      set_attribute(
        area,
        'placeholder',
        `Text for the model to go on from (its context holds ${
          state.model.context_length ? `${count(state.model.context_length)} tokens` : 'any number of tokens'
        })`,
      );
      say(state);
    },
  };
}
