// Imports of the browser's modules point one way, including those for a type alone. Biome finds circular imports of
// values only.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../ui/components/js', import.meta.url));

/**
 * The folders that a folder's modules may import, besides the folder itself and `types.js`.
 *
 * @type {Record<string, string[]>}
 */
const ALLOWED = {
  'types.js': [],
  kernel: [],
  view: ['kernel', 'words'],
  words: ['kernel'],
  lib: ['words'],
  wire: ['kernel', 'lib'],
  parts: ['kernel', 'view', 'words', 'lib'],
  apps: ['kernel', 'view', 'words', 'lib', 'wire', 'parts'],
};

const FILES = readdirSync(ROOT, { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile() && entry.name.endsWith('.js'))
  .map(entry => relative(ROOT, join(entry.parentPath, entry.name)));

const IMPORT = /\bfrom\s+'(\.[^']+)'|\bimport[\s(]+'(\.[^']+)'/g;

/**
 * List a module's imports, in code and in comments.
 *
 * @param {string} file
 * @param {string} source
 */
const imported = (file, source) =>
  Array.from(source.matchAll(IMPORT), found => join(dirname(file), found[1] ?? found[2]));

/** @param {string} path */
const folder_of = path => path.split('/')[0];

/**
 * List a module's imports that its folder does not allow.
 *
 * @param {string} file
 * @param {string} source
 */
const forbidden = (file, source) =>
  imported(file, source).filter(
    path => ![folder_of(file), 'types.js', ...(ALLOWED[folder_of(file)] ?? [])].includes(folder_of(path)),
  );

/**
 * Tell whether imports lead from one module to another.
 *
 * @param {Map<string, string[]>} graph
 * @param {string} from
 * @param {string} to
 */
function reaches(graph, from, to, seen = new Set()) {
  /** @type {(next: string) => boolean} */
  const is_way = next => next === to || (!seen.has(next) && reaches(graph, next, to, seen.add(next)));
  return graph.get(from)?.some(is_way) ?? false;
}

/** List the names that import themselves through others. @param {Map<string, string[]>} graph */
const circles = graph => [...graph.keys()].filter(name => reaches(graph, name, name));

const SOURCES = FILES.map(file => ({ file, source: readFileSync(join(ROOT, file), 'utf8') }));

test('imports point one way', () => {
  assert.ok(FILES.length > 40);
  const found = SOURCES.flatMap(({ file, source }) => forbidden(file, source).map(path => `${file} imports ${path}`));
  assert.deepEqual(found, []);
});

test('files and folders have no circular imports', () => {
  const files = new Map(SOURCES.map(({ file, source }) => [file, imported(file, source)]));
  const folders = Map.groupBy(files.keys(), file => dirname(file));
  assert.deepEqual(circles(files), []);
  const between = Array.from(folders, ([folder, inside]) => {
    const outside = inside.flatMap(file => files.get(file) ?? []).map(path => dirname(path));
    return /** @type {const} */ ([folder, outside.filter(other => other !== folder)]);
  });
  assert.deepEqual(circles(new Map(between)), []);
});

test('the check finds wrong directions and circles', () => {
  assert.deepEqual(forbidden('words/a.js', "import { make_view } from '../view/view.js';"), ['view/view.js']);
  assert.deepEqual(forbidden('parts/table/a.js', "import {\n  a,\n} from '../../kernel/row.js';"), []);
  assert.deepEqual(forbidden('kernel/a.js', "const b = await import('../lib/dom.js');"), ['lib/dom.js']);
  assert.deepEqual(forbidden('wire/a.js', "export { a } from '../parts/b.js';"), ['parts/b.js']);
  assert.deepEqual(forbidden('words/a.js', "/** @import { A } from '../parts/b.js' */"), ['parts/b.js']);
  assert.deepEqual(forbidden('words/a.js', "/** @type {import('../types.js').A} */"), []);
  assert.deepEqual(forbidden('types.js', "/** @type {import('./lib/dom.js').A} */"), ['lib/dom.js']);
  const graph = Object.entries({ a: ['b', 'd'], b: ['c'], c: ['b', 'd'], d: [] });
  assert.deepEqual(circles(new Map(graph)), ['b', 'c']);
});
