// "Add stage": a menu of all stages that have no card yet, in groups, each with what it does.

import { default_place, GROUPS } from '../../words/catalogue.js';
import { element, set_attribute } from '../../lib/dom.js';
import { own_keys } from '../../lib/own_keys.js';

/**
 * @param {() => object[]} missing the stages without a card, as the catalogue has them
 * @param {(name: string, place: (order: string[], name: string) => number) => void} add
 * @returns {{node: HTMLElement, update(): void, destroy(): void}}
 */
export function create_chooser(missing, add) {
  const menu = element('div', { class: 'dv-chooser', role: 'menu', 'aria-label': 'Add stage', hidden: true });
  const button = element('button', {
    type: 'button',
    class: 'dv-add-stage',
    text: 'Add stage',
    'aria-haspopup': 'menu',
    'aria-expanded': 'false',
    onclick: () => (menu.hidden ? open() : close()),
  });
  const node = element('div', { class: 'dv-chooser-place' }, button, menu);
  const items = () => [...menu.querySelectorAll('[role=menuitem]')];

  function open() {
    menu.replaceChildren(
      ...groups_of(missing(), name => {
        close();
        add(name, default_place);
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
  function on_key(event) {
    const all = items();
    const at = all.indexOf(event.target);
    const go = place => {
      event.preventDefault();
      all.at(place % all.length).focus();
    };
    if (event.key === 'ArrowDown') go(at + 1);
    else if (event.key === 'ArrowUp') go(at - 1);
    else if (event.key === 'Home') go(0);
    else if (event.key === 'End') go(-1);
    else if (event.key === 'Escape' || event.key === 'Tab') {
      close();
      button.focus(); // Tab goes on from here
      if (event.key === 'Escape') event.preventDefault();
    } else if (event.key.length === 1 && event.key !== ' ') go(next_with(all, at, event.key));
  }
  const on_press = event => {
    if (!menu.hidden && !node.contains(event.target)) close();
  };
  document.addEventListener('pointerdown', on_press);
  const stop = own_keys(node, on_key, () => !menu.hidden);
  return {
    node,
    update() {
      const none_left = missing().length === 0;
      set_attribute(button, 'disabled', none_left);
      const title = none_left ? 'All stages have a card' : 'Put another stage into the chain';
      set_attribute(button, 'title', title);
    },
    destroy() {
      stop();
      document.removeEventListener('pointerdown', on_press);
    },
  };
}

/** The next item that begins with a letter; the same one if none does. */
function next_with(all, at, letter) {
  const starts = item => item.firstChild.textContent.toLowerCase().startsWith(letter.toLowerCase());
  const found = all.findIndex((_, offset) => starts(all[(at + 1 + offset) % all.length]));
  return found < 0 ? at : (at + 1 + found) % all.length;
}

function groups_of(stages, choose) {
  return GROUPS.map(({ name, label }) => {
    const own = stages.filter(stage => stage.group === name);
    if (!own.length) return null;
    return element(
      'div',
      { role: 'group', 'aria-label': label },
      element('div', { class: 'dv-chooser-group', text: label, 'aria-hidden': 'true' }),
      ...own.map(stage => item_of(stage, choose)),
    );
  }).filter(Boolean);
}

function item_of({ name, label, about }, choose) {
  const text = element('span', { class: 'dv-chooser-about', text: about, id: `dv-choose-${name}` });
  return element(
    'button',
    {
      type: 'button',
      role: 'menuitem',
      tabindex: -1,
      class: 'dv-chooser-item',
      'aria-label': label,
      'aria-describedby': text.id,
      onclick: () => choose(name),
    },
    element('span', { class: 'dv-chooser-name', text: label }),
    text,
  );
}
