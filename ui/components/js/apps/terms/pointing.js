// The term that is pointed at, pressed or focused, anywhere on the page.

/** @import { Place, create_tip } from './tip.js' */
/** @import { create_marks } from './marks.js' */

/** A word that one of our parts has made. @param {Event} event @returns {Place|null} */
function word_of({ target }) {
  const word = target instanceof Element ? /** @type {HTMLElement|null} */ (target.closest('[data-term]')) : null;
  return word && { key: word.dataset.term ?? '', word, box: word.getBoundingClientRect() };
}

/**
 * Show and hide the tip; return a function that stops this.
 * @param {ReturnType<typeof create_tip>} tip
 * @param {ReturnType<typeof create_marks>} marks
 */
export function watch(tip, marks) {
  /** @param {MouseEvent} event @returns {Place|null} */
  function place_of(event) {
    const word = word_of(event);
    if (word) return word;
    const mark = marks.at(event.clientX, event.clientY);
    return mark && { key: mark.key, word: null, box: mark.range.getBoundingClientRect() };
  }
  const has_focus = () => tip.word !== null && document.activeElement === tip.word;
  const holds_focus = () => tip.holds(document.activeElement);

  /** @type {{[kind: string]: (event: any) => void}} */
  const listeners = {
    pointermove(event) {
      if (event.buttons || tip.holds(event.target)) return; // a drag points at nothing, and must not wait for a layout
      const place = place_of(event);
      document.documentElement.classList.toggle('dv-on-term', place !== null);
      if (place) tip.show(place);
      else if (!has_focus() && !holds_focus()) tip.hide();
    },
    focusin(event) {
      const word = word_of(event);
      if (word) tip.show(word);
      else if (!tip.holds(event.target)) tip.hide();
    },
    focusout(event) {
      if (!tip.holds(event.relatedTarget)) tip.hide();
    },
    click(event) {
      if (tip.holds(event.target)) return;
      const place = place_of(event);
      if (!place) return tip.hide();
      if (!place.word) event.preventDefault(); // otherwise the press would also reach the field that the text labels
      tip.show(place);
      if (place.word && event.detail === 0) tip.enter(); // pressed with a key
    },
    keydown(event) {
      if (!tip.is_shown || (event.key !== 'Escape' && event.key !== 'Tab')) return;
      const { word } = tip;
      const was_inside = holds_focus();
      if (event.key === 'Tab' && (!was_inside || !leaves(event))) return;
      if (was_inside) word?.focus();
      if (event.key === 'Escape') event.stopPropagation();
      tip.hide();
    },
    scroll(event) {
      if (!tip.holds(event.target)) tip.hide();
    },
  };

  /** Tell if Tab leaves the links of the tip, which is at the end of the page. @param {KeyboardEvent} event */
  function leaves({ shiftKey, target }) {
    const next = /** @type {Element} */ (target)[shiftKey ? 'previousElementSibling' : 'nextElementSibling'];
    return next === null;
  }

  for (const [kind, listener] of Object.entries(listeners))
    document.addEventListener(kind, listener, { capture: true, passive: kind === 'scroll' || kind === 'pointermove' });
  return () => {
    for (const [kind, listener] of Object.entries(listeners))
      document.removeEventListener(kind, listener, { capture: true });
    document.documentElement.classList.remove('dv-on-term');
  };
}
