// A text that is no token but several: its tokens in order, each to be chosen.

import { element, set_attribute, set_text } from '../../lib/dom.js';
import { count, quoted } from '../../words/format.js';

const LONGEST_TEXT = 40;
const LONGEST_TITLE = 120;

/** A button that chooses a token: `node`, `update(token)` and `press(is_chosen)`. */
export function create_choice(choose) {
  let token = null;
  const label = element('span', { class: 'dv-token' });
  const node = element('button', { type: 'button', class: 'dv-choice', onclick: () => choose(token) }, label);
  return {
    node,
    update(next) {
      token = next;
      set_text(label, next.label);
      set_attribute(label, 'title', next.label.slice(0, LONGEST_TITLE));
      set_attribute(node, 'aria-label', `Why not ${next.label}?`);
    },
    press(is_chosen) {
      set_attribute(node, 'aria-expanded', String(is_chosen));
    },
  };
}

/** The line with the list `Tokens of the text`: `node`, and `update(text, tokens, chosen_id)`. */
export function create_pieces(choose) {
  const text = element('span', { class: 'dv-muted' });
  const list = element('ol', { 'aria-label': 'Tokens of the text' });
  const node = element('div', { class: 'dv-pieces dv-hidden' }, text, list);
  const choices = [];

  function update(whole, tokens, chosen_id) {
    node.classList.toggle('dv-hidden', tokens.length < 2);
    if (tokens.length < 2) return;
    set_text(
      text,
      `${quoted(whole, LONGEST_TEXT)} is ${count(tokens.length)} tokens, one step each; ` +
        'each as if it came next:',
    );
    while (choices.length > tokens.length) choices.pop().node.parentNode.remove();
    while (choices.length < tokens.length) {
      const choice = create_choice(choose);
      choices.push(choice);
      list.append(element('li', {}, choice.node));
    }
    choices.forEach((choice, place) => {
      choice.update(tokens[place]);
      choice.press(tokens[place].id === chosen_id);
    });
  }

  return { node, update };
}
