// A trace that a person chooses: read in the browser, as the server takes no uploaded files.

export const MOST_BYTES = 2.5 * 2 ** 20; // of a file
const MIB = 2 ** 20;

/** @typedef {{text: string} | {sentence: string}} ReadFile the text of a file, or why there is none */

/** @param {File} file */
const too_large = file =>
  `${file.name} has ${(file.size / MIB).toFixed(1)} MiB, more than this page takes; make its text again with replay in Python.`;

/** @param {File} file @returns {Promise<ReadFile>} */
export async function read_trace(file) {
  if (file.size > MOST_BYTES) return { sentence: too_large(file) };
  try {
    return { text: await file.text() };
  } catch (error) {
    return {
      sentence: `${file.name} could not be read (${/** @type {Error} */ (error).message}); choose it again.`,
    };
  }
}

/**
 * The same as gzip in base64, which takes a tenth of the room.
 *
 * @param {File} file
 * @param {number} most characters that there may be
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
