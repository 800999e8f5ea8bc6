// Parts without a browser: a document, a part mounted into it, and finding what a screen reader would find.
//
//   import { mount } from '../harness.js';          // first, so that there is a document
//   import { create } from '.../parts/transport.js';
//
//   const page = mount(create);
//   page.update(make_state());
//   page.one('button', 'Step').click();
//   assert.deepEqual(page.calls, [['step']]);

import { JSDOM } from 'jsdom';

/**
 * @import { Actions, Part, Reason, State } from '../../../ui/components/js/types.js'
 *
 * @typedef {object} Mounted
 * @property {HTMLElement} root
 * @property {unknown[][]} calls what was asked of the actions: name and arguments
 * @property {(state: State, reason?: Reason) => void} update
 * @property {(role: string, name?: string | RegExp) => HTMLElement[]} all
 * @property {(role: string, name?: string | RegExp) => HTMLElement} one fails where there is none, or more
 *   than one
 * @property {() => void} destroy
 */

const { window } = new JSDOM('<!doctype html><html lang="en"><body></body></html>', {
  pretendToBeVisual: true,
  url: 'http://test.invalid/',
});

/** Watches nothing: there is no layout. */
class Observer {
  observe() {}
  unobserve() {}
  disconnect() {}
}

const GLOBALS = ['document', 'Node', 'Element', 'HTMLElement', 'SVGElement', 'Event', 'KeyboardEvent', 'MouseEvent'];
Object.assign(globalThis, { window, ResizeObserver: Observer, IntersectionObserver: Observer });
for (const name of [...GLOBALS, 'CustomEvent', 'getComputedStyle', 'localStorage', 'sessionStorage']) {
  Object.defineProperty(globalThis, name, { value: Reflect.get(window, name), configurable: true });
}
Object.assign(globalThis, {
  requestAnimationFrame: window.requestAnimationFrame.bind(window),
  cancelAnimationFrame: window.cancelAnimationFrame.bind(window),
  matchMedia: () => ({ matches: false, addEventListener() {}, removeEventListener() {} }),
});
Object.assign(window.Element.prototype, { scrollTo() {}, scrollIntoView() {}, setPointerCapture() {} });

/**
 * A part in a document of its own.
 *
 * @param {(root: HTMLElement, actions: Actions, ...more: any[]) => Part} create
 * @param {Partial<Actions>} [actions] the others only note that they were called
 * @param {...unknown} more further arguments of `create`
 * @returns {Mounted}
 */
export function mount(create, actions = {}, ...more) {
  /** @type {unknown[][]} */
  const calls = [];
  const noting = new Proxy(actions, {
    get: (own, name) =>
      Reflect.get(own, name) ??
      ((/** @type {unknown[]} */ ...given) => {
        calls.push([String(name), ...given]);
        return Promise.resolve(null);
      }),
  });
  document.body.replaceChildren();
  const root = document.createElement('section');
  root.className = 'dv';
  document.body.append(root);
  const part = create(root, /** @type {Actions} */ (noting), ...more);
  /** @type {Mounted['all']} */
  const all = (role, name) => find(root, role, name);
  return {
    root,
    calls,
    all,
    update: (state, reason = 'step') => part.update(state, reason),
    one(role, name) {
      const found = all(role, name);
      if (found.length === 1) return found[0];
      const there = all(role).map(each => JSON.stringify(name_of(each)));
      throw new Error(`${found.length} of role ${role} are named ${name}; there are ${there.join(', ') || 'none'}`);
    },
    destroy: () => part.destroy?.(),
  };
}

/**
 * Press a key on an element, as a person would.
 *
 * @param {Element} target
 * @param {string} key
 * @param {KeyboardEventInit} [more]
 */
export const press = (target, key, more = {}) =>
  target.dispatchEvent(new window.KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }));

/** Change a field, as a person would. @param {Element} field @param {string} value */
export function type(field, value) {
  Object.assign(field, { value });
  field.dispatchEvent(new window.Event('input', { bubbles: true }));
  field.dispatchEvent(new window.Event('change', { bubbles: true }));
}

// --- what a screen reader finds -------------------------------------------------------------------

/** @type {Record<string, string>} */
const ROLES = {
  A: 'link',
  ARTICLE: 'article',
  BUTTON: 'button',
  DETAILS: 'group',
  DIALOG: 'dialog',
  FIELDSET: 'group',
  FIGURE: 'figure',
  H1: 'heading',
  H2: 'heading',
  H3: 'heading',
  H4: 'heading',
  IMG: 'img',
  LI: 'listitem',
  NAV: 'navigation',
  OL: 'list',
  OPTION: 'option',
  OUTPUT: 'status',
  SELECT: 'combobox',
  SUMMARY: 'button',
  TABLE: 'table',
  TD: 'cell',
  TEXTAREA: 'textbox',
  TR: 'row',
  UL: 'list',
};
/** @type {Record<string, string>} */
const INPUTS = {
  button: 'button',
  checkbox: 'checkbox',
  number: 'spinbutton',
  radio: 'radio',
  range: 'slider',
  search: 'searchbox',
  submit: 'button',
};

/** @param {Element} element */
function role_of(element) {
  const own = element.getAttribute('role');
  if (own) return own;
  if (element.tagName === 'INPUT') return INPUTS[element.getAttribute('type') ?? ''] ?? 'textbox';
  if (element.tagName === 'TH') return element.getAttribute('scope') === 'row' ? 'rowheader' : 'columnheader';
  return ROLES[element.tagName] ?? '';
}

/** Whether a screen reader passes over an element. @param {Element} element */
const is_hidden = element =>
  element.closest('[hidden], [aria-hidden=true], .dv-hidden, details:not([open]) > :not(summary)') !== null;

/** What is read of an element and what it holds. @param {Node} node @returns {string} */
function text_of(node) {
  if (!(node instanceof Element)) return node.textContent ?? '';
  if (node.getAttribute('aria-hidden') === 'true' || node.hasAttribute('hidden')) return '';
  return node.getAttribute('aria-label') ?? Array.from(node.childNodes, text_of).join('');
}

/** An element's accessible name. @param {Element} element */
export function name_of(element) {
  const ids = element.getAttribute('aria-labelledby')?.split(/\s+/) ?? [];
  const labels = 'labels' in element ? Array.from(/** @type {HTMLInputElement} */ (element).labels ?? []) : [];
  const found =
    ids.map(id => document.getElementById(id)?.textContent ?? '').join(' ') ||
    element.getAttribute('aria-label') ||
    labels.map(label => text_of(label)).join(' ') ||
    element.getAttribute('alt') ||
    element.querySelector(':scope > figcaption, :scope > legend, :scope > caption')?.textContent ||
    text_of(element) ||
    element.getAttribute('title') ||
    '';
  return found.replace(/\s+/g, ' ').trim();
}

/** @param {Element} root @param {string} role @param {string | RegExp} [name] */
function find(root, role, name) {
  const all = /** @type {HTMLElement[]} */ (Array.from(root.querySelectorAll('*')));
  return all.filter(element => {
    if (role_of(element) !== role || is_hidden(element)) return false;
    if (name === undefined) return true;
    const own = name_of(element);
    return typeof name === 'string' ? own === name : name.test(own);
  });
}
