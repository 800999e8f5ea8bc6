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

/**
 * Pack runs of equal scores, as ui/components/rows.py packs them.
 *
 * @param {Float32Array} values
 * @param {Uint32Array} counts
 */
export function packed_runs(values, counts) {
  const patterns = new Uint32Array(values.buffer, values.byteOffset, values.length);
  let last = 0xffff_ffffn;
  /** @type {number[]} */
  const bytes = [];
  const write = (/** @type {bigint} */ number) => {
    for (; number > 127n; number >>= 7n) bytes.push(Number(number & 127n) + 128);
    bytes.push(Number(number));
  };
  patterns.forEach((pattern, run) => {
    const ordered = BigInt(pattern) ^ (pattern >> 31 ? 0xffff_ffffn : 0x8000_0000n);
    write(2n * (last - ordered) + (counts[run] > 1 ? 1n : 0n));
    if (counts[run] > 1) write(BigInt(counts[run]));
    last = ordered;
  });
  return Uint8Array.from(bytes);
}
