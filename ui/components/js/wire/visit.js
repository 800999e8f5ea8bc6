// The identity of this tab: a secret that lives as long as the tab, and one for this document alone.
//
// A duplicated tab has the same token as its original, but a different document. The server then gives it a new token,
// which replaces the old one.

import { recall, remember } from '../lib/storage.js';

const KEY = 'decoding-visualiser-visit';
const SECRET = /^[0-9a-f]{32}$/;

/** 128 random bits as 32 hexadecimal digits. */
export function secret() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('');
}

// Modules are evaluated once per document, whichever page of the app asks.
const tab = secret();
let token = '';

/** @returns {{token: string, tab: string}} the visit of this tab, and this document */
export function here() {
  if (!token) token = stored() || store(secret());
  return { token, tab };
}

/**
 * Continue with a different token, as this tab is a copy.
 *
 * @param {string} other
 * @param {string} [instead_of] only if this is the current token
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
