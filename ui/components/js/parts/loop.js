// The loop band: one iteration from the tokens in to the token appended, with this step's own figures. Each active
// sampler has a box, in its order. In slow motion its buttons lead from stage to stage.

import { chain_of } from '../kernel/chain.js';
import { element, set_attribute, set_class, set_text } from '../lib/dom.js';
import { term } from '../lib/term.js';
import { box_label, figure_of, more_of } from '../words/loop.js';
import { say } from '../words/say.js';
import { primary_of } from './primary.js';

/** @import { Actions, State, View } from '../types.js' */
/** @typedef {State} Properties */

const FASTEST_LIT = 2; // tokens per second: above it a wave of light would only flicker
const BEFORE = ['tokens', 'forward']; // boxes around the points of the chain, which cannot be inspected
const AFTER = ['append'];
/** @type {Record<string, string>} */
const TERMS = { tokens: 'token', forward: 'forward pass' };

/** The points of the chain; without scores, those that the settings will create. @param {Properties} state */
function point_names({ view, table, settings }) {
  if (view) return view.points.map(({ name }) => name);
  return ['raw', ...chain_of(table, settings).map(({ name }) => name), 'renormalised', 'drawn'];
}

/** A stage's explanation. @param {string} key @param {State['table']} table */
const about = (key, { samplers, points }) => samplers.find(({ name }) => name === key)?.about ?? points?.[key] ?? '';

/** @param {View} view @param {string} name */
const place_of = (view, name) => view.points.findIndex(point => point.name === name);

/**
 * @param {HTMLElement} root
 * @param {Pick<Actions, 'show' | 'next_stage' | 'skip_stages'>} actions
 */
export function create(root, actions) {
  /** @type {Properties} */
  let state;
  let last_length = 0;
  let last_run = '';
  /** @type {number|null} */
  let last_point = null;
  let wave = 0;

  /** @param {string} key */
  function choose(key) {
    const { view } = state;
    const place = view ? place_of(view, key) : -1;
    if (place >= 0) actions.show({ point: state.point === place ? null : place });
  }
  /** @param {string} key */
  function make_item(key) {
    const label = box_label(key, state.table);
    const is_point = !BEFORE.includes(key) && !AFTER.includes(key);
    const figure = element('span', { class: 'dv-loop-figure dv-line' });
    const name = TERMS[key] ? term(TERMS[key], label) : element('span', { text: label });
    const inside = [element('span', { class: 'dv-loop-name dv-line' }, name), figure];
    const box = is_point
      ? element(
          'button',
          {
            type: 'button',
            class: 'dv-loop-box',
            onclick: () => choose(key),
          },
          ...inside,
        )
      : element('div', { class: 'dv-loop-box' }, ...inside);
    return { key, is_point, figure, box, node: element('li', { 'data-stage': key }, box) };
  }
  /** @type {Map<string, ReturnType<typeof make_item>>} */
  const made = new Map(); // by key: a stage that returns gets its old box back
  /** @type {ReturnType<typeof make_item>[]} */
  let items = [];
  const track = element('ol', { class: 'dv-loop-track', 'aria-label': say('One step of the loop'), 'data-wave': '0' });
  const next = element('button', {
    type: 'button',
    text: say('Next stage'),
    onclick: () => actions.next_stage(),
  });
  const skip = element('button', {
    type: 'button',
    text: say('Skip to the end'),
    onclick: () => actions.skip_stages(),
  });
  const walk = element('div', { class: 'dv-walk dv-hidden' }, next, skip);
  root.append(track, walk);

  /** Light the stages in turn after a step that ran by itself. This is only visual; nothing waits for it. */
  function light_up() {
    const { run, steps, speed, mode, slow, index } = state;
    const has_grown = run === last_run && steps.length === last_length + 1;
    const is_watched = mode === 'paused' || (mode === 'playing' && speed > 0 && speed <= FASTEST_LIT);
    if (has_grown && is_watched && !slow && index === last_length) {
      wave = wave === 1 ? 2 : 1; // two equal animations in turn: a changed name restarts the animation
      set_attribute(track, 'data-wave', wave);
    }
    last_length = steps.length;
    last_run = run;
  }

  /** Update the boxes for the points and those around them. */
  function update_boxes() {
    const keys = [...BEFORE, ...point_names(state), ...AFTER];
    if (keys.length === items.length && keys.every((key, place) => key === items[place].key)) return;
    for (const key of keys) if (!made.has(key)) made.set(key, make_item(key));
    items = keys.map(key => /** @type {ReturnType<typeof make_item>} */ (made.get(key)));
    wave = 0; // a new box must not light up for an earlier step
    set_attribute(track, 'data-wave', wave);
    const nodes = items.map(({ node }) => node);
    for (const child of Array.from(track.children)) if (!nodes.some(node => node === child)) child.remove();
    nodes.forEach((node, place) => {
      if (track.children[place] !== node) track.insertBefore(node, track.children[place] ?? null);
    });
  }

  /** @param {ReturnType<typeof make_item>} item */
  function update_item(item) {
    const { view } = state;
    const place = item.is_point && view ? place_of(view, item.key) : -1;
    const is_lit = state.point !== null && place >= 0 && place === view?.point;
    const is_later = view !== null && place > view.point;
    set_class(item.node, `${is_lit ? 'dv-lit' : ''}${is_later ? 'dv-later' : ''}`);
    const figure = view ? figure_of(item.key, state, view) : '';
    const more = view ? more_of(item.key, state, view) : '';
    set_text(item.figure, figure);
    set_attribute(
      item.box,
      'title',
      `${more ? `${figure} · ${more}` : figure}\n${about(item.key, state.table)}`.trim(),
    );
    if (!item.is_point) return;
    set_attribute(item.box, 'aria-current', is_lit ? 'step' : null);
    set_attribute(item.box, 'disabled', !view);
    if (is_lit && last_point !== state.point && track.scrollWidth > track.clientWidth) {
      track.scrollTo({ left: Math.max(0, item.node.offsetLeft - (track.clientWidth - item.node.offsetWidth) / 2) });
    }
  }

  return {
    /** @param {Properties} now */
    update(now) {
      state = now;
      root.classList.toggle('dv-hidden', now.strategy !== null || Boolean(now.read_only)); // neither has stages
      update_boxes();
      light_up();
      for (const item of items) update_item(item);
      const is_over = Boolean(now.stop?.is_over);
      walk.classList.toggle('dv-hidden', !now.slow);
      set_attribute(next, 'disabled', is_over);
      next.classList.toggle('dv-primary', primary_of(now) === 'stage');
      set_attribute(skip, 'disabled', is_over || now.point === null || !now.row?.is_pending);
      last_point = now.point;
    },
  };
}
