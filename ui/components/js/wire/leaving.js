// Signs that a person may be about to leave the step page: for another page of the app, another window, or for good.

/**
 * @typedef {[EventTarget, string, (event: any) => unknown]} Watched a target, an event, and the listener for it
 */

/**
 * @param {Element} root
 * @param {{released(): void, leaving(): void}} tell `released`: a pointer was released somewhere; `leaving`: the
 *   pointer left `root` or was pressed outside, the focus left `root`, or the page is hidden
 * @returns {() => void} a function that stops watching
 */
export function watch_for_leaving(root, { released, leaving }) {
  /** @param {unknown} node */
  const is_inside = node => node instanceof Node && root.contains(node);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {Watched[]} */
  const watched = [
    // A slider reports its last value only after the pointer has reported its release.
    [
      window,
      'pointerup',
      () => {
        clearTimeout(timer);
        timer = setTimeout(released);
      },
    ],
    [root, 'pointerleave', event => event.target === root && leaving()],
    [document, 'pointerdown', event => is_inside(event.target) || leaving()],
    [root, 'focusout', event => is_inside(event.relatedTarget) || leaving()],
    [document, 'visibilitychange', () => document.visibilityState === 'hidden' && leaving()],
    [window, 'blur', event => event.target === window && leaving()], // and not of one of its elements
    [window, 'pagehide', leaving],
  ];
  // Before any other listener, which may already navigate away.
  for (const [target, kind, tell] of watched) target.addEventListener(kind, tell, { capture: true });
  return () => {
    clearTimeout(timer);
    for (const [target, kind, tell] of watched) target.removeEventListener(kind, tell, { capture: true });
  };
}
