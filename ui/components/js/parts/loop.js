// The loop band: one iteration from the tokens in to the token appended, with this step's own figures: a box
// for every stage that is on, in the order of the cards.
// In slow motion it says where the walk through the stages stands, and leads on.

import { element, set_attribute, set_class, set_live, set_text } from '../lib/dom.js';
import { box_label, figure_of, hint, more_of, point_sentence } from '../words/loop.js';
import { chain_of } from '../kernel/shape.js';

export { TAKEN_GREEDILY, was_greedy } from '../words/loop.js';
export { whole_of } from '../words/stages.js';

const FASTEST_LIT = 3; // tokens a second: beyond that a wave of light would only flicker
const BEFORE = ['tokens', 'forward']; // boxes around the points of the chain: plain text, nothing to look at
const AFTER = ['append'];

/** The points of the chain; without scores those that the settings will make. */
function point_names(state, view) {
  if (view) return view.points.map(({ name }) => name);
  return ['raw', ...chain_of(state.settings).map(({ name }) => name), 'renormalised', 'drawn'];
}

const place_of = (view, name) => view.points.findIndex(point => point.name === name);

function make_item(key, on_click) {
  const label = box_label(key);
  const is_point = !BEFORE.includes(key) && !AFTER.includes(key);
  const line = element('span', { class: 'dv-loop-figure' });
  const inside = [element('span', { class: 'dv-loop-name', text: label }), line];
  const box = is_point
    ? element(
        'button',
        {
          type: 'button',
          class: 'dv-loop-box',
          'aria-label': `Stage: ${label}`,
          onclick: () => on_click(key),
        },
        ...inside,
      )
    : element('div', { class: 'dv-loop-box' }, ...inside);
  const node = element('li', { class: 'dv-loop-item', 'data-part-of-loop': key }, box);
  node.style.setProperty('--letters', label.length);
  node.style.setProperty('--longest-word', Math.max(...label.split(/[ -]/).map(word => word.length)));
  return { key, is_point, line, box, node };
}

/** Let a list have these children in this order, moving none that stands right: focus and light stay. */
function arrange(list, nodes) {
  for (const child of Array.from(list.children)) if (!nodes.includes(child)) child.remove();
  for (const [place, node] of nodes.entries()) {
    if (list.children[place] !== node) list.insertBefore(node, list.children[place] ?? null);
  }
}

/** Keep the stage that is looked at in sight inside a band that scrolls; the page itself never does. */
function bring_into_sight(track, node) {
  if (track.scrollWidth <= track.clientWidth) return;
  const left = node.offsetLeft - track.offsetLeft - (track.clientWidth - node.offsetWidth) / 2;
  track.scrollTo({ left: Math.max(0, left) });
}

/** The band, and below it the line that says what the looked-at stage did. */
export function create(root, actions) {
  let view_now = null;
  let state_now = null;
  let last_length = 0;
  let last_run = '';
  let last_point = null;
  let wave = 0;

  const choose = key => {
    if (!view_now) return;
    const place = place_of(view_now, key);
    if (place >= 0) actions.show({ point: state_now.point === place ? null : place });
  };
  const button = (text, run, look) => element('button', { type: 'button', text, onclick: run, class: look });
  const made = new Map(); // boxes by key: a stage that comes back has the one that it had
  let items = [];
  const track = element('ol', {
    class: 'dv-loop-track',
    'aria-label': 'One step of the loop',
    'data-wave': '0',
  });
  const sentence = element('p', { class: 'dv-loop-sentence', 'aria-live': 'polite' });
  const next = button('Next stage', () => actions.next_stage(), 'dv-primary');
  const skip = button('Skip to the end', () => actions.skip_stages());
  const walk = element('div', { class: 'dv-loop-walk' }, next, skip);
  const line = element('div', { class: 'dv-loop-line' }, sentence, walk);
  root.append(track, line);

  /** A step that ran by itself lights the stages in turn; only for the eye, nothing waits for it. */
  function light_up(state) {
    const has_grown = state.run === last_run && state.steps.length === last_length + 1;
    const is_slow_enough = state.speed > 0 && state.speed <= FASTEST_LIT;
    const is_watched = state.mode === 'paused' || (state.mode === 'playing' && is_slow_enough);
    if (has_grown && is_watched && !state.slow && state.index === last_length) {
      wave = wave === 1 ? 2 : 1; // two equal animations by turns: changing the name starts it again
      set_attribute(track, 'data-wave', wave);
    }
    last_length = state.steps.length;
    last_run = state.run;
  }

  /** A box for each point, and those around them. */
  function update_boxes(state, view) {
    const keys = [...BEFORE, ...point_names(state, view), ...AFTER];
    if (keys.length === items.length && keys.every((key, place) => key === items[place].key)) return;
    for (const key of keys) if (!made.has(key)) made.set(key, make_item(key, choose));
    items = keys.map(key => made.get(key));
    wave = 0; // a box that comes must not shine for a step that ran before
    set_attribute(track, 'data-wave', wave);
    arrange(
      track,
      items.map(item => item.node),
    );
    items.forEach(({ node }, place) => node.style.setProperty('--turn', place / (items.length - 1)));
  }

  function update_item(item, state, view) {
    const place = item.is_point && view ? place_of(view, item.key) : -1;
    const is_lit = state.point !== null && place >= 0 && place === view.point;
    const is_later = place >= 0 && place > view.point;
    set_class(item.node, `dv-loop-item${is_lit ? ' dv-lit' : ''}${is_later ? ' dv-later' : ''}`);
    const figure = view ? figure_of(item.key, state, view) : '';
    const more = view ? more_of(item.key, state, view) : '';
    set_text(item.line, figure);
    set_attribute(item.box, 'title', more ? `${figure} · ${more}` : figure);
    if (!item.is_point) return;
    set_attribute(item.box, 'aria-current', is_lit ? 'step' : null);
    set_attribute(item.box, 'aria-description', figure || null);
    set_attribute(item.box, 'disabled', !view);
    if (is_lit && last_point !== state.point) bring_into_sight(track, item.node);
  }

  function update_walk(state, view, reason) {
    const is_over = Boolean(state.stop?.is_over);
    set_class(walk, state.slow ? 'dv-loop-walk' : 'dv-loop-walk dv-hidden');
    set_attribute(next, 'disabled', is_over);
    set_attribute(skip, 'disabled', is_over || state.point === null || !view?.is_pending);
    // Stages have sentences of different lengths: only where they follow each other is room kept for all.
    set_class(line, state.slow || state.point !== null ? 'dv-loop-line dv-loop-told' : 'dv-loop-line');
    set_live(sentence, state, reason);
    if (!view) set_text(sentence, '');
    else if (state.point !== null) set_text(sentence, point_sentence(state, view));
    else set_text(sentence, hint(state, view));
  }

  return {
    update(state, view, reason) {
      state_now = state;
      view_now = view;
      update_boxes(state, view);
      light_up(state);
      for (const item of items) update_item(item, state, view);
      update_walk(state, view, reason);
      last_point = state.point;
    },
  };
}
