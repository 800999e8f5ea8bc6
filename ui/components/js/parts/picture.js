// The picture of a step: logits and softmax over the same tokens. The rank curves, the draw and guidance are one press
// away.

import { element, set_attribute } from '../lib/dom.js';
import { marked, say } from '../words/say.js';
import * as distribution from './charts/distribution.js';
import { create_charts } from './charts/mount.js';
import * as ranks from './charts/ranks.js';
import * as contrastive from './contrastive.js';
import * as draw from './draw/draw.js';
import * as guidance from './guidance.js';
import * as recorded from './recorded.js';

/** @import { State, Actions, Reason, PictureName } from '../types.js' */
/**
 * @typedef {import('./charts/distribution.js').Properties & import('./charts/ranks.js').Properties
 *   & import('./draw/draw.js').Properties & import('./guidance.js').Properties & import('./contrastive.js').Properties
 *   & import('./recorded.js').Properties
 *   & Pick<State, 'visit' | 'run' | 'branch' | 'mode' | 'picture' | 'enlarged' | 'slow' | 'point' | 'steps' | 'strategy' | 'read_only'>} Properties
 */

/** @type {{name: PictureName, text: string}[]} */
const TABS = [
  { name: 'distribution', text: marked('Logits and softmax') },
  { name: 'ranks', text: marked('By rank') },
  { name: 'draw', text: marked('Draw') },
  { name: 'guidance', text: marked('Guidance') },
];

/**
 * @param {HTMLElement} root
 * @param {Actions} actions
 */
export function create(root, actions) {
  /** @type {Properties|null} */
  let state = null;
  const charts = create_charts(root, {
    file_name: () => `step-${(state?.index ?? 0) + 1}`,
  });
  const place = (/** @type {string} */ name) =>
    element('div', { class: `dv-panel dv-panel-${name}`, role: 'tabpanel', id: `dv-panel-${name}` });
  const panels = Object.fromEntries(
    [...TABS.map(({ name }) => name), 'search', 'recorded'].map(name => [name, place(name)]),
  );
  const tabs = TABS.map(({ name, text }) =>
    element('button', {
      type: 'button',
      role: 'tab',
      id: `dv-tab-${name}`,
      'aria-controls': `dv-panel-${name}`,
      class: 'dv-quiet',
      text: say(text),
      onclick: () => actions.show({ picture: name }),
    }),
  );
  TABS.forEach(({ name }, at) => panels[name].setAttribute('aria-labelledby', tabs[at].id));
  const enlarge = element('button', {
    type: 'button',
    class: 'dv-quiet',
    text: say('Enlarge'),
    onclick: () => actions.show({ enlarged: !state?.enlarged }),
  });
  const list = element('div', { class: 'dv-tabs', role: 'tablist', 'aria-label': say('Picture') }, ...tabs);
  root.append(element('div', { class: 'dv-picture-head' }, list, enlarge), charts.note, ...Object.values(panels));
  list.addEventListener('keydown', event => {
    const at = tabs.indexOf(/** @type {HTMLButtonElement} */ (event.target));
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const open = tabs.filter(tab => !tab.hidden);
    const next = open[(open.indexOf(tabs[at]) + move + open.length) % open.length];
    next.focus();
    next.click();
  });

  const groups = {
    distribution: charts.add(panels.distribution, distribution),
    ranks: charts.add(panels.ranks, ranks),
  };
  const parts = {
    draw: draw.create(panels.draw, actions),
    guidance: guidance.create(panels.guidance, actions),
    search: contrastive.create(panels.search),
    recorded: recorded.create(panels.recorded),
  };

  /**
   * The panel to show. Slow motion shows the draw when it reaches that point.
   *
   * @param {Properties} now
   * @returns {PictureName | 'search' | 'recorded'}
   */
  function shown_panel(now) {
    if (now.strategy) return 'search';
    if (now.read_only) return 'recorded';
    const is_draw = now.slow && now.point !== null && now.view?.points[now.view.point]?.kind === 'draw';
    if (is_draw) return 'draw';
    return now.picture === 'guidance' && now.negative_tokens === null ? 'distribution' : now.picture;
  }

  return {
    /** Number of drawings of a step's charts that have reached the document. */
    get drawn() {
      return groups.distribution.drawn;
    },
    /** @param {Properties} now @param {Reason} reason */
    update(now, reason) {
      state = now;
      const panel = shown_panel(now);
      for (const [name, node] of Object.entries(panels)) node.hidden = name !== panel;
      TABS.forEach(({ name }, at) => {
        set_attribute(tabs[at], 'aria-selected', String(name === panel));
        set_attribute(tabs[at], 'tabindex', name === panel ? '0' : '-1');
        tabs[at].hidden = name === 'guidance' && now.negative_tokens === null;
      });
      list.hidden = enlarge.hidden = panel === 'search' || panel === 'recorded';
      set_attribute(enlarge, 'aria-pressed', String(Boolean(now.enlarged)));
      if (panel !== 'distribution' && panel !== 'ranks') parts[panel].update(now, reason);

      const subject = `${now.visit}/${now.run}`;
      const is_calm = now.mode === 'paused' && reason !== 'slide';
      charts.schedule.is_running = now.mode !== 'paused';
      if (reason === 'theme') for (const group of Object.values(groups)) group.restyle();
      if (reason === 'resize') for (const group of Object.values(groups)) group.remeasure();
      if (panel === 'distribution' || panel === 'ranks') groups[panel].update(now, { is_calm, subject });
      charts.schedule.request();
    },
    destroy() {
      charts.destroy();
    },
  };
}
