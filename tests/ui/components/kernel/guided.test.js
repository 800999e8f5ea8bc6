// Guidance at any scale: bit by bit the engine's.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { at_scale, compared, placed } from '../../../../ui/components/js/kernel/guided.js';
import { read_guided, row_of } from '../vectors.js';

const NOTHING = {
  possible: 0,
  exact: true,
  values: new Float32Array(),
  counts: new Uint32Array(),
  ids: new Uint32Array(),
  seen_ids: new Uint32Array(),
  seen_ranks: new Uint32Array(),
  seen_values: new Float32Array(),
};

/** @param {ArrayBufferView} array */
const sum_of = array => crc32(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));

test('the guided row has the engine’s bits and order at any scale', () => {
  for (const { vocab, scales, ...guidance } of read_guided()) {
    for (const { scale, scores, ids, first, prob, ranks } of scales) {
      const row = at_scale({ ...row_of({ ...NOTHING, vocab }), guidance }, scale);
      assert.ok(row.scores);
      assert.equal(sum_of(row.scores), scores, `other bits at scale ${scale}`);
      assert.equal(sum_of(Uint32Array.from(row.ids)), ids, `another order at scale ${scale}`);
      assert.ok(
        row.values.every((value, run) => run === 0 || value < row.values[run - 1]),
        'a run is split',
      );
      assert.equal(
        row.counts.reduce((sum, count) => sum + count, 0),
        row.possible,
      );
      const shown = compared({ ...row, guidance, scores: row.scores }, 8);
      assert.equal(shown[0].id, first);
      assert.ok(Math.abs(shown[0].guided.prob - prob) < 1e-9);
      assert.deepEqual([shown[0].prompt.rank, shown[0].negative.rank], ranks);
    }
  }
});

test('a token that was found stands where the scale on the slider puts it', () => {
  const [{ vocab, scales, ...guidance }] = read_guided();
  const row = at_scale({ ...row_of({ ...NOTHING, vocab }), guidance }, scales[2].scale);
  const { raw_rank, logit } = placed(row, { id: scales[2].first });
  assert.deepEqual([raw_rank, logit], [1, row.scores?.[scales[2].first]]);
  const beyond = { id: vocab + 3, raw_rank: 1 };
  assert.equal(placed(row, beyond), beyond);
});

test('what the server computed belongs to its own scale', () => {
  const [{ vocab, scales: _, ...guidance }] = read_guided();
  const shaped = { settings: {}, outcomes: [], draw: null, default_order: null };
  const first = at_scale({ ...row_of({ ...NOTHING, vocab }, { shaped }), guidance }, 1.5);
  assert.equal(first.shaped, shaped);
  assert.equal(at_scale({ ...first, guidance }, 2).shaped, null);
});
