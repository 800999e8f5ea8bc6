// Putting the cards into another order: by dragging a card's handle, or with the arrow keys on it.

import { element, set_attribute } from './dom.js';
import { stage_label, stage_name } from '../words/format.js';
import { own_keys } from './own_keys.js';

const GAP = 6; // between cards, as in cards.css
const EDGE = 70; // near the edge of what is seen of the list, or of the window, it scrolls along
const FASTEST = 14; // pixels a frame

/** A list with what stands at one place moved to another. */
export const moved = (list, from, to) => list.toSpliced(from, 1).toSpliced(to, 0, list[from]);

/**
 * @param {HTMLElement} list holds the cards, each with `data-stage`
 * @param {{order: () => string[], set_order(order: string[]): void, announce(text: string): void}} chain
 * @returns {{grip_for(name: string): HTMLElement, where(name: string): string, is_dragging: boolean,
 *   destroy(): void}}
 */
export function create_reorder(list, { order, set_order, announce }) {
  let grabbed = null; // by the keyboard: {name, before}, the order to go back to
  let drag = null;

  /** "place 2 of 5, after top-k". */
  function where(name) {
    const place = order().indexOf(name);
    const before = place > 0 ? `after ${stage_name(order()[place - 1])}` : 'first in the chain';
    return `place ${place + 1} of ${order().length}, ${before}.`;
  }

  function move(name, direction) {
    const from = order().indexOf(name);
    const to = from + direction;
    if (to < 0 || to >= order().length) {
      announce(`${stage_label(name)} is ${to < 0 ? 'first' : 'last'} already.`);
      return;
    }
    set_order(moved(order(), from, to));
    announce(`${stage_label(name)}: ${where(name)}`);
  }

  function grab(name, grip) {
    grabbed = { name, before: [...order()] };
    set_attribute(grip, 'aria-pressed', 'true');
    const how = 'Arrow keys move it, Enter drops it, Escape puts it back.';
    announce(`${stage_label(name)} grabbed, ${where(name)} ${how}`);
  }
  function drop(grip, put_back) {
    const { name, before } = grabbed;
    grabbed = null;
    set_attribute(grip, 'aria-pressed', 'false');
    if (put_back) set_order(before);
    announce(`${stage_label(name)} ${put_back ? 'put back' : 'dropped'}, ${where(name)}`);
  }

  function on_key(event) {
    const grip = event.target.closest('.dv-grip');
    const { name } = grip.dataset;
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
  const is_own = event => event.key === 'Enter' || event.key === ' ' || event.altKey || grabbed !== null;
  const on_grip = event => event.target.closest('.dv-grip') !== null;
  const stop_keys = own_keys(list, on_key, event => on_grip(event) && is_own(event));
  const on_escape = own_keys(
    document.documentElement,
    event => {
      event.preventDefault();
      end(false);
    },
    event => drag !== null && event.key === 'Escape',
  );

  // --- by pointer ------------------------------------------------------------------------------

  function begin(event, name, grip) {
    if (event.button !== 0 || drag) return;
    const cards = order().map(each => list.querySelector(`[data-stage="${each}"]`));
    const from = order().indexOf(name);
    const scrollers = scrollers_of(list);
    const boxes = cards.map(card => card.getBoundingClientRect());
    drag = {
      name,
      grip,
      cards,
      boxes,
      from,
      to: from,
      scrollers,
      start: event.clientY,
      at: event.clientY,
      scrolled: scrolled_by(scrollers),
      frame: 0,
    };
    grip.setPointerCapture(event.pointerId);
    cards[from].classList.add('dv-card-dragged');
    scroll_along();
  }

  function follow(event) {
    if (!drag) return;
    drag.at = event.clientY;
    place_all();
  }

  /** The dragged card under the pointer, the others where they would stand if it were dropped here. */
  function place_all() {
    const { cards, boxes, from, start, at, scrollers, scrolled } = drag;
    const offset = at - start + scrolled_by(scrollers) - scrolled;
    const own = boxes[from];
    const middle = own.top + own.height / 2 + offset;
    const others = boxes.filter((_, place) => place !== from);
    drag.to = others.filter(box => box.top + box.height / 2 < middle).length;
    for (const [place, card] of cards.entries()) {
      const shift = place === from ? offset : shift_of(place, from, drag.to, own.height + GAP);
      card.style.transform = shift ? `translateY(${shift}px)` : '';
    }
  }

  function scroll_along() {
    const { at, scrollers } = drag;
    const has_scrolled = scrollers.some(scroller => {
      // the innermost that can
      const [top, bottom] = seen_of(scroller);
      const over = Math.min(0, at - top - EDGE) + Math.max(0, at - (bottom - EDGE));
      const before = scroller.scrollTop;
      if (over) scroller.scrollTop += Math.max(-FASTEST, Math.min(FASTEST, over / 4));
      return scroller.scrollTop !== before;
    });
    if (has_scrolled) place_all();
    drag.frame = requestAnimationFrame(scroll_along);
  }

  function end(is_dropped) {
    if (!drag) return;
    const { name, cards, from, to, frame } = drag;
    cancelAnimationFrame(frame);
    drag = null;
    for (const card of cards) {
      card.style.transform = '';
      card.classList.remove('dv-card-dragged');
    }
    if (!is_dropped || to === from) return;
    set_order(moved(order(), from, to));
    announce(`${stage_label(name)} dropped, ${where(name)}`);
  }

  function grip_for(name) {
    const grip = element('button', {
      type: 'button',
      class: 'dv-grip',
      'data-name': name,
      'aria-label': `Move ${stage_label(name)}`,
      'aria-pressed': 'false',
      title: 'Drag to reorder; or Alt and arrow up or down',
      onpointerdown: event => begin(event, name, grip),
      onpointermove: follow,
      onpointerup: () => end(true),
      onpointercancel: () => end(false),
      onlostpointercapture: () => end(false),
      onblur: () => {
        // A card that is moved in the document loses the focus for a moment, and gets it back.
        if (grabbed?.name === name)
          queueMicrotask(() => {
            if (grabbed?.name === name && grip.getRootNode().activeElement !== grip) drop(grip, false);
          });
      },
    });
    return grip;
  }

  return {
    grip_for,
    where,
    get is_dragging() {
      return drag !== null;
    },
    destroy() {
      stop_keys();
      on_escape();
      if (drag) cancelAnimationFrame(drag.frame);
    },
  };
}

/** How far a card makes room for one that goes from one place to another. */
function shift_of(place, from, to, height) {
  if (place > from && place <= to) return -height;
  if (place < from && place >= to) return height;
  return 0;
}

/** What scrolls when the wheel turns over a node: the node itself, what it lies in, at last the page. */
function scrollers_of(node) {
  const page = document.scrollingElement;
  const found = [];
  for (let each = node; each && each !== page; each = each.parentElement) {
    const { overflowY } = getComputedStyle(each);
    if (/auto|scroll/.test(overflowY) && each.scrollHeight > each.clientHeight) found.push(each);
  }
  return [...found, page];
}

const scrolled_by = scrollers => scrollers.reduce((sum, scroller) => sum + scroller.scrollTop, 0);

/** Where on the screen a scroller begins and ends, as far as it is seen. */
function seen_of(scroller) {
  if (scroller === document.scrollingElement) return [0, window.innerHeight];
  const { top, bottom } = scroller.getBoundingClientRect();
  return [Math.max(0, top), Math.min(window.innerHeight, bottom)];
}
