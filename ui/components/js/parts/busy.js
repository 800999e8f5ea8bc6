// A long operation in the line of words: Cancel, progress, the number of others ahead, and the elapsed seconds.

import { element, set_attribute, set_text } from '../lib/dom.js';
import { count } from '../words/format.js';
import { say } from '../words/say.js';

/** @import { Busy } from '../types.js' */

const LONGEST_COUNT = 100_000; // bytes of a model, for example, are shown as a share

/** @param {() => unknown} cancel */
export function create_busy(cancel) {
  const bar = element('progress', { class: 'dv-busy-bar', 'aria-label': say('Progress') });
  const figures = element('span', { class: 'dv-busy-figures' });
  const button = element('button', {
    type: 'button',
    text: say('Cancel'),
    title: say('End this; the text stays as it is (Esc)'),
    'aria-keyshortcuts': 'Escape',
    onclick: () => button.getAttribute('aria-disabled') === null && cancel(),
  });
  const node = element('div', { class: 'dv-busy dv-hidden' }, button, bar, figures);
  /** @type {Element | null} */
  let came_from = null;
  button.addEventListener('focus', ({ relatedTarget }) => {
    came_from = relatedTarget instanceof Element ? relatedTarget : null;
  });

  /** Return the focus to its previous element: the button is about to vanish. */
  function give_focus_back() {
    if (document.activeElement !== button) return;
    const is_there = came_from instanceof HTMLElement && came_from.isConnected && !came_from.matches(':disabled');
    if (is_there) /** @type {HTMLElement} */ (came_from).focus({ preventScroll: true });
    else button.blur();
  }

  return {
    node,
    /** @param {Busy | null} busy */
    update(busy) {
      const can_cancel = Boolean(busy?.can_cancel);
      if (!can_cancel) give_focus_back();
      node.classList.toggle('dv-hidden', !busy);
      button.classList.toggle('dv-hidden', !can_cancel);
      if (!busy) return;
      bar.classList.toggle('dv-hidden', !busy.total);
      if (busy.total) {
        set_attribute(bar, 'max', busy.total);
        set_attribute(bar, 'value', Math.min(busy.done, busy.total));
      }
      set_text(figures, figures_of(busy));
      // Not `disabled`, which would lose the focus.
      set_attribute(button, 'aria-disabled', busy.is_cancelling ? 'true' : null);
    },
  };
}

/**
 * "256 of 1,024 · behind 2 others · 3 s"
 * @param {Busy} busy
 */
function figures_of({ done, total, behind, seconds }) {
  const share =
    total &&
    (total < LONGEST_COUNT
      ? say('{one} of {all}', { one: count(done), all: count(total) })
      : `${Math.floor((100 * done) / total)} %`);
  const others = { count: count(behind) };
  const waits = behind === 1 ? say('behind {count} other', others) : say('behind {count} others', others);
  const place = behind ? waits : '';
  const time = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return [share, place, time].filter(Boolean).join(' · ');
}
