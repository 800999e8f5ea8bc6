// A text that consists of several tokens: the tokens in order, each selectable.

import { element, set_attribute, set_text } from '../../lib/dom.js';
import { count, quoted } from '../../words/format.js';
import { say } from '../../words/say.js';

/** @import { FoundToken } from '../../types.js' */

const LONGEST_TEXT = 40;
const LONGEST_TITLE = 120;

/** A button that chooses a token. @param {(token: FoundToken|null) => void} choose */
export function create_choice(choose) {
  /** @type {FoundToken|null} */
  let token = null;
  const label = element('span', { class: 'dv-token' });
  const node = element('button', { type: 'button', class: 'dv-quiet dv-choice', onclick: () => choose(token) }, label);
  return {
    node,
    /** @param {FoundToken} next */
    update(next) {
      token = next;
      set_text(label, next.label);
      set_attribute(label, 'title', next.label.slice(0, LONGEST_TITLE));
      set_attribute(node, 'aria-label', say('Why not {token}?', { token: next.label }));
    },
    /** @param {boolean} is_chosen */
    press(is_chosen) {
      set_attribute(node, 'aria-expanded', String(is_chosen));
    },
  };
}

/** The line with the list `Tokens of the text`. @param {(token: FoundToken|null) => void} choose */
export function create_pieces(choose) {
  const text = element('span', { class: 'dv-muted' });
  const list = element('ol', { 'aria-label': say('Tokens of the text') });
  const node = element('div', { class: 'dv-pieces dv-hidden' }, text, list);
  /** @type {ReturnType<typeof create_choice>[]} */
  const choices = [];
  return {
    node,
    /** @param {string} whole @param {FoundToken[]} found @param {number|undefined} chosen_id */
    update(whole, found, chosen_id) {
      node.classList.toggle('dv-hidden', found.length < 2);
      if (found.length < 2) return;
      set_text(
        text,
        say('{text} is {count} tokens, one step each:', {
          text: quoted(whole, LONGEST_TEXT),
          count: count(found.length),
        }),
      );
      while (choices.length > found.length) choices.pop()?.node.parentElement?.remove();
      while (choices.length < found.length) {
        const choice = create_choice(choose);
        choices.push(choice);
        list.append(element('li', {}, choice.node));
      }
      choices.forEach((choice, place) => {
        choice.update(found[place]);
        choice.press(found[place].id === chosen_id);
      });
    },
  };
}
