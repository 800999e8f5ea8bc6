// A single figure as a PNG: its names match the page's, in every language.

import '../../harness.js';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as cost from '../../../../../ui/components/js/parts/charts/cost.js';
import * as distribution from '../../../../../ui/components/js/parts/charts/distribution.js';
import { export_figure, styles_of } from '../../../../../ui/components/js/parts/charts/plot.js';
import * as ranks from '../../../../../ui/components/js/parts/charts/ranks.js';
import { guided } from '../../fixtures.js';

const PO = new URL('../../../../../ui/words/languages/de.po', import.meta.url);

test('the legend of a saved figure uses the names on the page', () => {
  const drawing = {
    described: distribution.describe(guided(2), { memory: {}, places: 12, is_calm: true }),
    styles: styles_of(distribution, {}),
    zoom: {},
  };
  const part = /** @type {any} */ ({ key: 'softmax', name: 'Softmax', y_title: 'probability' });
  const { data } = export_figure(distribution, drawing, part, {});
  assert.deepEqual(
    data.filter((/** @type {any} */ { showlegend }) => showlegend).map((/** @type {any} */ { name }) => name),
    ['under guidance', 'removed', 'after settings', 'chosen'],
  );
});

test('every trace name has a German translation', () => {
  const german = readFileSync(PO, 'utf8');
  const traces = /** @type {any[]} */ ([cost, distribution, ranks].flatMap(({ styles }) => styles({})));
  const names = traces.map(({ name }) => name).filter(name => name && name !== 'u');
  assert.deepEqual(
    names.filter(name => !german.includes(`msgid "${name}"\n`)),
    [],
  );
});
