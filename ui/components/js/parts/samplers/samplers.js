// The column of samplers: presets, one entry per sampler in chain order, the draw, and the export of the settings as
// code.

import { default_place, is_sorted, label_of as label_in, sampler_of, sorted } from '../../kernel/table.js';
import { element, set_class, set_text } from '../../lib/dom.js';
import { create_reorder } from '../../lib/reorder.js';
import { default_order_text } from '../../words/chain.js';
import { say } from '../../words/say.js';
import { create_chooser } from './chooser.js';
import { create_export } from './export.js';
import { create_method } from './method.js';
import { create_presets } from './presets.js';
import { create_sampler } from './sampler.js';
import { create_seed } from './seed.js';

/** @import { Actions, Sampler, State } from '../../types.js' */
/** @import { SamplerPart } from './sampler.js' */
/**
 * @typedef {import('./sampler.js').Properties & import('./seed.js').Properties & import('./method.js').Properties & Pick<State, 'table' | 'strategy' | 'read_only'>} Properties
 */

/**
 * Make the list hold exactly these nodes in this order; a focused node keeps the focus.
 *
 * @param {HTMLElement} list
 * @param {HTMLElement[]} nodes
 */
function arrange(list, nodes) {
  const focused = document.activeElement;
  for (const node of [...list.children]) if (!nodes.some(each => each === node)) node.remove();
  for (const [place, node] of nodes.entries()) {
    if (list.children[place] !== node) list.insertBefore(node, list.children[place] ?? null);
  }
  if (focused instanceof HTMLElement && list.contains(focused) && document.activeElement !== focused) {
    focused.focus({ preventScroll: true }); // an element that moves in the document loses the focus
  }
}

/**
 * @param {HTMLElement} root
 * @param {Actions} actions
 */
export function create(root, actions) {
  /** @type {Map<string, SamplerPart>} all samplers that were ever on the page: a returning one knows its value */
  const parts = new Map();
  /** @type {Properties} */
  let state;
  /** @type {string|null} */
  let to_focus = null;
  const said = element('p', { class: 'dv-spoken', role: 'status' });
  const list = element('div', { class: 'dv-sampler-list' });
  const announce = (/** @type {string} */ text) => set_text(said, text);
  const order_of = () => state.settings.order ?? [];
  const known = (/** @type {string} */ name) => /** @type {Sampler} */ (sampler_of(state.table, name));
  const label_of = (/** @type {string} */ name) => label_in(state.table, name);
  const set_order = (/** @type {string[]} */ order) => {
    actions.set({ order });
    actions.settle();
  };
  const reorder = create_reorder(list, { order: order_of, set_order, announce, label_of });
  const focus_grip = (/** @type {string|undefined} */ name) => {
    const grip = name ? parts.get(name)?.node.querySelector('.dv-grip') : null;
    if (grip instanceof HTMLElement) grip.focus({ preventScroll: true });
  };

  /** @param {string} name */
  function remove(name) {
    const place = order_of().indexOf(name);
    const rest = order_of().filter(each => each !== name);
    actions.set({ order: rest, [name]: known(name).off });
    actions.settle();
    announce(say('{name} removed.', { name: label_of(name) }));
    focus_grip(rest[Math.min(place, rest.length - 1)]);
  }

  /** @param {string} name */
  function part_of(name) {
    let part = parts.get(name);
    if (!part) {
      const stays = state.table.first.includes(name);
      part = create_sampler(known(name), actions, {
        grip: reorder.grip_for(name),
        remove: stays ? null : () => remove(name),
      });
      parts.set(name, part);
    }
    return part;
  }

  /** @param {Sampler} sampler */
  function add({ name, label }) {
    const part = part_of(name);
    part.update(state); // it reads the values that depend on the model
    const order = order_of().toSpliced(default_place(state.table, order_of(), name), 0, name);
    to_focus = name;
    actions.set({ order, [name]: part.starting_value() });
    actions.settle();
    announce(say('{name} added, {where}', { name: label, where: reorder.where(name) }));
  }

  const chooser = create_chooser(
    () => ({ table: state.table, missing: state.table.samplers.filter(({ name }) => !order_of().includes(name)) }),
    add,
  );
  const presets = create_presets(actions, announce);
  const code = create_export(actions, label_of);
  const order_text = element('span');
  const order_note = element(
    'p',
    { class: 'dv-note dv-hidden' },
    order_text,
    ' ',
    element('button', {
      type: 'button',
      class: 'dv-quiet',
      text: say('Default order'),
      onclick: () => {
        set_order(sorted(state.table, order_of()));
        announce(say('The samplers are in their default order.'));
        focus_grip(order_of()[0]);
      },
    }),
  );
  const seed = create_seed(actions);
  const method = create_method(actions);
  const tools = element('div', { class: 'dv-sampler-tools' }, chooser.node, code.button);
  root.append(...method.nodes, ...presets.nodes, order_note, list, tools, said, code.dialog);

  return {
    /** @param {Properties} now */
    update(now) {
      state = now;
      const { view, table } = now;
      root.inert = Boolean(now.read_only); // they show the step's recorded settings
      method.update(now);
      const is_search = now.strategy !== null;
      presets.nodes[0].classList.toggle('dv-hidden', is_search); // presets are settings of a draw
      presets.update(now);
      chooser.update();
      const order = order_of();
      const is_default = is_sorted(table, order);
      set_class(order_note, is_default || !view ? 'dv-note dv-hidden' : 'dv-note');
      set_text(order_text, view && !is_default ? default_order_text(view, table) : '');
      const shown = [...order.map(part_of), ...(is_search ? [] : [seed])];
      for (const part of shown) part.update(now);
      if (!reorder.is_dragging)
        arrange(
          list,
          shown.map(({ node }) => node),
        );
      if (!to_focus || !order.includes(to_focus)) return;
      const name = to_focus;
      to_focus = null;
      part_of(name).focus();
    },
    destroy() {
      chooser.destroy();
      reorder.destroy();
      code.destroy();
      presets.destroy();
    },
  };
}
