// Mounts parts into their places, alone or together. A part that fails says so in its place; the others continue.

import { element } from '../lib/dom.js';
import { say } from '../words/say.js';

/** @import { Reason } from '../types.js' */
/**
 * @template Properties
 * @typedef {object} Part
 * @property {(properties: Properties, reason: Reason) => void} update
 * @property {() => void} [destroy]
 */
/**
 * @template Properties, Actions
 * @typedef {{create: (root: HTMLElement, actions: Actions) => Part<Properties>}} PartModule
 */
/** @typedef {(part: string, error: Error) => void} Report */

/**
 * Mount one part in its place.
 * @template Properties, Actions
 * @param {HTMLElement} root empty; shows the failure if there is one
 * @param {string} name
 * @param {PartModule<Properties, Actions>} module
 * @param {Actions} actions
 * @param {Report} report
 * @returns {Part<Properties> & {own: Part<Properties>|null}} `own`: the part itself, null while it has failed
 */
export function mount_part(root, name, module, actions, report) {
  /** @type {Part<Properties>|null} */
  let own = null;
  /** @type {[Properties, Reason]|null} */
  let latest = null;

  /** @param {unknown} thrown */
  function fail(thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    report(name, error);
    try {
      own?.destroy?.();
    } catch {
      // It has already failed, and that was reported.
    }
    own = null;
    const retry = element('button', { type: 'button', text: say('Try again'), onclick: begin });
    root.replaceChildren(
      element(
        'div',
        { class: 'dv-failed', role: 'alert' },
        `${say('This part of the page ({name}) has failed: {error}.', { name, error: error.message })} `,
        retry,
      ),
    );
  }

  function begin() {
    root.replaceChildren();
    try {
      own = module.create(root, actions);
      if (latest) own.update(...latest);
    } catch (error) {
      fail(error);
    }
  }
  begin();

  return {
    get own() {
      return own;
    },
    update(properties, reason) {
      latest = [properties, reason];
      if (!own) return;
      try {
        own.update(properties, reason);
      } catch (error) {
        fail(error);
      }
    },
    destroy() {
      own?.destroy?.();
      root.replaceChildren();
    },
  };
}
