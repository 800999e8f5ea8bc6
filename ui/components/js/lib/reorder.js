// Reordering the entries of a list, by dragging an entry's handle or with the arrow keys on it.

import { say } from '../words/say.js';
import { element, set_attribute } from './dom.js';
import { own_keys } from './own_keys.js';

/**
 * @typedef {object} Reorderable
 * @property {() => string[]} order names of the entries
 * @property {(order: string[]) => void} set_order
 * @property {(text: string) => void} announce
 * @property {(name: string) => string} label_of
 */

/**
 * @typedef {object} Drag
 * @property {string} name
 * @property {HTMLElement[]} entries
 * @property {DOMRect[]} boxes the entries' original boxes
 * @property {number} from
 * @property {number} to
 * @property {number} start the pointer's start
 * @property {number} at
 * @property {Element[]} scrollers
 * @property {number} scrolled
 * @property {number} frame
 */

const GAP = 5; // between entries, as in samplers.css
const EDGE = 70; // near the visible edge of the list or the window, it scrolls along
const FASTEST = 14; // pixels per frame

/**
 * A list with the entry at one place moved to another.
 *
 * @template T
 * @param {T[]} list
 * @param {number} from
 * @param {number} to
 */
export const moved = (list, from, to) => list.toSpliced(from, 1).toSpliced(to, 0, list[from]);

/**
 * @param {HTMLElement} list holds the entries, each with `data-sampler`
 * @param {Reorderable} what
 */
export function create_reorder(list, { order, set_order, announce, label_of }) {
  /** @type {{name: string, before: string[]}|null} grabbed by keyboard: the order to return to */
  let grabbed = null;
  /** @type {Drag|null} */
  let drag = null;

  /** "place 2 of 5, after Top-k". @param {string} name */
  function where(name) {
    const place = order().indexOf(name);
    const values = { place: place + 1, all: order().length, before: place > 0 ? label_of(order()[place - 1]) : '' };
    return place > 0
      ? say('place {place} of {all}, after {before}.', values)
      : say('place {place} of {all}, first.', values);
  }

  /** @param {string} name @param {number} direction */
  function move(name, direction) {
    const from = order().indexOf(name);
    const to = from + direction;
    if (to < 0 || to >= order().length) {
      announce(
        to < 0
          ? say('{name} is already first.', { name: label_of(name) })
          : say('{name} is already last.', { name: label_of(name) }),
      );
      return;
    }
    set_order(moved(order(), from, to));
    announce(`${label_of(name)}: ${where(name)}`);
  }

  /** @param {string} name @param {HTMLElement} grip */
  function grab(name, grip) {
    grabbed = { name, before: [...order()] };
    set_attribute(grip, 'aria-pressed', 'true');
    announce(
      say('{name} grabbed, {where} Arrow keys move it, Enter drops it, Escape puts it back.', {
        name: label_of(name),
        where: where(name),
      }),
    );
  }
  /** @param {HTMLElement} grip @param {boolean} puts_back */
  function drop(grip, puts_back) {
    if (!grabbed) return;
    const { name, before } = grabbed;
    grabbed = null;
    set_attribute(grip, 'aria-pressed', 'false');
    if (puts_back) set_order(before);
    const values = { name: label_of(name), where: where(name) };
    announce(puts_back ? say('{name} put back, {where}', values) : say('{name} dropped, {where}', values));
  }

  /** @param {Event} event @returns {HTMLElement|null} */
  const grip_of = ({ target }) => (target instanceof Element ? target.closest('.dv-grip') : null);

  /** @param {KeyboardEvent} event */
  function on_key(event) {
    const grip = grip_of(event);
    const name = grip?.dataset.name;
    if (!grip || !name) return;
    const is_arrow = event.key === 'ArrowUp' || event.key === 'ArrowDown';
    if (is_arrow && (event.altKey || grabbed)) {
      event.preventDefault();
      move(name, event.key === 'ArrowUp' ? -1 : 1);
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      if (grabbed) drop(grip, false);
      else grab(name, grip);
    } else if (event.key === 'Escape' && grabbed) {
      event.preventDefault();
      drop(grip, true);
    }
  }
  const is_own = (/** @type {KeyboardEvent} */ event) =>
    event.key === 'Enter' || event.key === ' ' || event.altKey || grabbed !== null;
  const stop_keys = own_keys(list, on_key, event => grip_of(event) !== null && is_own(event));
  const stop_escape = own_keys(
    document.documentElement,
    event => {
      event.preventDefault();
      end(false);
    },
    event => drag !== null && event.key === 'Escape',
  );

  // --- by pointer ------------------------------------------------------------------------------

  /** @param {PointerEvent} event @param {string} name @param {HTMLElement} grip */
  function begin(event, name, grip) {
    if (event.button !== 0 || drag) return;
    const entries = order()
      .map(each => list.querySelector(`[data-sampler="${each}"]`))
      .filter(entry => entry instanceof HTMLElement);
    const from = order().indexOf(name);
    const scrollers = scrollers_of(list);
    drag = {
      name,
      entries,
      from,
      to: from,
      scrollers,
      boxes: entries.map(entry => entry.getBoundingClientRect()),
      start: event.clientY,
      at: event.clientY,
      scrolled: scrolled_by(scrollers),
      frame: 0,
    };
    grip.setPointerCapture(event.pointerId);
    entries[from].classList.add('dv-dragged');
    scroll_along();
  }

  /** @param {PointerEvent} event */
  function follow(event) {
    if (!drag) return;
    drag.at = event.clientY;
    place_all(drag);
  }

  /** Place the dragged entry under the pointer, and the others where a drop here would put them. @param {Drag} now */
  function place_all(now) {
    const { entries, boxes, from, start, at, scrollers, scrolled } = now;
    const offset = at - start + scrolled_by(scrollers) - scrolled;
    const own = boxes[from];
    const middle = own.top + own.height / 2 + offset;
    now.to = boxes.filter((box, place) => place !== from && box.top + box.height / 2 < middle).length;
    for (const [place, entry] of entries.entries()) {
      const shift = place === from ? offset : shift_of(place, from, now.to, own.height + GAP);
      entry.style.transform = shift ? `translateY(${shift}px)` : '';
    }
  }

  function scroll_along() {
    const now = drag;
    if (!now) return;
    // The innermost scroller that can.
    const has_scrolled = now.scrollers.some(scroller => {
      const [top, bottom] = seen_of(scroller);
      const over = Math.min(0, now.at - top - EDGE) + Math.max(0, now.at - (bottom - EDGE));
      const before = scroller.scrollTop;
      if (over) scroller.scrollTop += Math.max(-FASTEST, Math.min(FASTEST, over / 4));
      return scroller.scrollTop !== before;
    });
    if (has_scrolled) place_all(now);
    now.frame = requestAnimationFrame(scroll_along);
  }

  /** @param {boolean} is_dropped */
  function end(is_dropped) {
    if (!drag) return;
    const { name, entries, from, to, frame } = drag;
    cancelAnimationFrame(frame);
    drag = null;
    for (const entry of entries) {
      entry.style.transform = '';
      entry.classList.remove('dv-dragged');
    }
    if (!is_dropped || to === from) return;
    set_order(moved(order(), from, to));
    announce(`${label_of(name)} dropped, ${where(name)}`);
  }

  return {
    /** The handle that moves an entry. @param {string} name */
    grip_for(name) {
      const grip = element('button', {
        type: 'button',
        class: 'dv-grip',
        text: '⠿',
        'data-name': name,
        'aria-label': `Move ${label_of(name)}`,
        'aria-pressed': 'false',
        title: say('Drag to reorder, or press Alt and arrow up or down'),
        onpointerdown: (/** @type {PointerEvent} */ event) => begin(event, name, grip),
        onpointermove: follow,
        onpointerup: () => end(true),
        onpointercancel: () => end(false),
        onlostpointercapture: () => end(false),
        onblur: () => {
          // An entry that is moved in the document loses the focus for a moment and then regains it.
          if (grabbed?.name !== name) return;
          queueMicrotask(() => {
            if (grabbed?.name === name && document.activeElement !== grip) drop(grip, false);
          });
        },
      });
      return grip;
    },
    where,
    get is_dragging() {
      return drag !== null;
    },
    destroy() {
      stop_keys();
      stop_escape();
      if (drag) cancelAnimationFrame(drag.frame);
    },
  };
}

/**
 * The distance an entry moves to make room for one that goes from one place to another.
 *
 * @param {number} place
 * @param {number} from
 * @param {number} to
 * @param {number} height
 */
function shift_of(place, from, to, height) {
  if (place > from && place <= to) return -height;
  if (place < from && place >= to) return height;
  return 0;
}

/**
 * The elements that scroll when the wheel turns over a node: the node, its ancestors, and finally the page.
 *
 * @param {HTMLElement} node
 * @returns {Element[]}
 */
function scrollers_of(node) {
  const page = document.scrollingElement ?? document.documentElement;
  const found = [];
  for (let each = /** @type {HTMLElement|null} */ (node); each && each !== page; each = each.parentElement) {
    const { overflowY } = getComputedStyle(each);
    if (/auto|scroll/.test(overflowY) && each.scrollHeight > each.clientHeight) found.push(each);
  }
  return [...found, page];
}

/** @param {Element[]} scrollers */
const scrolled_by = scrollers => scrollers.reduce((sum, scroller) => sum + scroller.scrollTop, 0);

/** The start and end on screen of a scroller's visible part. @param {Element} scroller @returns {[number, number]} */
function seen_of(scroller) {
  if (scroller === document.scrollingElement) return [0, window.innerHeight];
  const { top, bottom } = scroller.getBoundingClientRect();
  return [Math.max(0, top), Math.min(window.innerHeight, bottom)];
}
