// A trace that a person chooses. The browser reads it, as the server accepts no uploaded files.

import { say, with_figures } from '../words/say.js';

export const MOST_BYTES = 2.5 * 2 ** 20; // per file
const MIB = 2 ** 20;

/** @typedef {{text: string} | {sentence: string}} ReadFile a file's text, or why there is none */

/** @param {File} file */
const too_large = file =>
  say('{file} has {size} MiB, more than this page takes; make its text again with replay in Python.', {
    file: file.name,
    size: with_figures((file.size / MIB).toFixed(1)),
  });

/** @param {File} file @returns {Promise<ReadFile>} */
export async function read_trace(file) {
  if (file.size > MOST_BYTES) return { sentence: too_large(file) };
  try {
    return { text: await file.text() };
  } catch (error) {
    const reason = /** @type {Error} */ (error).message;
    return {
      sentence: say('{file} could not be read ({error}); choose it again.', { file: file.name, error: reason }),
    };
  }
}

/**
 * Read a trace as gzip in base64, which takes a tenth of the space.
 *
 * @param {File} file
 * @param {number} most maximum number of characters
 * @returns {Promise<ReadFile>}
 */
export async function read_packed_trace(file, most) {
  const read = await read_trace(file);
  if ('sentence' in read) return read;
  const stream = new Blob([read.text]).stream().pipeThrough(new CompressionStream('gzip'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const text = btoa(binary);
  return text.length > most ? { sentence: too_large(file) } : { text };
}
