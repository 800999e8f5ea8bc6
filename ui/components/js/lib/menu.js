// A menu: a button that shows what it holds below itself, until something else is pressed.

import { element } from './dom.js';

/**
 * @param {string} name what the button says
 * @param {...Node} contents what the menu holds
 * @returns {{node: HTMLElement, close(): void, destroy(): void}}
 */
export function create_menu(name, ...contents) {
  const node = element(
    'details',
    { class: 'dv-menu' },
    element('summary', { text: name }),
    element('div', { class: 'dv-menu-body' }, ...contents),
  );
  const close = () => {
    node.open = false;
  };
  const on_press = event => {
    if (node.open && !node.contains(event.target)) close();
  };
  document.addEventListener('pointerdown', on_press);
  node.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !node.open) return;
    event.stopPropagation();
    close();
    node.firstChild.focus();
  });
  return { node, close, destroy: () => document.removeEventListener('pointerdown', on_press) };
}
