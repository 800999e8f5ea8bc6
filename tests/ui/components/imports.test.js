// Imports of the browser's modules point one way, and no folder grows beyond what a person can look through.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../ui/components/js', import.meta.url));
const MOST_FILES = 16;

/**
 * What the modules of a folder may import, besides those of the folder itself.
 *
 * @type {Record<string, string[]>}
 */
const ALLOWED = {
  kernel: [],
  view: ['kernel'],
  words: ['kernel', 'view'],
  lib: ['words'],
  wire: ['kernel', 'lib'],
  parts: ['kernel', 'view', 'words', 'lib'],
  apps: ['kernel', 'view', 'words', 'lib', 'wire', 'parts'],
};

const FILES = readdirSync(ROOT, { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile() && entry.name.endsWith('.js'))
  .map(entry => relative(ROOT, join(entry.parentPath, entry.name)));

const IMPORT = /^\s*(?:import|export)\s[^;]*?from\s+'([^']+)'|\bimport\(\s*'([^']+)'/gm;

/**
 * What a module imports that its folder may not; types need no import.
 *
 * @param {string} file
 * @param {string} source
 */
function forbidden(file, source) {
  const [folder] = file.split('/');
  return Array.from(source.matchAll(IMPORT), found => found[1] ?? found[2]).filter(path => {
    const [target] = join(dirname(file), path).split('/');
    return target !== folder && !ALLOWED[folder]?.includes(target);
  });
}

test('imports point one way', () => {
  const modules = FILES.filter(file => file.includes('/'));
  assert.ok(modules.length > 40);
  const found = modules.flatMap(file => {
    const source = readFileSync(join(ROOT, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '');
    return forbidden(file, source).map(path => `${file} imports ${path}`);
  });
  assert.deepEqual(found, []);
});

test('the check itself finds what points the other way', () => {
  assert.deepEqual(forbidden('view/a.js', "import { count } from '../words/format.js';"), ['../words/format.js']);
  assert.deepEqual(forbidden('parts/table/a.js', "import {\n  a,\n} from '../../kernel/row.js';"), []);
  assert.deepEqual(forbidden('kernel/a.js', "const b = await import('../lib/dom.js');"), ['../lib/dom.js']);
  assert.deepEqual(forbidden('wire/a.js', "export { a } from '../parts/b.js';"), ['../parts/b.js']);
});

test('no folder holds more files than a person can look through', () => {
  const counts = Map.groupBy(FILES, file => dirname(file));
  const large = [...counts].filter(([, files]) => files.length > MOST_FILES).map(([folder]) => folder);
  assert.deepEqual(large, []);
});
