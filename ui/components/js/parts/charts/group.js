// A group of charts: one Plotly figure with a subplot for each HTML figure, laid over them. One Plotly figure with
// several subplots redraws about twice as fast as several figures. Titles, legends and token labels stay HTML: literal
// and cheap.

import { element, set_class, set_text } from '../../lib/dom.js';
import { axis_id, axis_key, read_look, to_png } from '../../lib/plotly.js';
import { say } from '../../words/say.js';
import { make_figure, measure, place_labels, place_marks, place_titles } from './figure.js';
import { export_figure, PNG_SIZE, plot, styles_of, without_empty, x_axis_of } from './plot.js';

/** @import { Described, Look, Subject } from './types.js' */

const BARS_EACH_PX = 34; // a bar with its token below it
const MOST_BARS = 20;
const FEWEST_BARS = 8;
const SETTLE_MS = 500; // without new values, after which Plotly redraws what was moved

/** @template Properties */
export class ChartGroup {
  /** @type {any} */ plotly = null;
  /** @type {{properties: Properties, is_calm: boolean}|null} */ #latest = null;
  /** @type {Look|null} */ #look = null;
  #memory = {};
  #is_dirty = true;
  #is_hidden = true;
  #listens = false;
  #must_settle = false;
  /** @type {ReturnType<typeof setTimeout>|undefined} */ #settling;
  /** @type {string|undefined} */ #subject_key;

  /** Data of the drawing that plot.js compares and needs. @type {any} */
  #drawing = { key: null, styles: null, described: null, ranges: {}, zoom: {} };
  /** @type {ReturnType<typeof measure>|null} */ #geometry = null;

  /** Number of drawings that have reached the document. */
  drawn = 0;

  /**
   * @param {HTMLElement} root empty
   * @param {Subject<Properties>} subject
   * @param {{request: () => void, on_click?: (index: number) => void, file_name: () => string}} page
   */
  constructor(root, subject, page) {
    Object.assign(this, { root, subject, page });
    /** @type {HTMLElement} */ this.root = root;
    /** @type {Subject<Properties>} */ this.subject = subject;
    this.page = page;
    this.gap_ms = subject.gap_ms;
    this.layer = element('div', { class: 'dv-chart-layer', 'aria-hidden': 'true' });
    this.parts = subject.figures.map(figure => {
      const own = subject.subplots.filter(subplot => subplot.figure === figure.key);
      const handlers = { reset: () => this.#zoom_out(figure.key), save: () => this.#save(figure.key) };
      return { ...make_figure(figure, own, handlers), subplots: own };
    });
    root.classList.add('dv-charts', `dv-charts-${subject.name}`);
    root.append(...this.parts.map(({ figure }) => figure), this.layer);
    // Reading the width instead would force a layout in the middle of every drawing.
    this.observer = new ResizeObserver(entries => {
      for (const { target, contentRect } of entries) if (target === root) this.#is_hidden = contentRect.width === 0;
      this.remeasure();
    });
    this.observer.observe(root);
    for (const { room, caption } of this.parts) {
      this.observer.observe(room);
      this.observer.observe(caption);
    }
    // Touches must scroll the page and not zoom, so Plotly does not receive them. A tap is still a click.
    this.layer.addEventListener('touchstart', event => event.stopPropagation(), { capture: true, passive: true });
  }

  is_dirty() {
    return this.#is_dirty && !this.#is_hidden && this.plotly !== null && this.#latest !== null;
  }

  /**
   * @param {Properties} properties
   * @param {object} about
   * @param {boolean} about.is_calm whether a single step is shown rather than many in a row
   * @param {string} about.subject the subject's key; a new subject's axes do not depend on the last one's
   */
  update(properties, { is_calm, subject }) {
    this.#latest = { properties, is_calm };
    const texts = this.subject.texts?.(properties) ?? {};
    for (const part of this.parts) if (part.key in texts) set_text(part.text, texts[part.key]);
    if (subject !== this.#subject_key) {
      this.#subject_key = subject;
      this.#memory = {};
      this.#drawing.zoom = {};
    }
    this.#is_dirty = true;
  }

  /** Handle new sizes. */
  remeasure() {
    this.#geometry = null;
    this.#is_dirty = true;
    this.page.request();
  }

  /** Handle new colours. */
  restyle() {
    this.#look = null;
    Object.assign(this.#drawing, { styles: null, key: null });
    this.#is_dirty = true;
  }

  async draw() {
    if (!this.#latest) return;
    const { properties, is_calm } = this.#latest;
    this.#is_dirty = false;
    this.#look ??= read_look(this.root);
    this.#geometry ??= measure(this.subject.subplots, this.parts, this.root);
    const [first] = this.#geometry.boxes;
    const places = Math.round(
      Math.min(MOST_BARS, Math.max(FEWEST_BARS, first.width / (BARS_EACH_PX * (first.font / 11)))),
    );
    const described = this.subject.describe(properties, { memory: this.#memory, places, is_calm });
    this.#drawing.described = { ...described, data: without_empty(described.data) };
    // Plotly's hover boxes need its own drawing.
    const may_move = !this.#must_settle && !this.layer.matches(':hover');
    const landing = plot(this.plotly, this, this.#drawing, this.#geometry, this.#look, may_move);
    this.#write(described, is_calm);
    clearTimeout(this.#settling);
    this.#settling = undefined;
    this.#must_settle = false;
    if (!(await landing)) this.#settling = setTimeout(() => this.#settle(), SETTLE_MS);
    if (!this.#listens) this.#listen();
    this.drawn += 1;
  }

  /** Write everything that is HTML. @param {Described} described @param {boolean} is_calm */
  #write({ figures, axes }, is_calm) {
    for (const part of this.parts) {
      const { text, summary, labels, marks, absent, renamed } = figures[part.key];
      const boxes = part.subplots
        .map(subplot => this.#geometry?.boxes[this.subject.subplots.indexOf(subplot)])
        .filter(box => box !== undefined);
      set_text(part.text, text);
      for (const { item, words, name } of part.legend) {
        set_class(item, absent.includes(name) ? 'dv-absent' : '');
        set_text(words, say(renamed?.[name] ?? name));
      }
      // A summary that changes many times a second would not help a listener.
      if (is_calm) set_text(part.summary, summary);
      place_titles(part, boxes);
      if (labels) place_labels(part, labels, boxes[0]);
      const [x_key, y_key] = ['x', 'y'].map(letter => axis_key(letter, part.subplots[0].number));
      place_marks(part, marks, boxes[0], x_axis_of(this.#drawing, x_key), axes[y_key]);
      const is_zoomed = part.subplots.some(({ number }) => this.#drawing.zoom[axis_key('x', number)]);
      part.reset.classList.toggle('dv-hidden', !is_zoomed);
    }
  }

  /** Listen to Plotly's events, once its figure exists. */
  #listen() {
    this.#listens = true;
    const { layer, subject, root } = this;
    // Plotly's text-measuring element is of no use to a screen reader.
    document.getElementById('js-plotly-tester')?.setAttribute('aria-hidden', 'true');
    /** @type {string|null} */
    let pressed = null;
    layer.addEventListener(
      'mousedown',
      event => {
        pressed = event.target instanceof SVGElement ? (event.target.dataset.subplot ?? null) : null;
      },
      { capture: true },
    );
    layer.addEventListener('pointerenter', () => this.#settling !== undefined && this.#settle());
    const figure = /** @type {any} */ (layer);
    figure.on('plotly_transitioned', () => this.#drawing.landed?.());
    new MutationObserver(() => this.#drawing.changed?.()).observe(layer, {
      subtree: true,
      attributes: true,
      attributeFilter: ['d'],
    });
    figure.on('plotly_relayout', (/** @type {Record<string, number>} */ change) => {
      for (const { number } of subject.subplots) {
        const key = axis_key('x', number);
        if (!(`${key}.range[0]` in change)) continue;
        this.#drawing.zoom[key] = [change[`${key}.range[0]`], change[`${key}.range[1]`]];
        this.#redraw();
      }
    });
    figure.on('plotly_doubleclick', () => {
      const subplot = subject.subplots.find(
        ({ number }) => `${axis_id('x', number)}${axis_id('y', number)}` === pressed,
      );
      if (subplot) this.#zoom_out(subplot.figure);
    });
    // Labels of lines lie above the plot; a hover box has priority over them.
    figure.on('plotly_hover', () => root.classList.add('dv-hovered'));
    figure.on('plotly_unhover', () => root.classList.remove('dv-hovered'));
    figure.on('plotly_click', (/** @type {{points: {customdata: unknown}[]}} */ { points }) => {
      const index = points.map(({ customdata }) => customdata).find(Number.isInteger);
      if (index !== undefined) this.page.on_click?.(Number(index));
    });
  }

  /** Have Plotly draw what was only moved. */
  #settle() {
    this.#must_settle = true;
    this.#redraw();
  }

  #redraw() {
    this.#is_dirty = true;
    this.page.request();
  }

  /** @param {string} key */
  #zoom_out(key) {
    for (const { figure, number } of this.subject.subplots) {
      if (figure === key) delete this.#drawing.zoom[axis_key('x', number)];
    }
    this.#redraw();
  }

  /** @param {string} key */
  async #save(key) {
    const part = this.parts.find(each => each.key === key);
    if (!this.plotly || !this.#drawing.described || !part) return;
    this.#look ??= read_look(this.root);
    this.#drawing.styles ??= styles_of(this.subject, this.#look);
    const { data, layout } = export_figure(this.subject, this.#drawing, part, this.#look);
    const url = await to_png(this.plotly, { data, layout }, PNG_SIZE.width, PNG_SIZE.height);
    element('a', { href: url, download: `${key}-${this.page.file_name()}.png` }).click();
  }

  destroy() {
    clearTimeout(this.#settling);
    this.observer.disconnect();
    this.plotly?.purge(this.layer);
    this.root.replaceChildren();
  }
}
