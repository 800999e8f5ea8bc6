// The prompt: its text (folded to one line unless it is being edited), examples and earlier texts, Start.

import { element, set_attribute, set_class, set_text } from '../lib/dom.js';
import { create_menu } from '../lib/menu.js';
import { shorten, tokens } from '../words/format.js';
import { say } from '../words/say.js';
import { can_reply, create_chat } from './chat.js';
import { primary_of } from './primary.js';

/** @import { State, Actions, EarlierText } from '../types.js' */
/** @typedef {State} Properties */

const TALLEST = 0.4; // of the window, while it is being edited
/** Tell if this is a phone: there, Enter is the only key for a new line, and Start is a button. */
const is_touched = () => matchMedia('(pointer: coarse)').matches;

/**
 * @param {HTMLElement} root
 * @param {Actions} actions
 */
export function create(root, actions) {
  const area = element('textarea', {
    'aria-label': say('Prompt'),
    rows: 1,
    class: 'dv-prompt-text',
    spellcheck: 'false',
  });
  const examples = element('ul', { class: 'dv-texts' });
  const earlier = element('ul', { class: 'dv-texts' });
  const examples_title = element('h3', { text: say('Examples') });
  const earlier_title = element('h3', { text: say('Earlier texts of yours') });
  const examples_note = element('p', { class: 'dv-muted' });
  const menu = create_menu(say('Examples'), earlier_title, earlier, examples_title, examples_note, examples);
  const chat = create_chat(actions);
  const reply = element('button', {
    type: 'button',
    text: say('Reply'),
    title: say('Continue the conversation with this message'),
    onclick: () => actions.reply(),
  });
  const start = element('button', { type: 'button', text: say('Start'), onclick: () => actions.start() });
  root.classList.add('dv-prompt');
  // A folded field would cut its second line in the middle: this element covers it and shows where lines end.
  const folded = element('span', { class: 'dv-prompt-folded dv-token dv-line', 'aria-hidden': 'true' });
  root.append(element('div', { class: 'dv-prompt-place' }, area, folded), chat.node, menu.node, reply, start);
  let listed = '';
  let listed_earlier = '';
  let replies = false;
  let shown_prompt = '';

  function fit() {
    area.style.height = '';
    if (document.activeElement !== area) {
      area.scrollTop = 0;
      return;
    }
    const tall = Math.min(area.scrollHeight + 2, window.innerHeight * TALLEST);
    if (tall > area.offsetHeight) area.style.height = `${tall}px`;
  }
  area.addEventListener('focus', () => {
    fit();
    if (replies && area.value === shown_prompt) area.select(); // typing replaces the answered message
  });
  area.addEventListener('blur', fit);
  area.addEventListener('input', () => {
    fit();
    actions.draft({ prompt: area.value });
  });
  area.addEventListener('keydown', event => {
    if (event.key === 'Escape') area.blur();
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || is_touched()) return;
    event.preventDefault();
    area.blur();
    if (replies && area.value !== shown_prompt) actions.reply();
    else actions.start();
  });

  /**
   * @param {string} title
   * @param {string} text
   * @param {string} about
   * @param {() => void} choose
   */
  const entry = (title, text, about, choose) => {
    const shown = element('span', { class: 'dv-token dv-muted dv-line', text: shorten(text, 46) });
    const onclick = () => {
      menu.close();
      choose();
    };
    return element(
      'li',
      {},
      element('button', { type: 'button', title: about, onclick }, element('b', { text: title }), shown),
    );
  };

  return {
    destroy() {
      menu.destroy();
      chat.destroy();
    },
    /** @param {Properties} state */
    update(state) {
      chat.update(state);
      replies = can_reply(state);
      shown_prompt = state.prompt;
      set_class(reply, replies ? '' : 'dv-hidden');
      reply.classList.toggle('dv-primary', primary_of(state) === 'reply');
      if (area.value !== state.draft.prompt) {
        area.value = state.draft.prompt;
        fit();
      }
      const has_lines = state.draft.prompt.includes('\n');
      set_class(folded, has_lines ? 'dv-prompt-folded dv-token dv-line' : 'dv-hidden');
      set_text(folded, has_lines ? state.draft.prompt.replaceAll('\n', '⏎') : '');
      const most = state.model?.context_length;
      const room = most
        ? say('Text for the model to continue (its context holds {tokens})', { tokens: tokens(most) })
        : say('Text for the model to continue (its context holds any number of tokens)');
      set_attribute(area, 'placeholder', room);
      start.classList.toggle('dv-primary', primary_of(state) === 'start');
      const title = state.drafted ? say('Begin with this prompt (Enter)') : say('Begin again from this prompt (Enter)');
      set_attribute(start, 'title', is_touched() ? null : title);
      const known = JSON.stringify(state.examples); // a page that connects again gets them again
      if (listed !== known) {
        listed = known;
        const { list, note } = state.examples;
        set_text(examples_note, note);
        set_class(examples_note, note ? 'dv-muted' : 'dv-hidden');
        examples.replaceChildren(
          ...list.map(each => entry(each.name, each.prompt, each.look_at, () => actions.try_example(each))),
        );
      }
      const texts = JSON.stringify(state.earlier);
      if (listed_earlier === texts) return;
      listed_earlier = texts;
      for (const title of [earlier_title, examples_title]) set_class(title, state.earlier.length ? '' : 'dv-hidden');
      earlier.replaceChildren(...state.earlier.map(earlier_entry).reverse());
    },
  };

  /** @param {EarlierText} text */
  function earlier_entry(text) {
    const about = `${tokens(text.tokens)}, ${text.model}`;
    return entry(shorten(text.prompt, 46), about, say('Generate this text again'), () => actions.reopen(text.number));
  }
}
