// Who uses this browser: a secret that all its tabs share, and that stays when they are closed.

import { recall, remember } from '../lib/storage.js';
import { secret } from './visit.js';

const KEY = 'decoding-visualiser-person';
const SECRET = /^[0-9a-f]{32}$/;

/**
 * @returns {string} empty where the browser keeps nothing: a secret that ends with the page would promise too much
 */
export function person() {
  if (!SECRET.test(stored())) remember('localStorage', KEY, secret());
  const kept = stored(); // what another tab may have written in the meantime, or nothing
  return SECRET.test(kept) ? kept : '';
}

const stored = () => recall('localStorage', KEY) ?? '';
