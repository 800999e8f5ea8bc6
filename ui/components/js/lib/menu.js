// A menu: a button that shows its contents below itself until something else is pressed.

import { element } from './dom.js';
import { own_keys } from './own_keys.js';

/**
 * @param {string} name the button's text
 * @param {...Node} contents the menu's contents
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
  const leave = () => {
    close();
    summary.focus();
  };
  const stop = own_keys(node, leave, ({ key }) => key === 'Escape' && node.open);
  return {
    node,
    close,
    destroy() {
      stop();
      document.removeEventListener('pointerdown', on_press);
    },
  };
}
