// The identity of this browser's user: a secret that all its tabs share and that outlives them.

import { recall, remember } from '../lib/storage.js';
import { secret } from './visit.js';

const KEY = 'decoding-visualiser-person';
const SECRET = /^[0-9a-f]{32}$/;

/**
 * @returns {string} empty if the browser stores nothing: a secret that ends with the page would promise too much
 */
export function person() {
  if (!SECRET.test(stored())) remember('localStorage', KEY, secret());
  const kept = stored(); // the stored secret, perhaps written by another tab in the meantime, or nothing
  return SECRET.test(kept) ? kept : '';
}

const stored = () => recall('localStorage', KEY) ?? '';
