// Presets: a press sets a whole chain; removed settings can be brought back.

import { chain_of, is_same_chain } from '../../kernel/chain.js';
import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { create_menu } from '../../lib/menu.js';
import { listed } from '../../words/format.js';
import { say } from '../../words/say.js';

/** @import { Actions, Chain, Settings, State, Table } from '../../types.js' */

const SHOWN = 4; // the others are in a menu

/** @param {string[]} one @param {string[]} other */
const is_same_order = (one, other) => one.join() === other.join();

/**
 * The row of presets: `nodes`, and `update(state)`.
 * @param {Actions} actions
 * @param {(text: string) => void} announce
 */
export function create_presets(actions, announce) {
  /** @type {{button: HTMLButtonElement, chain: Chain}[]} */
  let buttons = [];
  /** @type {Table|null} */
  let table = null;
  /** @type {NonNullable<State['model']>['recommended']} */
  let own = null; // the model's
  /** @type {Settings} */
  let settings = {};
  /** @type {string|undefined} */
  let model;
  /**
   * @type {{before: Settings, text: string, order: string[], model: string|undefined}|null} the settings that a preset
   *   replaced
   */
  let lost = null;

  const row = element('div', { class: 'dv-presets', role: 'group', 'aria-label': say('Presets') });
  const words = element('span');
  const undo = element('button', {
    type: 'button',
    class: 'dv-quiet',
    text: say('Undo'),
    'aria-label': say('Undo the preset'),
    onclick: bring_back,
  });
  const note = element('p', { class: 'dv-note dv-hidden' }, words, ' ', undo);
  /** @type {ReturnType<typeof create_menu>|null} */
  let menu = null;

  function bring_back() {
    if (!lost) return;
    const { seed: _kept, ...chain } = lost.before;
    lost = null;
    actions.set(chain);
    actions.settle();
    announce(say('The samplers are as they were.'));
    buttons[0]?.button.focus({ preventScroll: true }); // the button itself has vanished
  }

  /** @param {Settings} preset */
  function choose(preset) {
    if (!table) return;
    const before = structuredClone(settings);
    const order = before.order ?? [];
    const gone = order.filter(name => !(preset.order ?? []).includes(name));
    const off = Object.fromEntries(
      gone.map(name => [name, table?.samplers.find(each => each.name === name)?.off ?? null]),
    );
    const names = gone.map(name => table?.samplers.find(each => each.name === name)?.in_text ?? name);
    const text = gone.length
      ? say('Removed: {samplers}.', { samplers: listed(names) })
      : is_same_order(order, preset.order ?? [])
        ? ''
        : say('The samplers are in their default order again.');
    if (text) lost = { before: lost?.before ?? before, text, order: preset.order ?? [], model };
    actions.set({ ...off, ...preset });
    actions.settle();
    menu?.close();
    if (text) announce(text);
  }

  /** @param {Table} known @param {typeof own} recommended */
  function build(known, recommended) {
    table = known;
    own = recommended;
    menu?.destroy();
    buttons = [...(recommended ? [recommended] : []), ...known.presets].map(({ name, settings: preset }) => ({
      chain: chain_of(known, preset),
      button: element('button', {
        type: 'button',
        text: say(name),
        'aria-pressed': 'false',
        onclick: () => choose(preset),
      }),
    }));
    const all = buttons.map(({ button }) => button);
    menu = create_menu(say('More'), ...all.slice(SHOWN));
    row.replaceChildren(...all.slice(0, SHOWN), menu.node);
  }

  return {
    nodes: [row, note],
    /** @param {Pick<State, 'table' | 'settings' | 'model'>} state */
    update(state) {
      const recommended = state.model?.recommended ?? null;
      if (table !== state.table || own !== recommended) build(state.table, recommended);
      settings = state.settings;
      const chain = chain_of(state.table, settings);
      for (const each of buttons) set_attribute(each.button, 'aria-pressed', String(is_same_chain(chain, each.chain)));
      const is_other_model = lost !== null && lost.model !== state.model?.name; // its token ids mean different words
      if (lost && (is_other_model || !is_same_order(settings.order ?? [], lost.order))) lost = null;
      model = state.model?.name;
      set_class(note, lost ? 'dv-note' : 'dv-note dv-hidden');
      set_text(words, lost?.text ?? '');
    },
    destroy() {
      menu?.destroy();
    },
  };
}
