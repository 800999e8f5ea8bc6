// A chart made by the server: a Plotly figure that stays in its place and changes there.

import { element, set_attribute, set_text, svg } from '../../lib/dom.js';
import { load_plotly } from '../../lib/plotly.js';
import { say, separators } from '../../words/say.js';

/**
 * @typedef {object} Data sent by ui/charts/figure.py
 * @property {string} figure as JSON
 * @property {string} alt the content in words
 * @property {object} config of Plotly
 * @property {boolean} has_points whether the points may be pressed
 */

const USUAL_HEIGHT = 450; // Plotly's default

/**
 * @param {HTMLElement} root
 * @param {Data} data
 * @param {(name: string, value: unknown) => void} tell
 */
export function mount(root, data, tell) {
  const chart = element('div', { class: 'dv-plotly-chart', role: 'figure' });
  const problem = element('p', { class: 'dv-plotly-problem', role: 'alert' });
  const corners = svg('svg', { viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true' });
  corners.append(svg('path', { d: 'M6 2H2v4M10 2h4v4M6 14H2v-4M10 14h4v-4' }));
  const whole = element('button', { type: 'button', class: 'dv-plotly-whole' }, corners);
  whole.hidden = !document.fullscreenEnabled; // a phone may not support it
  root.append(chart, problem, whole);

  // Plotly's own texts, which are English.
  const dictionary = { 'Download plot as a PNG': say('Download the chart as PNG') };
  const config = { ...data.config, locale: 'page', locales: { page: { dictionary } } };
  let now = data;
  let drawn = '';
  let is_gone = false;
  let drawing = Promise.resolve();
  /** @type {any} */
  let plotly = null;

  async function draw() {
    if (is_gone || now.figure === drawn) return;
    drawn = now.figure;
    const { data: traces, layout } = JSON.parse(now.figure);
    chart.style.height = `${layout.height ?? USUAL_HEIGHT}px`; // even while Plotly is loading
    plotly ??= await load_plotly(root.dataset.plotly ?? '');
    if (is_gone) return;
    const is_first = !('on' in chart);
    await plotly.react(
      chart,
      traces,
      { ...layout, separators: separators(), height: undefined, autosize: true },
      config,
    );
    if (is_first) listen();
  }

  function listen() {
    // Plotly's text-measuring element is of no use to a screen reader.
    document.getElementById('js-plotly-tester')?.setAttribute('aria-hidden', 'true');
    /** @type {any} */ (chart).on('plotly_click', (/** @type {{points: {customdata: unknown}[]}} */ { points }) => {
      const point = points.find(({ customdata }) => customdata !== undefined && customdata !== null);
      if (now.has_points && point) tell('point', plain(point.customdata));
    });
  }

  /** @param {Data} given */
  function update(given) {
    now = given;
    set_attribute(chart, 'aria-label', given.alt);
    chart.classList.toggle('dv-pressable', given.has_points);
    drawing = drawing.then(draw).then(
      () => set_text(problem, ''),
      error => {
        drawn = '';
        set_text(problem, say('The chart could not be drawn ({reason}); reload the page.', { reason: error.message }));
      },
    );
  }

  const resized = new ResizeObserver(() => {
    if (chart.offsetWidth && 'on' in chart) plotly.Plots.resize(chart);
  });
  resized.observe(chart);
  // Touches must scroll the page and not zoom, so Plotly does not receive them. A tap is still a click.
  chart.addEventListener('touchstart', event => event.stopPropagation(), { capture: true, passive: true });

  const name_whole = () => {
    const name = document.fullscreenElement === root ? say('Leave full screen') : say('Full screen');
    set_attribute(whole, 'aria-label', name);
    set_attribute(whole, 'title', name);
  };
  whole.addEventListener('click', () => {
    if (document.fullscreenElement === root) void document.exitFullscreen();
    else void root.requestFullscreen();
  });
  root.addEventListener('fullscreenchange', name_whole);
  name_whole();
  update(data);

  return {
    update: (/** @type {object} */ given) => update(/** @type {Data} */ (given)),
    restyle() {}, // the figure brings its colours with it
    destroy() {
      is_gone = true;
      resized.disconnect();
      if ('on' in chart) plotly.purge(chart);
    },
  };
}

/** A point's custom data, in a form that JSON can hold. @param {any} customdata */
const plain = customdata => (ArrayBuffer.isView(customdata) ? Array.from(/** @type {any} */ (customdata)) : customdata);
