// The card of the draw: the seed, the uniform number, and the token that it hits.

import { card_class, standing } from './card.js';
import { exact_field } from './fields.js';
import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { nothing_left } from '../../view/emptied.js';
import { count, shorten } from '../../words/format.js';
import { draw_picture } from './geometry.js';
import { TAKEN_GREEDILY, was_greedy } from '../loop.js';
import { LARGEST_SEED } from '../../kernel/shape.js';

const LONGEST_TOKEN = 14;
const SEED = {
  name: 'seed',
  integer: true,
  remedy: `use a whole number from 0 to ${count(LARGEST_SEED)}`,
  check: value =>
    !Number.isInteger(value)
      ? 'must be a whole number'
      : value < 0 || value > LARGEST_SEED
        ? 'is out of range'
        : null,
};
const SEED_LATER = 'used from the next draw on'; // what was drawn is not drawn again

const stretch = draw => `[${draw.from.toFixed(6)}, ${draw.to.toFixed(6)})`;

/** What the draw card says: text around a token, a second line, what is hit, and u. */
function draw_story(state, view) {
  const step = view.is_pending ? null : state.steps[view.index];
  const hit = view.draw;
  const u = hit?.u ?? (step ?? state.row)?.u ?? null;
  if (step?.forced) return { before: 'chosen by hand, no draw', hit: { id: step.id }, u: null };
  const emptied = nothing_left(view);
  if (emptied) return { before: 'nothing is left to draw', second: emptied.reason, hit: null, u: null };
  if (view.greedy) {
    const leader = view.rows.find(row => (row.final_prob ?? 0) > 0) ?? view.rows[0];
    const second = 'the highest score is taken, no random number';
    const taken = leader && { id: leader.id };
    return { before: 'temperature 0: ', token: leader?.label, second, hit: taken, u: null };
  }
  const proposal = view.is_pending && view.chosen !== null;
  const is_walked = view.is_pending && state.point !== null; // slow motion has come as far as the draw
  if (was_greedy(state, view)) return { before: TAKEN_GREEDILY, hit: { id: step.id }, u: null };
  if (!hit || u === null) return { before: 'no random number', hit: null, u: null };
  if (view.is_pending && !proposal && !is_walked) {
    return { before: `will be drawn with u = ${u.toFixed(6)}`, hit: null, u };
  }
  const lies = `u = ${u.toFixed(6)} in ${stretch(hit)}`;
  const story = { token: hit.label, second: lies, hit, u };
  if (view.is_pending) return { ...story, before: proposal ? 'proposes ' : 'u hits ' };
  if (view.as_recorded) return { ...story, before: 'drew ', after: `, rank ${count(hit.rank)}` };
  const before = hit.same ? 'same u still draws “' : 'same u now draws “';
  return { ...story, before, after: '”' };
}

/** The card after all stages: `card`, and `update(state, view)`. */
export function draw_card(actions) {
  const field = exact_field(SEED, 'Seed', value => {
    actions.set({ seed: value });
    actions.settle();
  });
  const picture = draw_picture();
  let typed_at = null; // the recorded step on screen when a seed was typed
  let shown = null;
  field.input.addEventListener('input', () => {
    typed_at = shown?.place ?? null;
    if (typed_at) say(shown.story);
  });
  const before = element('span');
  const token = element('span', { class: 'dv-token dv-draw-token' });
  const after = element('span');
  const second = element('div', { class: 'dv-effect dv-muted' });
  const line = element('div', { class: 'dv-effect dv-draw-line' }, before, token, after);
  const card = element(
    'section',
    { class: 'dv-card', role: 'group', 'aria-label': 'Card: Draw', 'data-stage': 'drawn' },
    element('span', { class: 'dv-card-name', text: 'Draw' }),
    element('span', { class: 'dv-muted dv-seed-label', text: 'seed', 'aria-hidden': 'true' }),
    field.input,
    element(
      'div',
      { class: 'dv-card-body' },
      picture.node,
      element('div', { class: 'dv-effects' }, line, second),
    ),
    field.alert,
  );
  const say = story => {
    const second_line = typed_at ? SEED_LATER : story.second;
    set_text(before, story.before);
    set_text(token, shorten(story.token ?? '', LONGEST_TOKEN));
    set_attribute(token, 'title', story.token ? shorten(story.token, 200) : null);
    set_text(after, story.after ?? '');
    set_text(second, second_line ?? '');
    set_attribute(second, 'title', second_line);
    set_attribute(field.input, 'aria-description', typed_at ? SEED_LATER : null);
  };
  return {
    card,
    update(state, view) {
      field.update(state.settings.seed);
      const is_recorded = view && !view.is_pending;
      const place = is_recorded ? `${state.run}/${state.branch}/${view.index}/${state.steps.length}` : null;
      if (place !== typed_at) typed_at = null;
      if (!view) {
        set_class(card, card_class({}));
        shown = null;
        say({ before: 'no scores yet' });
        picture.update(null);
        return;
      }
      const { is_later, is_lit } = standing(state, view, 'drawn');
      set_class(card, card_class({ is_faded: is_later, is_lit }));
      const story = is_later ? { before: 'not yet applied', hit: null, u: null } : draw_story(state, view);
      shown = { place, story };
      say(story);
      picture.update(view, story.hit, story.u);
    },
  };
}
