// Small helpers that create elements and change them only if something differs.

/**
 * Create an element with properties (`class`, `text`, `on…` handlers; all others are attributes) and children.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [properties] null, undefined and false omit an attribute
 * @param {...(Node|string)} children
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'class') made.className = value;
    else if (name === 'text') made.textContent = value;
    else if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children);
  return made;
}

/**
 * Create an SVG element in the same way.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node|string)} children
 */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/**
 * Set an element's text if it differs: a write costs layout even if it changes nothing. A text node is kept, as a new
 * one costs style as well.
 *
 * @param {Node} target
 * @param {string} text
 */
export function set_text(target, text) {
  const { firstChild } = target;
  if (firstChild?.nodeType === Node.TEXT_NODE && !firstChild.nextSibling) {
    if (firstChild.nodeValue !== text) firstChild.nodeValue = text;
  } else if (target.textContent !== text) target.textContent = text;
}

/**
 * Set or remove an attribute if it differs.
 *
 * @param {Element|null} target
 * @param {string} name
 * @param {unknown} value
 */
export function set_attribute(target, name, value) {
  if (!target) return;
  if (value === null || value === undefined || value === false) {
    if (target.hasAttribute(name)) target.removeAttribute(name);
    return;
  }
  const text = value === true ? '' : String(value);
  if (target.getAttribute(name) !== text) target.setAttribute(name, text);
}

/** Set a class list if it differs. @param {Element} target @param {string} names */
export function set_class(target, names) {
  if (target.className !== names) target.className = names;
}

/**
 * Have a sentence announced when it changes, unless it changes many times a second.
 *
 * @param {Element} target
 * @param {{mode: string}} state
 * @param {string} reason
 */
export function set_live(target, { mode }, reason) {
  set_attribute(target, 'aria-live', mode === 'paused' && reason !== 'slide' ? 'polite' : 'off');
}
