// A tab's identity: constant for its lifetime, unless the server changes it.

import '../harness.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';

// A separate module instance, as in a tab: tests of other pages have created a token with the usual one.
const address = new URL('../../../../ui/components/js/wire/visit.js?alone', import.meta.url);
const { here, keep, secret } = await import(address.href);

const KEY = 'decoding-visualiser-visit';
const OTHER = 'ab'.repeat(16);

test('a tab keeps its token unless the server replaces it', () => {
  const { token, tab } = here();
  assert.match(token, /^[0-9a-f]{32}$/);
  assert.deepEqual([here(), sessionStorage.getItem(KEY)], [{ token, tab }, token]);
  assert.notEqual(secret(), secret());
  keep('no token');
  keep(OTHER, 'somebody else');
  assert.equal(here().token, token);
  keep(OTHER, token);
  assert.deepEqual([here(), sessionStorage.getItem(KEY)], [{ token: OTHER, tab }, OTHER]);
});
