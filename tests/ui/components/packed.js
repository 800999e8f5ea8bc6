// Bytes of messages, as ui/step/message.py packs them.

/**
 * Pack a header, followed by arrays.
 *
 * @param {object} header
 * @param {ArrayBufferView[]} [arrays]
 */
export function packed(header, arrays = []) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const parts = [text, ...arrays.map(each => new Uint8Array(each.buffer, each.byteOffset, each.byteLength))];
  const sizes = parts.map(part => Math.ceil(part.length / 4) * 4);
  const bytes = new Uint8Array(4 + sizes.reduce((sum, size) => sum + size, 0)).fill(32);
  new DataView(bytes.buffer).setUint32(0, sizes[0], true);
  let place = 4;
  for (const [number, part] of parts.entries()) {
    bytes.set(part, place);
    place += sizes[number];
  }
  return bytes;
}
