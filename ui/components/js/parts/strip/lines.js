// Blocks of finished lines, so that a new token lays out and paints only the last lines of a long text.
//
// A block breaks the flow at its end, which changes nothing if it ends where a line ends anyway.

import { element } from '../../lib/dom.js';

const MOST_OPEN = 200; // items outside blocks: the next block takes all but the last lines
const LINES_OPEN = 3;

/** @param {HTMLElement} list a list (by its role) of list items */
export function create_lines(list) {
  // A list in a list of no role: its items belong to the outer one, and stay items of valid HTML.
  const open = element('ol', { class: 'dv-open', role: 'presentation' });
  list.append(open);
  const blocks = () => Array.from(list.children).slice(0, -1);

  /** Tell if an item begins a line: it is not to the right of the item before it. @param {Element} li */
  function begins_line(li) {
    const [own, before] = [li, li.previousElementSibling].map(each => /** @type {HTMLElement} */ (each));
    return before !== null && own.offsetLeft <= before.offsetLeft;
  }

  /** Move items; one that has the focus keeps it. @param {() => void} move */
  function keep_focus(move) {
    const focused = /** @type {HTMLElement} */ (document.activeElement);
    move();
    if (document.activeElement !== focused && list.contains(focused)) focused.focus({ preventScroll: true });
  }

  /** Put all items into the open list again, before they move to other lines. */
  function reopen() {
    const found = blocks();
    if (!found.length) return;
    keep_focus(() => open.prepend(...found.flatMap(block => Array.from(block.childNodes))));
    for (const block of found) block.remove();
  }

  return {
    open,
    reopen,

    /** Reopen if a change of this item may move the end of a block. @param {Element} li */
    reopen_for(li) {
      if (li.parentNode !== open || li === open.firstElementChild) reopen();
    },

    /** Close all lines but the last, if there are many items. Reads positions: call it after layout. */
    close() {
      if (open.childElementCount <= MOST_OPEN || !open.offsetParent || document.fonts.status !== 'loaded') return;
      if (getSelection()?.type === 'Range') return; // a move would undo the selection
      let first = open.lastElementChild;
      for (let left = LINES_OPEN; first; first = first.previousElementSibling) {
        if (begins_line(first) && --left === 0) break;
      }
      if (!first) return;
      const block = element('ol', { class: 'dv-lines', role: 'presentation' });
      open.before(block);
      const nodes = Array.from(open.childNodes);
      keep_focus(() => block.append(...nodes.slice(0, nodes.indexOf(first))));
    },
  };
}
