// The column of cards: presets, one card a stage in the order of the chain, and the draw.

import { stage_card } from './card.js';
import { draw_card } from './draw_card.js';
import { FIRST_CARDS, is_sorted, sorted, stage_of, STAGES } from '../../words/catalogue.js';
import { create_chooser } from './chooser.js';
import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { stage_label, stage_name } from '../../words/format.js';
import { create_reorder } from '../../lib/reorder.js';
import { chain_of } from '../../kernel/shape.js';
import { create_take_away } from './snippets.js';

const PRESETS = [
  ['Greedy', { temperature: 0 }],
  ['Pure sampling', {}],
  ['Top-k 50', { top_k: 50 }],
  ['Top-p 0.9', { top_p: 0.9 }],
  ['Nucleus: p 0.9, T 0.7', { temperature: 0.7, top_p: 0.9 }],
  ['Creative', { temperature: 1.2, min_p: 0.05 }],
  ['Code', { temperature: 0.2, top_p: 0.95 }],
].map(([label, changes]) => {
  const settings = { order: FIRST_CARDS, ...off_values(FIRST_CARDS), ...changes };
  return { label, settings };
});

/** What switches these stages off, by name. */
function off_values(names) {
  return Object.fromEntries(names.map(name => [name, stage_of(name).off]));
}

const as_text = settings => JSON.stringify(chain_of(settings));

/**
 * Presets bring the first five cards, in their order; any other card goes.
 *
 * @param {object} actions
 * @param {(before: object, label: string) => void} applied called with the settings that a preset replaced
 */
function preset_row(actions, applied) {
  let settings = null;
  const chains = PRESETS.map(preset => as_text(preset.settings));
  const buttons = PRESETS.map(({ label, settings: own }) =>
    element('button', {
      type: 'button',
      class: 'dv-preset',
      text: label,
      'aria-pressed': 'false',
      onclick: () => {
        const before = structuredClone(settings);
        const others = before.order.filter(name => !FIRST_CARDS.includes(name));
        actions.set({ ...off_values(others), ...own, order: [...FIRST_CARDS] });
        actions.settle();
        applied(before, label);
      },
    }),
  );
  return {
    row: element('div', { class: 'dv-presets', role: 'group', 'aria-label': 'Presets' }, ...buttons),
    focus: label => buttons.find(button => button.textContent === label).focus({ preventScroll: true }),
    update(next) {
      settings = next;
      const chain = as_text(settings);
      for (const [place, button] of buttons.entries()) {
        set_attribute(button, 'aria-pressed', String(chain === chains[place]));
      }
    },
  };
}

const is_same_order = (one, other) => one.join() === other.join();

/** What a preset took away, in words; empty where every card kept its place. */
function loss_text({ order }) {
  const gone = order.filter(name => !FIRST_CARDS.includes(name));
  const names = gone.map(stage_name).join(', ');
  if (gone.length) return `${gone.length === 1 ? '1 card' : `${gone.length} cards`} removed: ${names}.`;
  return is_same_order(order, FIRST_CARDS) ? '' : 'The stages stand in their default order again.';
}

/** Said after a preset that took something away, until the cards are others again; with the way back. */
function undo_note(actions, announce, focus) {
  let lost = null; // {before, label, model}: the settings that a preset replaced
  let model = '';
  const sentence = element('span');
  const undo = element('button', {
    type: 'button',
    text: 'Undo',
    'aria-label': 'Undo the preset',
    onclick: () => {
      const { before, label } = lost;
      // Whatever has been set since goes as well: the chain is the one that it was, down to its last value.
      const { seed: _kept, ...chain } = before;
      lost = null;
      actions.set(chain);
      actions.settle();
      announce(`The chain is as it was before ${label}.`);
      focus(label); // the button itself is gone
    },
  });
  const node = element('div', { class: 'dv-undo-note dv-hidden' }, undo, sentence);
  return {
    node,
    /** A preset was chosen; of several in a row, what stood before the first comes back. */
    applied(before, label) {
      if (lost) lost.label = label;
      else if (loss_text(before)) lost = { before, label, model };
      if (lost) announce(loss_text(lost.before));
      draw();
    },
    update(state) {
      const { name, source } = state.model ?? {};
      model = `${source}/${name}`;
      const is_over = lost && (lost.model !== model || !is_same_order(state.settings.order, FIRST_CARDS));
      if (is_over) lost = null;
      draw();
    },
  };
  function draw() {
    const text = lost ? loss_text(lost.before) : '';
    set_class(node, text ? 'dv-undo-note' : 'dv-undo-note dv-hidden');
    set_text(sentence, text);
  }
}

/** Said while the stages stand in another order than by default, with the way back. */
function order_note(go_back) {
  const sentence = element('span');
  const node = element(
    'div',
    { class: 'dv-order-note dv-hidden' },
    element('button', { type: 'button', text: 'Default order', onclick: go_back }),
    sentence,
  );
  return {
    node,
    update(order, view) {
      set_class(node, is_sorted(order) ? 'dv-order-note dv-hidden' : 'dv-order-note');
      const text = view && !view.default_order.is_default ? view.default_order.sentence : '';
      set_text(sentence, text);
      set_attribute(sentence, 'title', text);
    },
  };
}

/** Let the list hold exactly these nodes in this order; one that has the focus keeps it. */
function arrange(list, nodes) {
  const focused = list.getRootNode().activeElement;
  for (const node of [...list.children]) if (!nodes.includes(node)) node.remove();
  for (const [place, node] of nodes.entries()) {
    if (list.children[place] !== node) list.insertBefore(node, list.children[place] ?? null);
  }
  if (list.contains(focused) && list.getRootNode().activeElement !== focused) {
    focused.focus({ preventScroll: true }); // an element that moves in the document loses it
  }
}

const IDLE =
  'Contrastive search uses none of these cards: it takes the best of its k candidates. Choose Sampling and ' +
  'press Start to use them.';

/** The presets and the cards of the chain. */
export function create(root, actions) {
  const cards = new Map(); // all that were ever on the page: one that comes back knows its value
  let order = [];
  let to_focus = null;
  const said = element('p', { class: 'dv-spoken', role: 'status' });
  const list = element('div', { class: 'dv-card-list' });
  const announce = text => set_text(said, text);
  const set_order = changed => {
    order = changed;
    actions.set({ order: changed });
    actions.settle();
  };
  const reorder = create_reorder(list, { order: () => order, set_order, announce });

  function remove(name) {
    const place = order.indexOf(name);
    const rest = order.filter(each => each !== name);
    order = rest;
    actions.set({ order: rest, ...off_values([name]) });
    actions.settle();
    announce(`${stage_label(name)} removed.`);
    const next = rest[Math.min(place, rest.length - 1)];
    cards.get(next).card.querySelector('.dv-grip').focus({ preventScroll: true });
  }

  function card_of(name) {
    if (!cards.has(name)) {
      cards.set(
        name,
        stage_card(stage_of(name), actions, {
          grip: reorder.grip_for(name),
          remove: FIRST_CARDS.includes(name) ? null : () => remove(name),
        }),
      );
    }
    return cards.get(name);
  }

  const chooser = create_chooser(() => STAGES.filter(({ name }) => !order.includes(name)), add);
  let last = { state: null, view: null };
  function add(name, place) {
    const card = card_of(name);
    card.update(last.state, last.view); // it learns what depends on the model
    const changed = order.toSpliced(place(order, name), 0, name);
    order = changed;
    to_focus = name;
    actions.set({ order: changed, [name]: card.starting_value() });
    actions.settle();
    announce(`${stage_label(name)} added, ${reorder.where(name)}`);
  }

  const undo = undo_note(actions, announce, label => presets.focus(label));
  const presets = preset_row(actions, undo.applied);
  const take_away = create_take_away(actions);
  const note = order_note(() => {
    set_order(sorted(order));
    announce('The stages stand in their default order.');
    cards.get(order[0]).card.querySelector('.dv-grip').focus({ preventScroll: true });
  });
  const draw = draw_card(actions);
  const idle = element('p', { class: 'dv-idle-note', role: 'note', text: IDLE, hidden: true });
  root.append(
    idle,
    presets.row,
    element('div', { class: 'dv-card-tools' }, chooser.node, take_away.button),
    undo.node,
    note.node,
    list,
    said,
    take_away.dialog,
  );
  return {
    update(state, view) {
      last = { state, view };
      order = state.settings.order;
      if (idle.hidden === Boolean(state.strategy)) idle.hidden = !state.strategy;
      presets.update(state.settings);
      undo.update(state);
      chooser.update();
      note.update(order, view);
      const shown = order.map(card_of);
      for (const each of [...shown, draw]) each.update(state, view);
      if (!reorder.is_dragging)
        arrange(
          list,
          [...shown, draw].map(each => each.card),
        );
      if (to_focus && order.includes(to_focus)) {
        const name = to_focus;
        to_focus = null;
        cards.get(name).focus();
      }
    },
    destroy() {
      chooser.destroy();
      reorder.destroy();
      take_away.destroy();
    },
  };
}
