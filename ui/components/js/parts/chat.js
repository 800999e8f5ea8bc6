// The menu `Chat`: the conversation before the prompt, for a model with a chat template.

import { element, set_text } from '../lib/dom.js';
import { create_menu } from '../lib/menu.js';
import { say } from '../words/say.js';

/** @import { Actions, ChatMessage, State } from '../types.js' */

const LONGEST = 300; // characters shown of a message

/** @param {ChatMessage[]} messages */
const without_system = messages => messages.filter(({ role }) => role !== 'system');

/** The system prompt of a conversation; empty for the template's own. @param {ChatMessage[]} messages */
const system_of = messages => messages.find(({ role }) => role === 'system')?.content ?? '';

/**
 * Tell if a typed prompt would be the next turn of the conversation on screen.
 *
 * @param {Pick<State, 'chat' | 'draft' | 'steps' | 'read_only'>} state
 */
export const can_reply = ({ chat, draft, steps, read_only }) => chat && draft.chat && steps.length > 0 && !read_only;

/** Tell if a prompt was typed that is to be the next turn. @param {State} state */
export const wants_reply = state => can_reply(state) && state.draft.prompt !== state.prompt;

/** @param {Pick<Actions, 'draft'>} actions */
export function create_chat(actions) {
  /** @type {ChatMessage[]} */
  let before = [];
  const on = element('input', { type: 'checkbox' });
  on.addEventListener('change', () => actions.draft({ chat: on.checked }));
  const title = say('Wrap the prompt as this model was trained to read it');
  const system = element('textarea', {
    'aria-label': say('System prompt'),
    rows: 2,
    spellcheck: 'false',
    placeholder: say('the template’s own, if it has one'),
  });
  system.addEventListener('input', () => {
    const first = system.value ? [{ role: 'system', content: system.value }] : [];
    actions.draft({ before: [...first, ...without_system(before)] });
  });
  const turns = element('ol', { class: 'dv-turns' });
  const drop = element('button', {
    type: 'button',
    text: say('New conversation'),
    title: say('Drop the earlier messages; Start then begins with the prompt'),
    onclick: () => actions.draft({ before: before.filter(({ role }) => role === 'system') }),
  });
  const about = element('p', {
    class: 'dv-muted',
    text: say('The prompt is the next message. The marks of the template are tokens like all others.'),
  });
  const inner = element('div', {}, element('label', {}, say('System prompt'), system), turns, drop, about);
  const menu = create_menu(
    say('Chat'),
    element('label', { class: 'dv-check', title }, on, say('Chat template')),
    inner,
  );
  menu.node.classList.add('dv-chat');

  return {
    ...menu,
    /** @param {Pick<State, 'draft' | 'model'>} state */
    update({ draft, model }) {
      menu.node.classList.toggle('dv-hidden', !model?.has_chat_template);
      on.checked = draft.chat;
      inner.classList.toggle('dv-hidden', !draft.chat);
      if (before === draft.before) return;
      before = draft.before;
      const typed = system_of(before);
      if (system.value !== typed) system.value = typed;
      const others = without_system(before);
      turns.replaceChildren(
        ...others.map(({ role, content }) => {
          const shown = content.length > LONGEST ? `${content.slice(0, LONGEST)} …` : content;
          const text = element('span', {});
          set_text(text, shown);
          return element('li', {}, element('b', { text: `${name_of(role)}: ` }), text);
        }),
      );
      drop.classList.toggle('dv-hidden', others.length === 0);
    },
  };
}

/** The name of a speaker on the page. @param {string} role */
export function name_of(role) {
  /** @type {Record<string, string>} */
  const names = { system: say('System'), user: say('User'), assistant: say('Assistant') };
  return names[role] ?? role;
}
