// A chart made by the server: it changes in place, reports presses, and shows its errors.

import '../../harness.js';
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { mount as mount_figure } from '../../../../../ui/components/js/apps/figure/main.js';
import { mount } from '../../harness.js';

/** A substitute for Plotly.js that records its calls. */
class Plotly {
  /** @type {{node: any, traces: any, layout: any}[]} */ drawn = [];
  /** @type {any[]} */ purged = [];
  PlotSchema = {};

  /** @param {any} node @param {any} traces @param {any} layout */
  async react(node, traces, layout) {
    if (traces[0].x === 'broken') throw new Error('no such x');
    this.drawn.push({ node, traces, layout });
    node.on = (/** @type {string} */ event, /** @type {any} */ call) => {
      node[event] = call;
    };
  }

  /** @param {any} node */
  purge(node) {
    this.purged.push(node);
  }
}

afterEach(() => Reflect.deleteProperty(window, 'Plotly')); // the tests share one window

/** @param {unknown} x @param {object} [more] */
const given = (x, more = {}) => ({
  figure: JSON.stringify({ data: [{ x }], layout: { height: 300, title: 'A chart' } }),
  alt: `Bars of ${x}`,
  config: { displayModeBar: false },
  has_points: false,
  ...more,
});

/** @param {object} data */
async function opened(data) {
  const plotly = new Plotly();
  Reflect.set(window, 'Plotly', plotly);
  /** @type {any[][]} */
  const told = [];
  /** @type {any} */
  let app;
  const page = mount(root => {
    app = mount_figure(root, /** @type {any} */ (data), (...said) => told.push(said));
    return { update() {} };
  });
  await settled();
  return { plotly, told, app, page };
}

test('the chart updates in place and ignores an unchanged figure', async () => {
  const { plotly, app, page } = await opened(given('a'));
  const chart = page.one('figure', 'Bars of a');
  assert.equal(chart.style.height, '300px');
  app.update(given('a'));
  app.update(given('b'));
  app.update(given('c'));
  await settled();
  assert.deepEqual(
    plotly.drawn.map(({ traces }) => traces[0].x),
    ['a', 'c'],
  );
  const kept = (/** @type {any} */ drawn) =>
    drawn.node === chart && drawn.layout.autosize && drawn.layout.title === 'A chart';
  assert.ok(plotly.drawn.every(kept) && plotly.drawn.every(({ layout }) => layout.separators === '.,'));
  assert.equal(page.one('figure', 'Bars of c'), chart);
  app.destroy();
  assert.deepEqual(plotly.purged, [chart]);
});

test('a press reports the data of a pressable point', async () => {
  const { told, app, page } = await opened(given('a', { has_points: true }));
  const chart = /** @type {any} */ (page.one('figure', 'Bars of a'));
  chart.plotly_click({ points: [{ customdata: undefined }, { customdata: new Int8Array([4, 0]) }] });
  chart.plotly_click({ points: [{ customdata: undefined }] });
  assert.deepEqual(told, [['point', [4, 0]]]);
  app.update(given('a'));
  chart.plotly_click({ points: [{ customdata: [1] }] });
  assert.equal(told.length, 1);
});

test('a broken figure shows an error until the next one', async () => {
  const { plotly, app, page } = await opened(given('broken'));
  assert.equal(page.one('alert').textContent, 'The chart could not be drawn (no such x); reload the page.');
  app.update(given('whole'));
  await settled();
  assert.equal(page.one('alert').textContent, '');
  assert.equal(plotly.drawn.length, 1);
});

test('the button enters and leaves full screen', async () => {
  Object.defineProperty(document, 'fullscreenEnabled', { configurable: true, value: true });
  const { page } = await opened(given('a'));
  let asked = 0;
  /** @type {Element | null} */
  let whole = null;
  Object.defineProperty(document, 'fullscreenElement', { configurable: true, get: () => whole });
  Object.assign(page.root, { requestFullscreen: () => void asked++ });
  Object.assign(document, { exitFullscreen: () => void asked-- });
  page.one('button', 'Full screen').click();
  assert.equal(asked, 1);
  whole = page.root;
  page.root.dispatchEvent(new window.Event('fullscreenchange'));
  page.one('button', 'Leave full screen').click();
  assert.equal(asked, 0);
  Reflect.deleteProperty(document, 'fullscreenElement');
  Reflect.deleteProperty(document, 'fullscreenEnabled');
});
