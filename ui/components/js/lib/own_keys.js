// A menu, a dialog or a sampler that is being moved owns the keyboard. Neither the page's shortcuts nor the elements
// around it see a key pressed inside it.

/**
 * @param {HTMLElement} node
 * @param {(event: KeyboardEvent) => void} on_key called instead of every other listener
 * @param {(event: KeyboardEvent) => boolean} [is_active] whether the node currently owns a key
 * @returns {() => void} a function that stops it
 */
export function own_keys(node, on_key, is_active = () => true) {
  const listen = (/** @type {KeyboardEvent} */ event) => {
    if (!(event.target instanceof Node) || !node.contains(event.target) || !is_active(event)) return;
    event.stopPropagation(); // the browser's default action for the key, such as Tab, still happens
    on_key(event);
  };
  // The shortcuts listen on the document before anything in it. Only the window comes earlier.
  window.addEventListener('keydown', listen, true);
  return () => window.removeEventListener('keydown', listen, true);
}
