// A menu: a button that shows what it holds below itself, until something else is pressed.

import { element } from './dom.js';

/**
 * @param {string} name what the button says
 * @param {...Node} contents what the menu holds
 * @returns {{node: HTMLElement, close(): void, destroy(): void}}
 */
export function create_menu(name, ...contents) {
  const summary = element('summary', { text: name });
  const node = element(
    'details',
    { class: 'dv-menu' },
    summary,
    element('div', { class: 'dv-menu-body' }, ...contents),
  );
  const close = () => {
    node.open = false;
  };
  const on_press = (/** @type {PointerEvent} */ event) => {
    if (node.open && event.target instanceof Node && !node.contains(event.target)) close();
  };
  document.addEventListener('pointerdown', on_press);
  node.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !node.open) return;
    event.stopPropagation();
    close();
    summary.focus();
  });
  return { node, close, destroy: () => document.removeEventListener('pointerdown', on_press) };
}
