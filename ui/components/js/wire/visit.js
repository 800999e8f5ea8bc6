// Who this tab is: a secret that the tab keeps as long as it lives, and one for this document alone.
//
// A duplicated tab has the token of the one it was made from, in a document of its own; the server then gives
// it another token, which is kept instead.

import { recall, remember } from '../lib/storage.js';

const KEY = 'decoding-visualiser-visit';
const SECRET = /^[0-9a-f]{32}$/;

/** 128 random bits as 32 hexadecimal digits. */
export function secret() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('');
}

// Modules are evaluated once a document, whichever page of the app asks.
const tab = secret();
let token = '';

/** @returns {{token: string, tab: string}} the visit of this tab, and this document */
export function here() {
  if (!token) token = stored() || store(secret());
  return { token, tab };
}

/**
 * Go on under another token: this tab is a copy.
 *
 * @param {string} other
 * @param {string} [instead_of] only if this is the token so far
 */
export function keep(other, instead_of) {
  if (!SECRET.test(other) || other === here().token) return;
  if (instead_of === undefined || instead_of === token) token = store(other);
}

function stored() {
  const kept = recall('sessionStorage', KEY) ?? '';
  return SECRET.test(kept) ? kept : '';
}

/** @param {string} value */
function store(value) {
  remember('sessionStorage', KEY, value);
  return value;
}
