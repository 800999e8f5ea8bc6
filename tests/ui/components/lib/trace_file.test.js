// A trace's file: read, packed, or refused in a sentence.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { MOST_BYTES, read_packed_trace } from '../../../../ui/components/js/lib/trace_file.js';

/** @param {number} size @param {string} text */
const file_of = (size, text) => /** @type {File} */ ({ name: 'run.json', size, text: async () => text });

test('a trace is packed, and a large or unreadable one is refused', async () => {
  const text = JSON.stringify({ prompt: 'Märchen 🙂', steps: Array.from({ length: 500 }, (_, index) => ({ index })) });
  const read = await read_packed_trace(file_of(text.length, text), 10_000);
  assert.ok('text' in read && read.text.length < text.length / 3);
  assert.equal(gunzipSync(Buffer.from(read.text, 'base64')).toString(), text);
  for (const refused of [
    await read_packed_trace(file_of(MOST_BYTES + 1, text), 10_000),
    await read_packed_trace(file_of(text.length, text), 100),
  ])
    assert.match('sentence' in refused ? refused.sentence : '', /^run\.json has \d\.\d MiB, more than this page takes/);
  const gone = { ...file_of(1, ''), text: () => Promise.reject(new Error('gone')) };
  assert.deepEqual(await read_packed_trace(gone, 100), {
    sentence: 'run.json could not be read (gone); choose it again.',
  });
});
