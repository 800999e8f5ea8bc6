// The six charts of the step page. Two Plotly figures (the distribution, the costs) lie over one grid of HTML
// figures: each subplot sits where its HTML figure has left room. One Plotly figure with many subplots
// redraws about twice as fast as many figures; titles, legends, token labels stay HTML: literal and cheap.

import * as cost from './cost.js';
import * as distribution from './distribution.js';
import { make_figure, measure, place_labels, place_marks, place_titles, px, show_size } from './figure.js';
import { export_figure, plot, PNG_SIZE, styles_of, without_empty, x_axis_of } from './plot.js';
import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { axis_id, axis_key, load_plotly, read_look, to_png } from '../../lib/plotly.js';

// While steps run by, the charts leave the browser time for the rest of the page.
const RUNNING_GAP_MS = { distribution: 85, cost: 1200 };
const MOST_BARS = 20;
const MOST_BARS_NARROW = 12;
const NARROW = 400;
const GAP = 8; // between the buttons and an enlarged figure

/** One Plotly figure, what it draws, and what is known of its last drawing. */
function make_group(name, subject) {
  const subplots = subject.subplots.map(subplot => ({
    ...subject.figures.find(figure => figure.key === subplot.figure),
    ...subplot,
  }));
  return {
    name,
    subject,
    subplots,
    layer: element('div', { class: 'dv-chart-layer', 'aria-hidden': 'true' }),
    memory: {},
    zoom: {},
    key: null,
    styles: null,
    described: null,
    boxes: null,
    drawn: 0,
    is_dirty: true,
    is_busy: false,
    last: -Infinity,
  };
}

/**
 * Builds the charts.
 * @param {Element} root empty element for them, inside the `.dv` element that says where Plotly.js is
 * @param {object} actions see README.md
 * @returns {{update: Function, destroy: Function, drawn: number, drawn_costs: number}}
 */
export function create(root, actions) {
  const groups = [make_group('distribution', distribution), make_group('cost', cost)];
  const [main_group, cost_group] = groups;
  const group_of = key => groups.find(group => group.subject.figures.some(figure => figure.key === key));
  const handlers = {
    enlarge: key => actions.show({ enlarged: latest?.state.enlarged === key ? null : key }),
    reset: key => zoom_out(key),
    save: key => save(key),
  };
  const parts = {};
  for (const { subject, subplots } of groups) {
    for (const figure of subject.figures) {
      const own = subplots.filter(subplot => subplot.figure === figure.key);
      parts[figure.key] = make_figure(figure, own, handlers);
    }
  }
  const note = element(
    'div',
    { class: 'dv-chart-note dv-hidden', role: 'alert' },
    element('span', {}),
    element('button', { type: 'button', text: 'Retry', onclick: () => load() }),
  );
  const grid = element(
    'div',
    { class: 'dv-charts' },
    ...Object.values(parts).map(part => part.figure),
    ...groups.map(group => group.layer),
  );
  root.classList.add('dv-charts-root');
  root.append(note, grid);

  let plotly = null;
  let latest = null;
  let look = null;
  let enlarged = null;
  let costs_drawn = '';
  let run = null;
  let frame = 0;
  let timer = 0;
  let is_gone = false;
  let is_hidden = grid.clientWidth === 0;

  function load() {
    set_class(note, 'dv-chart-note dv-hidden');
    grid.classList.remove('dv-hidden');
    load_plotly(root.closest('.dv')?.dataset.plotly).then(
      loaded => {
        plotly = loaded;
        request();
      },
      error => {
        set_text(note.firstChild, `The charts cannot be drawn: ${error.message}.`);
        set_class(note, 'dv-chart-note');
        grid.classList.add('dv-hidden');
      },
    );
  }

  /** Ask for a drawing at the next animation frame. */
  function request() {
    if (!frame && !is_gone) frame = requestAnimationFrame(tick);
  }

  /** How long a group must wait still: not at all unless steps run by. */
  function wait_of(group, now) {
    const is_running = latest.state.mode === 'playing' || latest.state.mode === 'running';
    return is_running ? group.last + RUNNING_GAP_MS[group.name] - now : 0;
  }

  /** At most one group per frame, the distribution first: its answer is what a person waits for. */
  function tick() {
    frame = 0;
    if (!plotly || !latest || is_gone || is_hidden) return;
    const now = performance.now();
    // One at a time: a second drawing would hold up the first on its way into the DOM.
    if (groups.some(group => group.is_busy)) return;
    const waiting = groups.filter(group => group.is_dirty);
    // A few milliseconds of tolerance: else a frame that comes just too early would cost a whole one.
    const ready = waiting.find(group => wait_of(group, now) <= 4);
    if (ready) {
      draw(ready, now);
    } else if (waiting.length) {
      clearTimeout(timer);
      timer = setTimeout(request, Math.min(...waiting.map(group => wait_of(group, now))));
    }
  }

  function draw(group, now) {
    const { state, view } = latest;
    group.is_dirty = false;
    group.last = now;
    look ??= read_look(grid);
    group.boxes ??= measure(group, parts, grid, enlarged);
    const places = group.boxes.boxes[0].outer_width < NARROW ? MOST_BARS_NARROW : MOST_BARS;
    group.described = group.subject.describe(state, view, {
      memory: group.memory,
      places,
      is_calm: state.mode === 'paused' && latest.reason !== 'slide',
    });
    group.described.data = without_empty(group.described.data);
    group.is_busy = true;
    plot(plotly, group, group.boxes, look)
      .then(() => {
        if (!group.listens) listen(group);
        group.drawn += 1;
        root.dispatchEvent(new CustomEvent('dv-drawn', { bubbles: true, detail: group.name }));
      })
      .finally(() => {
        group.is_busy = false;
        if (group.is_dirty) request();
        // The costs wait until this drawing has been painted.
        else if (groups.some(other => other.is_dirty))
          frame ||= requestAnimationFrame(() => {
            frame = 0;
            timer = setTimeout(request);
          });
      });
    write(group, state);
  }

  /** Everything of a group that is HTML. */
  function write(group, state) {
    for (const definition of group.subject.figures) {
      const part = parts[definition.key];
      const { text, summary, labels, marks = [], absent } = group.described.figures[definition.key];
      const own = group.subplots.filter(subplot => subplot.figure === definition.key);
      const boxes = own.map(subplot => group.boxes.boxes[group.subplots.indexOf(subplot)]);
      set_text(part.text, text);
      set_attribute(part.text, 'title', text);
      for (const entry of part.legend) {
        set_class(entry.item, absent.includes(entry.text) ? 'dv-legend-absent' : '');
      }
      // A summary that changes many times a second would be no use to a listener.
      if (state.mode === 'paused') set_text(part.summary, summary);
      place_titles(part, boxes);
      if (labels) place_labels(part, labels, boxes[0]);
      const [x_key, y_key] = [axis_key('x', own[0].number), axis_key('y', own[0].number)];
      place_marks(part, marks, boxes[0], x_axis_of(group, x_key), group.described.axes[y_key]);
      const is_zoomed = own.some(subplot => group.zoom[axis_key('x', subplot.number)]);
      set_class(part.reset, `dv-chart-button dv-chart-reset${is_zoomed ? '' : ' dv-chart-away'}`);
    }
  }

  /** Plotly's events, once its figure is there. */
  function listen(group) {
    group.listens = true;
    // What Plotly measures text with is nothing for a screen reader.
    set_attribute(document.getElementById('js-plotly-tester'), 'aria-hidden', 'true');
    let pressed = null;
    group.layer.addEventListener(
      'mousedown',
      event => {
        pressed = event.target.dataset?.subplot ?? null;
      },
      { capture: true },
    );
    group.layer.on('plotly_transitioned', () => group.landed?.());
    new MutationObserver(() => group.changed?.()).observe(group.layer, {
      subtree: true,
      attributes: true,
      attributeFilter: ['d'],
    });
    group.layer.on('plotly_relayout', change => {
      for (const subplot of group.subplots) {
        const key = axis_key('x', subplot.number);
        if (`${key}.range[0]` in change) {
          group.zoom[key] = [change[`${key}.range[0]`], change[`${key}.range[1]`]];
          redraw(group);
        }
      }
    });
    group.layer.on('plotly_doubleclick', () => {
      const name_of = ({ number }) => `${axis_id('x', number)}${axis_id('y', number)}`;
      const subplot = group.subplots.find(one => name_of(one) === pressed);
      if (subplot) zoom_out(subplot.figure);
    });
    // Line labels stand above the plot; a hover box goes before them.
    group.layer.on('plotly_hover', () => grid.classList.add('dv-charts-hovered'));
    group.layer.on('plotly_unhover', () => grid.classList.remove('dv-charts-hovered'));
    group.layer.on('plotly_click', ({ points }) => {
      const index = points.find(point => Number.isInteger(point.customdata))?.customdata;
      if (index !== undefined) actions.inspect(index);
    });
  }

  function redraw(group) {
    group.is_dirty = true;
    request();
  }

  function zoom_out(key) {
    const group = group_of(key);
    for (const subplot of group.subplots) {
      if (subplot.figure === key) delete group.zoom[axis_key('x', subplot.number)];
    }
    redraw(group);
  }

  async function save(key) {
    const group = group_of(key);
    if (!plotly || !group.described) return;
    look ??= read_look(grid);
    group.boxes ??= measure(group, parts, grid, enlarged);
    group.styles ??= styles_of(group, group.boxes, look);
    const { data, layout } = export_figure(group, parts[key], look);
    const url = await to_png(plotly, { data, layout }, PNG_SIZE.width, PNG_SIZE.height);
    element('a', { href: url, download: `${key}-step-${latest.state.index + 1}.png` }).click();
  }

  function show_enlarged(key) {
    if (key === enlarged) return;
    enlarged = key;
    for (const part of Object.values(parts)) {
      show_size(part, part.key === key);
    }
    for (const group of groups) group.key = null;
    if (key) requestAnimationFrame(() => bring_into_sight(parts[key].figure));
    remeasure();
  }

  /** Below the buttons, which stay while a figure is enlarged. */
  function bring_into_sight(figure) {
    const buttons = root.closest('.dv')?.querySelector('[data-part=transport]');
    const stays = buttons && getComputedStyle(buttons).position === 'sticky';
    figure.style.scrollMarginTop = stays
      ? px(Number.parseFloat(getComputedStyle(buttons).top) + buttons.offsetHeight + GAP)
      : '';
    figure.scrollIntoView({ block: 'start' });
  }

  function remeasure() {
    for (const group of groups) Object.assign(group, { boxes: null, styles: null, is_dirty: true });
    request();
  }

  // Asking for the width instead would force a layout in the middle of every drawing.
  const observer = new ResizeObserver(entries => {
    for (const { target, contentRect } of entries) if (target === grid) is_hidden = contentRect.width === 0;
    remeasure();
  });
  observer.observe(grid);
  for (const { plot: room, caption } of Object.values(parts)) {
    observer.observe(room);
    observer.observe(caption);
  }

  // Touches must scroll the page and not zoom, so Plotly does not hear of them; a tap still is a click.
  for (const { layer } of groups) {
    layer.addEventListener('touchstart', event => event.stopPropagation(), { capture: true, passive: true });
  }

  load();

  return {
    /** Number of drawings of the four distribution charts that are in the DOM. */
    get drawn() {
      return main_group.drawn;
    },
    /** The same for the two cost charts. */
    get drawn_costs() {
      return cost_group.drawn;
    },
    /**
     * @param {object} state
     * @param {object|null} view
     * @param {'slide'|'step'|'resize'|'theme'} reason
     */
    update(state, view, reason) {
      latest = { state, view, reason };
      show_enlarged(state.enlarged ?? null);
      if (`${state.session}/${state.run}` !== run) {
        // Another text: its axes owe nothing to the last one's.
        run = `${state.session}/${state.run}`;
        for (const group of groups) Object.assign(group, { memory: {}, zoom: {} });
      }
      if (reason === 'theme') {
        look = null;
        for (const group of groups) Object.assign(group, { styles: null, key: null, is_dirty: true });
      }
      if (reason === 'resize') remeasure();
      main_group.is_dirty = true;
      const last = state.steps.at(-1);
      const costs = [
        run,
        state.branch,
        state.steps.length,
        state.index,
        last?.id,
        last?.total_ms,
        state.mode === 'paused',
        state.cache_formula,
      ].join();
      if (costs !== costs_drawn) {
        costs_drawn = costs;
        cost_group.is_dirty = true;
      }
      // Not a frame later: Plotly takes one of its own.
      if (!frame && !is_gone) tick();
    },
    destroy() {
      is_gone = true;
      cancelAnimationFrame(frame);
      clearTimeout(timer);
      observer.disconnect();
      if (plotly) for (const group of groups) plotly.purge(group.layer);
      root.classList.remove('dv-charts-root');
      root.replaceChildren();
    },
  };
}
