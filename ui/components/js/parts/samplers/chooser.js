// "Add sampler": a menu of all samplers that are not on the page yet, in groups, each with its purpose.

import { element, set_attribute } from '../../lib/dom.js';
import { own_keys } from '../../lib/own_keys.js';
import { say } from '../../words/say.js';

/** @import { Sampler, Table } from '../../types.js' */

/**
 * @param {() => {table: Table, missing: Sampler[]}} known
 * @param {(sampler: Sampler) => void} add
 */
export function create_chooser(known, add) {
  const menu = element('div', { class: 'dv-chooser', role: 'menu', 'aria-label': say('Add sampler'), hidden: true });
  const button = element('button', {
    type: 'button',
    text: say('+ Add sampler'),
    'aria-label': say('Add sampler'),
    'aria-haspopup': 'menu',
    'aria-expanded': 'false',
    onclick: () => (menu.hidden ? open() : close()),
  });
  const node = element('div', { class: 'dv-chooser-place' }, button, menu);
  /** @returns {HTMLElement[]} */
  const items = () => [...menu.querySelectorAll('[role=menuitem]')].map(item => /** @type {HTMLElement} */ (item));

  function open() {
    const { table, missing } = known();
    menu.replaceChildren(
      ...table.groups.flatMap(({ name, label }) => {
        const own = missing.filter(sampler => sampler.group === name);
        if (!own.length) return [];
        const title = element('div', { class: 'dv-muted', text: label, 'aria-hidden': 'true' });
        return [element('div', { role: 'group', 'aria-label': label }, title, ...own.map(item_of))];
      }),
    );
    menu.hidden = false;
    set_attribute(button, 'aria-expanded', 'true');
    items()[0].focus();
  }
  function close() {
    menu.hidden = true;
    set_attribute(button, 'aria-expanded', 'false');
  }
  /** @param {Sampler} sampler */
  function item_of(sampler) {
    const about = element('span', { class: 'dv-muted', text: sampler.about, id: `dv-choose-${sampler.name}` });
    return element(
      'button',
      {
        type: 'button',
        role: 'menuitem',
        tabindex: -1,
        'aria-label': sampler.label,
        'aria-describedby': about.id,
        onclick: () => {
          close();
          add(sampler);
        },
      },
      element('b', { text: sampler.label }),
      about,
    );
  }
  /** @param {KeyboardEvent} event */
  function on_key(event) {
    const all = items();
    const at = all.indexOf(/** @type {HTMLElement} */ (event.target));
    const go = (/** @type {number} */ place) => {
      event.preventDefault();
      all.at(place % all.length)?.focus();
    };
    if (event.key === 'ArrowDown') go(at + 1);
    else if (event.key === 'ArrowUp') go(at - 1);
    else if (event.key === 'Home') go(0);
    else if (event.key === 'End') go(-1);
    else if (event.key === 'Escape' || event.key === 'Tab') {
      close();
      button.focus(); // Tab continues from here
      if (event.key === 'Escape') event.preventDefault();
    } else if (event.key.length === 1 && event.key !== ' ') go(next_with(all, at, event.key));
  }
  const on_press = (/** @type {PointerEvent} */ event) => {
    if (!menu.hidden && event.target instanceof Node && !node.contains(event.target)) close();
  };
  document.addEventListener('pointerdown', on_press);
  const stop = own_keys(node, on_key, () => !menu.hidden);
  return {
    node,
    update() {
      const is_complete = known().missing.length === 0;
      button.disabled = is_complete;
      set_attribute(
        button,
        'title',
        is_complete ? say('All samplers are on the page') : say('Put another sampler into the chain'),
      );
    },
    destroy() {
      stop();
      document.removeEventListener('pointerdown', on_press);
    },
  };
}

/**
 * The next item that begins with a letter; the current one if none does.
 *
 * @param {HTMLElement[]} all
 * @param {number} at
 * @param {string} letter
 */
function next_with(all, at, letter) {
  const starts = (/** @type {HTMLElement} */ item) => item.textContent?.toLowerCase().startsWith(letter.toLowerCase());
  const found = all.findIndex((_, offset) => starts(all[(at + 1 + offset) % all.length]));
  return found < 0 ? at : (at + 1 + found) % all.length;
}
