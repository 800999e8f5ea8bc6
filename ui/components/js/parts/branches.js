// The branches of the text, once there is more than one: what each departs with, and which is current.

import { element, set_attribute, set_text } from '../lib/dom.js';
import { count, shorten, tokens } from '../words/format.js';

const LONGEST_EXCERPT = 60;
const ARROWS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/** The part with the choice `Branches`. */
export function create(root, actions) {
  const group = element('div', {
    class: 'dv-branch-list dv-hidden',
    role: 'radiogroup',
    'aria-label': 'Branches',
  });
  root.append(group);
  const entries = [];

  function create_entry() {
    const name = element('span');
    const excerpt = element('span', { class: 'dv-token' });
    const length = element('span', { class: 'dv-muted' });
    const entry = { number: 0, name, excerpt, length };
    entry.button = element(
      'button',
      {
        class: 'dv-branch',
        type: 'button',
        role: 'radio',
        onclick: () => actions.switch_branch(entry.number),
      },
      name,
      ' ',
      excerpt,
      ' ',
      length,
    );
    group.append(entry.button);
    return entry;
  }

  // Arrow keys only move the focus: choosing a branch asks the server, so it takes Enter or a click.
  group.addEventListener('keydown', event => {
    const move = ARROWS[event.key];
    const at = entries.findIndex(({ button }) => button.contains(event.target));
    if (!move || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    entries[(at + move + entries.length) % entries.length].button.focus();
  });

  function update(state) {
    const { branches } = state;
    group.classList.toggle('dv-hidden', branches.length < 2);
    if (branches.length < 2) return;
    while (entries.length > branches.length) entries.pop().button.remove();
    while (entries.length < branches.length) entries.push(create_entry());
    entries.forEach((entry, at) => {
      const branch = branches[at];
      entry.number = branch.number;
      set_text(entry.name, describe(branch));
      set_text(entry.excerpt, shorten(branch.text, LONGEST_EXCERPT));
      set_text(entry.length, tokens(branch.length));
      set_attribute(entry.button, 'aria-checked', String(branch.current));
      set_attribute(entry.button, 'tabindex', branch.current ? '0' : '-1');
    });
  }

  return { update };
}

function describe({ number, parent, departs_at }) {
  return `${number}: ${parent ? `departs at token ${count(departs_at + 1)} with` : 'from the start'}`;
}
