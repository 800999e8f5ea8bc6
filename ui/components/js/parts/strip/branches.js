// The branches of the text, once there is more than one: each one's first differing token, and the current branch.

import { element, set_attribute, set_text } from '../../lib/dom.js';
import { count, shorten, tokens } from '../../words/format.js';
import { say } from '../../words/say.js';

/** @import { Actions, Branch } from '../../types.js' */

const LONGEST_EXCERPT = 60;
/** @type {Record<string, number>} */
const ARROWS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/**
 * The choice `Branches`: `node`, and `update(branches)`.
 * @param {Pick<Actions, 'switch_branch'>} actions
 */
export function create_branches(actions) {
  const node = element('div', { class: 'dv-branches dv-hidden', role: 'radiogroup', 'aria-label': say('Branches') });
  /** @type {ReturnType<typeof create_entry>[]} */
  const entries = [];

  function create_entry() {
    const name = element('span');
    const excerpt = element('span', { class: 'dv-token dv-line' });
    const length = element('span', { class: 'dv-muted' });
    const button = element(
      'button',
      { type: 'button', role: 'radio', onclick: () => actions.switch_branch(entry.number) },
      name,
      excerpt,
      length,
    );
    const entry = { number: 0, name, excerpt, length, button };
    node.append(button);
    return entry;
  }

  // Arrow keys only move the focus. Choosing a branch asks the server, so it takes Enter or a click.
  node.addEventListener('keydown', event => {
    const move = ARROWS[event.key];
    const at = entries.findIndex(({ button }) => event.target instanceof Node && button.contains(event.target));
    if (!move || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    entries[(at + move + entries.length) % entries.length].button.focus();
  });

  return {
    node,
    /** @param {Branch[]} branches */
    update(branches) {
      node.classList.toggle('dv-hidden', branches.length < 2);
      if (branches.length < 2) return;
      while (entries.length > branches.length) entries.pop()?.button.remove();
      while (entries.length < branches.length) entries.push(create_entry());
      entries.forEach((entry, at) => {
        const { number, parent, departs_at, text, length, current } = branches[at];
        entry.number = number;
        set_text(
          entry.name,
          parent
            ? say('Branch {number}: from token {place}', { number, place: count(departs_at + 1) })
            : say('Branch {number}: first text', { number }),
        );
        set_text(entry.excerpt, shorten(text, LONGEST_EXCERPT));
        set_text(entry.length, tokens(length));
        set_attribute(entry.button, 'aria-checked', String(current));
        set_attribute(entry.button, 'tabindex', current ? '0' : '-1');
      });
    },
  };
}
