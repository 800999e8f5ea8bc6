// Parts without a browser: a document, a part mounted into it, and a screen reader's view of the elements.
//
//   import { mount } from '../harness.js';          // first, so that there is a document
//   import { create } from '.../parts/transport.js';
//
//   const page = mount(create);
//   page.update(make_state());
//   page.one('button', 'Step').click();
//   assert.deepEqual(page.calls, [['step']]);

import { computeAccessibleName, getRole, isInaccessible } from 'dom-accessibility-api';
import { JSDOM } from 'jsdom';
import { view_of } from './fixtures.js';

/**
 * @import { Actions, Reason, State } from '../../../ui/components/js/types.js'
 *
 * @typedef {object} Mounted
 * @property {HTMLElement} root
 * @property {any[][]} calls calls of the actions: name and arguments
 * @property {(state: State, reason?: Reason) => void} update
 * @property {(role: string, name?: string | RegExp) => HTMLElement[]} all
 * @property {(role: string, name?: string | RegExp) => any} one fails unless there is exactly one
 * @property {(name?: string) => any[][]} taken the calls of this name since the last time; clears all
 * @property {() => string} text the visible text, with spaces collapsed
 * @property {() => void} destroy
 */

// The elements hidden by the page's own style sheets, and by every browser's defaults.
const HIDING = `.dv-hidden, .dv-away, dialog:not([open]), details:not([open]) > :not(summary) { display: none }`;
const { window } = new JSDOM(`<!doctype html><html lang="en"><style>${HIDING}</style><body></body></html>`, {
  pretendToBeVisual: true,
  url: 'http://test.invalid/',
});

/** An observer that never fires: there is no layout. */
class Observer {
  observe() {}
  unobserve() {}
  disconnect() {}
}

const CLASSES = [
  'Document',
  'Node',
  'Text',
  'Element',
  'HTMLElement',
  'SVGElement',
  'Event',
  'CustomEvent',
  'KeyboardEvent',
  'PopStateEvent',
  'MutationObserver',
  'NodeFilter',
];
const FUNCTIONS = [
  'getComputedStyle',
  'getSelection',
  'localStorage',
  'sessionStorage',
  'document',
  'history',
  'location',
  'navigator',
];
Object.assign(globalThis, { window, ResizeObserver: Observer, IntersectionObserver: Observer });
for (const name of [...CLASSES, 'MouseEvent', ...FUNCTIONS]) {
  Object.defineProperty(globalThis, name, { value: Reflect.get(window, name), configurable: true });
}
Object.assign(globalThis, {
  requestAnimationFrame: window.requestAnimationFrame.bind(window),
  cancelAnimationFrame: window.cancelAnimationFrame.bind(window),
  matchMedia: () => ({ matches: false, addEventListener() {}, removeEventListener() {} }),
});
Object.assign(window.Element.prototype, { scrollTo() {}, scrollIntoView() {}, setPointerCapture() {} });
Object.assign(window.HTMLDialogElement.prototype, {
  /** @this {HTMLDialogElement} */
  showModal() {
    this.open = true;
  },
  /** @this {HTMLDialogElement} */
  close() {
    this.open = false;
  },
});

/**
 * Mount a part in its own document.
 *
 * @param {(root: HTMLElement, actions: any, ...more: any[]) => {update: (state: any, reason: any) => void,
 *   destroy?: () => void}} create
 * @param {Partial<Actions>} [actions] the others only record their calls
 * @param {...unknown} more additional arguments of `create`
 * @returns {Mounted}
 */
export function mount(create, actions = {}, ...more) {
  /** @type {any[][]} */
  const calls = [];
  const noting = new Proxy(actions, {
    get:
      (own, name) =>
      (/** @type {unknown[]} */ ...given) => {
        calls.push([String(name), ...given]);
        return Reflect.get(own, name)?.(...given) ?? Promise.resolve(null);
      },
  });
  document.body.replaceChildren();
  const root = document.createElement('section');
  root.className = 'dv';
  document.body.append(root);
  const part = create(root, noting, ...more);
  /** @type {Mounted['all']} */
  const all = (role, name) => find(root, role, name);
  return {
    root,
    calls,
    all,
    taken: name => calls.splice(0).filter(([called]) => name === undefined || called === name),
    update: (state, reason = 'step') => part.update(state, reason),
    one(role, name) {
      const found = all(role, name);
      if (found.length === 1) return found[0];
      const there = all(role).map(each => JSON.stringify(name_of(each)));
      throw new Error(`${found.length} of role ${role} are named ${name}; there are ${there.join(', ') || 'none'}`);
    },
    text: () => text_of(root),
    destroy: () => part.destroy?.(),
  };
}

/**
 * Mount a part on a page that follows its requests: settings, preferences and fields change, and the page redraws.
 *
 * @param {Parameters<typeof mount>[0]} create
 * @param {State} state
 * @param {Partial<Actions>} [actions] actions that differ from the page's
 * @returns {Mounted & {state: State, change: (changes: Partial<State>) => void}}
 */
export function live(create, state, actions = {}) {
  /** @param {Partial<State>} changes */
  function change(changes) {
    Object.assign(state, changes);
    state.view = state.row && view_of(state);
    page.update(state);
  }
  const page = mount(create, {
    set: changes => change({ settings: { ...state.settings, ...changes }, is_what_if: true }),
    show: change,
    draft: changes => change({ draft: { ...state.draft, ...changes } }),
    ...actions,
  });
  change({});
  return { ...page, state, change };
}

/**
 * Count the changes below an element, and list the elements made for them.
 *
 * @param {Element} root
 * @param {() => void} act
 */
export function changes_in(root, act) {
  const observer = new window.MutationObserver(() => {});
  observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  act();
  const records = observer.takeRecords();
  observer.disconnect();
  const made = records.flatMap(({ addedNodes }) => Array.from(addedNodes)).filter(node => node instanceof Element);
  return { number: records.length, made };
}

// --- a person's actions ---------------------------------------------------------------------------

/**
 * Press a key on an element.
 *
 * @param {Element} target
 * @param {string} key
 * @param {KeyboardEventInit} [more]
 */
export const press = (target, key, more = {}) =>
  target.dispatchEvent(new window.KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }));

/** Press a key on the focused element. @param {string} key @param {KeyboardEventInit} [more] */
export const key = (key, more = {}) => press(document.activeElement ?? document.body, key, more);

/** Change a field and leave it. @param {Element} field @param {string} value */
export function type(field, value) {
  begin_typing(field, value);
  field.dispatchEvent(new window.Event('change', { bubbles: true }));
}

/** Change a field's text, and stay there. @param {Element} field @param {string} value */
export function begin_typing(field, value) {
  Object.assign(field, { value });
  field.dispatchEvent(new window.Event('input', { bubbles: true }));
}

/** Choose an option of a `select`. @param {Element} field @param {string} value */
export function choose(field, value) {
  Object.assign(field, { value });
  field.dispatchEvent(new window.Event('change', { bubbles: true }));
}

/** Press and let go of a pointer. @param {Element} target @param {number} [detail] the number of this click in a row */
export function click(target, detail = 1) {
  pointer(target, 'pointerdown');
  pointer(target, 'pointerup');
  target.dispatchEvent(new window.MouseEvent('click', { bubbles: true, cancelable: true, detail }));
}

/** @param {Element | Document} target @param {string} kind */
export const pointer = (target, kind) =>
  target.dispatchEvent(new window.Event(kind, { bubbles: true, cancelable: true }));

/** Wait until all arrived answers have been processed. */
export const settled = () => new Promise(resolve => setImmediate(resolve));

// --- a screen reader's view -----------------------------------------------------------------------

/** Return an element's visible text, with spaces collapsed. @param {Element} element */
export function text_of(element) {
  /** @param {Node} node @returns {string} */
  const read = node => {
    if (!(node instanceof Element)) return node.textContent ?? '';
    return getComputedStyle(node).display === 'none' ? ' ' : Array.from(node.childNodes, read).join('');
  };
  return read(element)
    .replace(/[\u2068\u2069]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Return an element's accessible name. @param {Element} element */
export const name_of = element =>
  computeAccessibleName(element)
    .replace(/[\u2068\u2069]/g, '')
    .trim();

/** @param {Element} element */
const role_of = element => (element.matches('th[scope=row]') ? 'rowheader' : getRole(element));

/** @param {Element} root @param {string} role @param {string | RegExp} [name] */
export function find(root, role, name) {
  const all = /** @type {HTMLElement[]} */ (Array.from(root.querySelectorAll('*')));
  return all.filter(element => {
    if (role_of(element) !== role || isInaccessible(element)) return false;
    if (name === undefined) return true;
    const own = name_of(element);
    return typeof name === 'string' ? own === name : name.test(own);
  });
}
