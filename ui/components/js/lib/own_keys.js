// A menu, a dialog or a sampler that is being moved has the keyboard to itself: neither the page's shortcuts
// nor what lies around it sees a key that is pressed in it.

/**
 * @param {HTMLElement} node
 * @param {(event: KeyboardEvent) => void} on_key called instead of every other listener
 * @param {(event: KeyboardEvent) => boolean} [is_active] whether a key is its own just now
 * @returns {() => void} stops it
 */
export function own_keys(node, on_key, is_active = () => true) {
  const listen = (/** @type {KeyboardEvent} */ event) => {
    if (!(event.target instanceof Node) || !node.contains(event.target) || !is_active(event)) return;
    event.stopPropagation(); // what a browser does with the key, as Tab, is done all the same
    on_key(event);
  };
  // The shortcuts listen on the document before anything in it: only the window comes earlier.
  window.addEventListener('keydown', listen, true);
  return () => window.removeEventListener('keydown', listen, true);
}
