// The cost of the steps: bytes of the KV cache and latency, step by step. A click on a step shows that step.

import * as cost from './charts/cost.js';
import { create_charts } from './charts/mount.js';

/** @import { State, Actions, Reason } from '../types.js' */
/** @typedef {import('./charts/cost.js').Properties & Pick<State, 'visit' | 'run' | 'branch' | 'mode'>} Properties */

/**
 * @param {HTMLElement} root
 * @param {Pick<Actions, 'inspect'>} actions
 */
export function create(root, actions) {
  let steps_now = 0;
  const charts = create_charts(root, {
    on_click: index => actions.inspect(index),
    file_name: () => `${steps_now}-steps`,
  });
  const group = charts.add(root, cost);
  let drawn = '';

  return {
    /** Number of drawings that have reached the document. */
    get drawn() {
      return group.drawn;
    },
    /** @param {Properties} now @param {Reason} reason */
    update(now, reason) {
      const { visit, run, branch, steps, index, mode, cache_formula } = now;
      const last = steps.at(-1);
      const is_calm = mode === 'paused';
      const content = [
        visit,
        run,
        branch,
        steps.length,
        index,
        last?.id,
        last?.total_ms,
        is_calm,
        cache_formula,
      ].join();
      if (reason === 'theme') group.restyle();
      if (reason === 'resize') group.remeasure();
      if (content === drawn && reason !== 'theme' && reason !== 'resize') return;
      drawn = content;
      steps_now = steps.length;
      group.update(now, { is_calm, subject: `${visit}/${run}` });
      charts.schedule.request();
    },
    destroy() {
      charts.destroy();
    },
  };
}
