// The engine, for tests of the browser's output: it shapes their rows as the server would.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { read_message } from '../../../ui/components/js/wire/message.js';

/** @import { Scene, ShapedByEngine } from '../../../ui/components/js/types.js' */

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** @type {{questions: number, answers: number} | null} file descriptors of the pipes to the one engine of this run */
let pipes = null;

function start() {
  const folder = mkdtempSync(join(tmpdir(), 'engine-'));
  const [questions, answers] = ['questions', 'answers'].map(name => join(folder, name));
  spawnSync('mkfifo', [questions, answers]);
  const python = join(ROOT, '.venv/bin/python');
  spawn(python, ['-m', 'tests.ui.components.engine', questions, answers], { cwd: ROOT, stdio: 'inherit' }).unref();
  const opened = { questions: openSync(questions, 'w'), answers: openSync(answers, 'r') };
  rmSync(folder, { recursive: true }); // both ends are open; the engine ends when this process does
  return opened;
}

/** @param {number} file @param {number} length */
function read(file, length) {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const got = readSync(file, bytes, filled, length - filled, null);
    if (!got) throw new Error('the engine of the tests has ended');
    filled += got;
  }
  return bytes;
}

/** @type {Map<string, Uint8Array>} */
const known = new Map();

/**
 * Return the engine's results for a scene's row.
 *
 * @param {Scene} scene with all ids in its row
 * @param {Scene['settings']} [settings]
 * @returns {ShapedByEngine}
 */
export function shaped_by_engine({ row, prompt_tokens, steps, model, ...scene }, settings = scene.settings) {
  if (!row) throw new Error('a scene without a row');
  const logits = new Array(row.vocab).fill(null);
  let place = 0;
  for (const [run, count] of row.counts.entries())
    for (const end = place + count; place < end; place++) logits[row.ids[place]] = row.values[run];
  const { u, xtc_u } = row;
  const text = [...prompt_tokens, ...steps.slice(0, row.index)].map(token => token.id);
  const { eos_ids = [], line_break_ids = [] } = /** @type {any} */ (model ?? {});
  const prompt_length = prompt_tokens.length;
  const question = JSON.stringify({
    ...{ logits, settings, text, prompt_length, eos_ids, line_break_ids },
    ...{ u, xtc_u: xtc_u ?? 0 },
  });
  let bytes = known.get(question);
  if (!bytes) {
    pipes ??= start();
    writeSync(pipes.questions, `${question}\n`);
    const length = new DataView(read(pipes.answers, 4).buffer).getUint32(0, true);
    bytes = read(pipes.answers, length);
    known.set(question, bytes);
  }
  return /** @type {ShapedByEngine} */ (read_message(bytes).shaped);
}
