// When a person may be about to leave the step page: for another page of the app, another window, or for good.

/**
 * @typedef {[EventTarget, string, (event: any) => unknown]} Watched what is listened to, for which event, and what it tells
 */

/**
 * @param {Element} root
 * @param {{released(): void, leaving(): void}} tell `released`: a pointer was let go somewhere; `leaving`: it left
 *   `root` or went down outside, the focus left it, or the page is no longer seen
 * @returns {() => void} stops watching
 */
export function watch_for_leaving(root, { released, leaving }) {
  /** @param {unknown} node */
  const is_inside = node => node instanceof Node && root.contains(node);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {Watched[]} */
  const watched = [
    // A slider tells of its last value only after the pointer has told that it was let go.
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
  // Before anybody else hears of it, who may already be going.
  for (const [target, kind, tell] of watched) target.addEventListener(kind, tell, { capture: true });
  return () => {
    clearTimeout(timer);
    for (const [target, kind, tell] of watched) target.removeEventListener(kind, tell, { capture: true });
  };
}
