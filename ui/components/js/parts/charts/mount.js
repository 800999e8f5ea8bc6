// Mounts groups of charts. It loads Plotly once, and says so if Plotly is unavailable.

import { element, set_text } from '../../lib/dom.js';
import { load_plotly } from '../../lib/plotly.js';
import { say } from '../../words/say.js';
import { ChartGroup } from './group.js';
import { Schedule } from './schedule.js';

/** @import { Subject } from './types.js' */

/** The charts of a page, which take turns. @type {WeakMap<HTMLElement, Schedule>} */
const schedules = new WeakMap();

/**
 * @param {HTMLElement} root on the page, inside its element with class `dv`
 * @param {object} options
 * @param {(index: number) => void} [options.on_click] called when a step of a chart was clicked
 * @param {() => string} options.file_name the base name of a saved picture
 */
export function create_charts(root, { on_click, file_name }) {
  const page = /** @type {HTMLElement} */ (root.closest('.dv') ?? root);
  const schedule = schedules.get(page) ?? new Schedule();
  schedules.set(page, schedule);
  const url = page.dataset.plotly;
  /** @type {ChartGroup<any>[]} */
  const groups = [];
  /** @type {any} */
  let plotly = null;
  const words = element('span');
  const note = element(
    'div',
    { class: 'dv-failed dv-hidden', role: 'alert' },
    words,
    ' ',
    element('button', { type: 'button', text: say('Retry'), onclick: load }),
  );

  function load() {
    note.classList.add('dv-hidden');
    load_plotly(url ?? '').then(
      loaded => {
        plotly = loaded;
        for (const group of groups) group.plotly = plotly;
        schedule.request();
      },
      error => {
        set_text(words, say('The charts cannot be drawn: {error}.', { error: error.message }));
        note.classList.remove('dv-hidden');
      },
    );
  }
  load();

  return {
    /** The message on why there are no charts. */
    note,
    schedule,
    /**
     * @template Properties
     * @param {HTMLElement} root
     * @param {Subject<Properties>} subject
     */
    add(root, subject) {
      const group = new ChartGroup(root, subject, { request: () => schedule.request(), on_click, file_name });
      group.plotly = plotly;
      groups.push(group);
      schedule.add(group);
      return group;
    },
    destroy() {
      for (const group of groups) {
        schedule.remove(group);
        group.destroy();
      }
    },
  };
}
