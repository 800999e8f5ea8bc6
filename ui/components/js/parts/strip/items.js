// A run of list items that follows an array of tokens. An update touches only the items that differ, so long texts stay
// fast.

import { element, set_text } from '../../lib/dom.js';

/** @import { PromptToken, Step } from '../../types.js' */
/** @typedef {PromptToken & Partial<Step>} Token a token of the strip */
/** @typedef {{li: HTMLElement, token: Token, line_end: Text|null}} Item */

// The fields that an item shows; a token that agrees in all of these keeps its element untouched.
const SHOWN = /** @type {(keyof Token)[]} */ ([
  'id',
  'label',
  'special',
  'partial',
  'forced',
  'rank',
  'probability',
  'model_probability',
  'entropy',
  'model_entropy',
]);

/**
 * @param {Token} before
 * @param {Token} after
 */
const is_same = (before, after) => before === after || SHOWN.every(name => before[name] === after[name]);

/**
 * @param {ReturnType<typeof import('./lines.js').create_lines>} lines
 * @param {(item: Item, number: number) => void} dress styles an item by its token
 * @param {(label: string) => string} written an item's text
 * @param {(number: number) => boolean} [is_folded] whether an item is out of sight
 */
export function create_items(lines, dress, written, is_folded = () => false) {
  /** @type {Item[]} */
  const items = [];
  /** @type {WeakMap<Element, number>} */
  const numbers = new WeakMap(); // items never change places

  /**
   * A label with a line end is followed by a text node with a real line end.
   * @param {Item} item
   * @param {number} number
   */
  function fill(item, number) {
    set_text(item.li, written(item.token.label));
    dress(item, number);
    const breaks = item.token.label.includes('⏎') && !is_folded(number);
    if (breaks && !item.line_end) {
      item.line_end = document.createTextNode('\n');
      if (item.li.parentNode) item.li.after(item.line_end);
    } else if (!breaks && item.line_end) {
      item.line_end.remove();
      item.line_end = null;
    }
  }

  return {
    /**
     * @param {Token[]} tokens
     * @param {Node|null} next new items are inserted before it
     * @returns {boolean} whether anything changed
     */
    update(tokens, next) {
      let changed = false;
      while (items.length > tokens.length) {
        const { li, line_end } = /** @type {Item} */ (items.pop());
        lines.reopen_for(li);
        line_end?.remove();
        li.remove();
        changed = true;
      }
      items.forEach((item, number) => {
        const before = item.token;
        item.token = tokens[number];
        if (is_same(before, item.token)) return;
        lines.reopen_for(item.li);
        fill(item, number);
        changed = true;
      });
      if (items.length === tokens.length) return changed;
      const fresh = document.createDocumentFragment();
      while (items.length < tokens.length) {
        const number = items.length;
        /** @type {Item} */
        const item = { li: element('li', { role: 'listitem' }), line_end: null, token: tokens[number] };
        numbers.set(item.li, number);
        fill(item, number);
        fresh.append(item.li);
        if (item.line_end) fresh.append(item.line_end);
        items.push(item);
      }
      if (next) lines.reopen();
      lines.open.insertBefore(fresh, next);
      return true;
    },
    get length() {
      return items.length;
    },
    /** @param {number} index */
    at: index => /** @type {Item|undefined} */ (items.at(index)),
    /** @param {Element} li */
    index_of: li => numbers.get(li) ?? -1,
    /** Rebuild all items, for example after a new choice of colours. */
    redress() {
      lines.reopen();
      items.forEach(fill);
    },
  };
}
