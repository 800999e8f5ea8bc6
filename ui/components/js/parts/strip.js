// The token strip: prompt and generated tokens as one list, and the place of the token to come.
// Long texts stay fast because an update touches only the items that differ.

import { element, set_attribute, set_class, set_text } from '../lib/dom.js';
import { bits, count, percent } from '../words/format.js';

const PROBABILITY_EDGES = [0, 0.01, 0.05, 0.2, 0.5, 0.8];
const PROBABILITY_RANGES = ['below 1 %', '1–5 %', '5–20 %', '20–50 %', '50–80 %', '80–100 %'];
const ENTROPY_EDGES = [0, 0.5, 1, 2, 4, 6];
const ENTROPY_RANGES = ['below 0.5 bits', '0.5–1', '1–2', '2–4', '4–6', '6 and more'];

const COLOURINGS = {
  probability: { label: 'probability in the draw', edges: PROBABILITY_EDGES, ranges: PROBABILITY_RANGES },
  model_probability: {
    label: 'the model’s own probability',
    explanation: 'temperature 1, nothing penalised or cut',
    edges: PROBABILITY_EDGES,
    ranges: PROBABILITY_RANGES,
  },
  entropy: { label: 'entropy after temperature', edges: ENTROPY_EDGES, ranges: ENTROPY_RANGES },
  model_entropy: {
    label: 'the model’s own entropy',
    explanation: 'temperature 1, nothing penalised or cut',
    edges: ENTROPY_EDGES,
    ranges: ENTROPY_RANGES,
  },
};

// What an item shows; a step that agrees in all of these keeps its element untouched.
const SHOWN_FIELDS = [
  'id',
  'label',
  'special',
  'partial',
  'forced',
  'rank',
  'probability',
  'model_probability',
  'entropy',
  'model_entropy',
];

// A byte that is no character alone; a prompt token carries no flag for it, but its label spells it out.
const BYTE_LABEL = /<0x[89A-F][0-9A-F]>/;

const NEAR_END_PX = 12; // this close to the end counts as "at the end"

/** The part with the list `Tokens`. */
export function create(root, actions) {
  let colouring = 'probability';
  let shown_index = -1;
  let is_following = true; // false once the person has scrolled up
  let own_scroll_top = 0; // where this module has scrolled to, to tell its scrolling from the person's
  let last_state = null;

  const list = element('ol', { class: 'dv-tokens', role: 'list', 'aria-label': 'Tokens' });
  const slot = element('button', { class: 'dv-slot dv-token', type: 'button', tabindex: '-1' });
  const box = element('div', { class: 'dv-strip-box' }, list, slot);
  const to_newest = element('button', {
    class: 'dv-to-newest dv-hidden',
    type: 'button',
    text: 'to the newest ↓',
    onclick: follow,
  });
  const legend = create_legend(name => {
    colouring = name;
    steps.for_each(style_step);
  });
  root.append(element('div', { class: 'dv-strip-frame' }, box, to_newest), legend);

  const prompt = create_items(list, write_prompt);
  const steps = create_items(list, write_step);

  function write_prompt(item, token, number) {
    const is_partial = !token.special && BYTE_LABEL.test(token.label);
    const mark = token.special ? ' special' : is_partial ? ' partial' : '';
    set_class(item.li, `dv-token prompt${mark}`);
    const words = [`prompt token ${count(number + 1)}`, `id ${token.id}`];
    if (token.special) words.push('special');
    if (is_partial) words.push('part of a character');
    set_attribute(item.li, 'title', words.join(', '));
  }

  function write_step(item, step, index) {
    if (!item.li.hasAttribute('tabindex')) item.li.setAttribute('tabindex', '-1');
    set_attribute(item.li, 'title', describe(step, index));
    style_step(item);
  }

  function style_step({ li, token }) {
    const { edges } = COLOURINGS[colouring];
    const shade = edges.findLastIndex(least => token[colouring] >= least);
    let names = `dv-token generated dv-shade-${Math.max(shade, 0)}`;
    for (const mark of ['forced', 'special', 'partial']) if (token[mark]) names += ` ${mark}`;
    set_class(li, names);
  }

  // --- the inspected token -------------------------------------------------------------------

  const place_of = index => steps.at(index)?.li ?? slot;

  function mark_inspected(index) {
    for (const place of list.querySelectorAll('[aria-current]')) place.removeAttribute('aria-current');
    for (const place of list.querySelectorAll('[tabindex="0"]')) place.setAttribute('tabindex', '-1');
    set_attribute(slot, 'aria-current', null);
    slot.setAttribute('tabindex', '-1');
    const place = place_of(index);
    place.setAttribute('aria-current', 'true');
    place.setAttribute('tabindex', '0'); // the strip's one tab stop
  }

  function inspect_at(place) {
    const index = place === slot ? steps.length : steps.index_of(place);
    if (index >= 0) actions.inspect(index);
  }

  const place_at = target => target.closest('.dv-slot, li.generated');

  box.addEventListener('click', event => {
    const place = place_at(event.target);
    if (place) inspect_at(place);
  });

  box.addEventListener('keydown', event => {
    const place = place_at(event.target);
    if (!place || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const last = is_shown(slot) ? steps.length : steps.length - 1;
    const index = place === slot ? steps.length : steps.index_of(place);
    const wanted = {
      ArrowLeft: index - 1,
      ArrowRight: index + 1,
      Home: 0,
      End: last,
      Enter: index,
      ' ': index,
    }[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    event.stopPropagation(); // an arrow key in the strip is not also a key of the page
    const next = place_of(Math.min(Math.max(wanted, 0), last));
    next.focus({ preventScroll: true });
    reveal(next);
    inspect_at(next);
  });

  // --- scrolling, of the box only ------------------------------------------------------------

  const is_at_end = () => box.scrollTop + box.clientHeight >= box.scrollHeight - NEAR_END_PX;

  function scroll_to(top) {
    box.scrollTop = top;
    own_scroll_top = box.scrollTop;
  }

  function follow() {
    is_following = true;
    scroll_to(box.scrollHeight);
    show(to_newest, false);
  }

  function reveal(place) {
    const top = place.offsetTop;
    const bottom = top + place.offsetHeight;
    if (top < box.scrollTop) scroll_to(top - 6);
    else if (bottom > box.scrollTop + box.clientHeight) scroll_to(bottom - box.clientHeight + 6);
  }

  box.addEventListener(
    'scroll',
    () => {
      const at_end = is_at_end();
      if (at_end) is_following = true;
      else if (Math.abs(box.scrollTop - own_scroll_top) > 1) is_following = false;
      show(to_newest, !at_end);
    },
    { passive: true },
  );

  // Lines break elsewhere after a change of width, and a strip that was hidden could not scroll.
  const resize = new ResizeObserver(() => {
    if (is_following && last_state && last_state.index >= steps.length - 1) scroll_to(box.scrollHeight);
  });
  resize.observe(box);

  // --- update ----------------------------------------------------------------------------------

  function update_slot(state, view) {
    const label = state.manual && view?.is_pending ? proposed_label(view) : null;
    set_text(slot, label ?? '?');
    set_class(slot, label === null ? 'dv-slot dv-token' : 'dv-slot dv-token proposed');
    set_attribute(slot, 'aria-label', label === null ? 'the token to come' : `proposed token ${label}`);
    set_attribute(slot, 'title', label === null ? 'not drawn yet' : 'proposed, not taken yet');
    const is_over = state.stop && state.stop.is_over !== false;
    const has_tokens = state.prompt_tokens.length + state.steps.length > 0;
    show(slot, has_tokens && (!is_over || state.index >= state.steps.length));
  }

  function update(state, view) {
    last_state = state;
    const focused = root.getRootNode().activeElement;
    const had_focus = box.contains(focused);
    const was_inspected = had_focus && focused.hasAttribute('aria-current');

    const first_step = steps.at(0)?.li ?? null;
    const has_prompt_changed = prompt.update(state.prompt_tokens, first_step);
    const have_steps_changed = steps.update(state.steps, null);
    update_slot(state, view);

    const is_moved = state.index !== shown_index;
    if (is_moved || have_steps_changed) mark_inspected(state.index);
    shown_index = state.index;
    if (had_focus && (was_inspected || !box.contains(root.getRootNode().activeElement))) {
      place_of(state.index).focus({ preventScroll: true });
    }

    if (has_prompt_changed) is_following = true; // another text
    const is_newest = state.index >= state.steps.length - 1;
    if (is_newest && (is_moved || have_steps_changed || has_prompt_changed)) {
      if (is_following) scroll_to(box.scrollHeight);
    } else if (is_moved) {
      reveal(place_of(state.index));
    }
  }

  return { update, destroy: () => resize.disconnect() };
}

const is_shown = target => !target.classList.contains('dv-hidden');
const show = (target, on) => target.classList.toggle('dv-hidden', !on);

/** What would be taken now: the token drawn, or the only one that greedy choice leaves. */
function proposed_label(view) {
  if (view.draw) return view.draw.label;
  return view.greedy ? (view.rows.find(row => !row.removed_by)?.label ?? null) : null;
}

/** A step in words: "token 5, id 262, 12.30 %, rank 3, forced". */
function describe(step, index) {
  const { id, probability, rank } = step;
  const words = [`token ${count(index + 1)}`, `id ${id}`, percent(probability), `rank ${count(rank)}`];
  if (step.forced) words.push('forced');
  if (step.special) words.push('special');
  if (step.partial) words.push('part of a character');
  words.push(`the model’s own: ${percent(step.model_probability)}`);
  words.push(`entropy after temperature: ${bits(step.entropy)}`);
  return words.join(', ');
}

/**
 * A run of list items that follows an array of tokens. `write(item, token, number)` dresses one item.
 * A label with a line end is followed by a text node with a real one.
 */
function create_items(list, write) {
  const items = [];
  const numbers = new WeakMap(); // list item -> its number; items never change places

  function is_same(before, after) {
    return before === after || SHOWN_FIELDS.every(name => before[name] === after[name]);
  }

  function fill(item, token, number) {
    item.token = token;
    set_text(item.li, token.label);
    write(item, token, number);
    const breaks = token.label.includes('⏎');
    if (breaks && !item.line_end) {
      item.line_end = document.createTextNode('\n');
      if (item.li.parentNode) item.li.after(item.line_end);
    } else if (!breaks && item.line_end) {
      item.line_end.remove();
      item.line_end = null;
    }
  }

  /** Returns whether anything changed; new items go in front of `next`. */
  function update(tokens, next) {
    let changed = false;
    while (items.length > tokens.length) {
      const { li, line_end } = items.pop();
      line_end?.remove();
      li.remove();
      changed = true;
    }
    items.forEach((item, number) => {
      const token = tokens[number];
      if (is_same(item.token, token)) {
        item.token = token;
        return;
      }
      fill(item, token, number);
      changed = true;
    });
    if (items.length === tokens.length) return changed;
    const fresh = document.createDocumentFragment();
    while (items.length < tokens.length) {
      const item = { li: document.createElement('li'), line_end: null, token: null };
      numbers.set(item.li, items.length);
      fill(item, tokens[items.length], items.length);
      fresh.append(item.li);
      if (item.line_end) fresh.append(item.line_end);
      items.push(item);
    }
    list.insertBefore(fresh, next);
    return true;
  }

  return {
    update,
    get length() {
      return items.length;
    },
    at: index => items[index],
    index_of: li => numbers.get(li) ?? -1,
    for_each: visit => items.forEach(visit),
  };
}

/** What the colours and marks mean, with the choice of what is coloured. */
function create_legend(choose) {
  const swatches = PROBABILITY_RANGES.map((_, shade) =>
    element('span', { class: `dv-shade dv-shade-${shade}` }),
  );
  const select = element('select', { 'aria-label': 'Colour tokens by' });
  for (const [name, { label, explanation }] of Object.entries(COLOURINGS)) {
    select.append(element('option', { value: name, text: label, title: explanation }));
  }

  function relabel() {
    const { ranges, explanation } = COLOURINGS[select.value];
    swatches.forEach((swatch, shade) => set_text(swatch, ranges[shade]));
    set_attribute(select, 'title', explanation);
  }

  select.addEventListener('change', () => {
    relabel();
    choose(select.value);
  });
  relabel();
  return element(
    'div',
    { class: 'dv-strip-legend' },
    element('label', { class: 'dv-colouring' }, element('span', { text: 'Colour' }), select),
    element('span', { class: 'dv-shades' }, ...swatches),
    element(
      'span',
      { class: 'dv-marks' },
      element('span', { class: 'dv-strip-mark prompt', text: 'prompt' }),
      element('span', { class: 'dv-strip-mark forced', text: 'forced' }),
      element('span', { class: 'dv-strip-mark special', text: 'special' }),
      element('span', { class: 'dv-strip-mark partial', text: 'part of a character' }),
    ),
  );
}
