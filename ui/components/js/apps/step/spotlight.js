// The tour's target: ringed, in sight, and next in the tab order for keyboard users.

/** @param {HTMLElement} root */
export function create_spotlight(root) {
  let pointed = '';

  /** @param {string} selector empty for nothing */
  return function point_at(selector) {
    root.classList.toggle('dv-touring', selector !== '');
    if (selector === pointed) return;
    const was_on_line = document.activeElement?.closest('[data-part=line]');
    root.querySelector('[data-pointed]')?.removeAttribute('data-pointed'); // parts set classes too
    const is_first = pointed === '';
    pointed = selector;
    if (!selector) return;
    const target = /** @type {HTMLElement|null} */ (root.querySelector(selector));
    if (!target) return;
    target.dataset.pointed = '';
    const control = target.matches('button') ? target : target.querySelector('input[type=range]');
    if (was_on_line && control instanceof HTMLElement) control.focus({ preventScroll: true });
    if (!is_first) target.scrollIntoView({ block: 'nearest' }); // the page must not move as it opens
  };
}
