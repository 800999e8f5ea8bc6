// The draw next to the samplers: the seed, the uniform number, and the token that it selects.

import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { exact_field } from '../../lib/fields.js';
import { term } from '../../lib/term.js';
import { count, formats, shorten, stretch_text } from '../../words/format.js';
import { say } from '../../words/say.js';

/** @import { Actions, State, View } from '../../types.js' */
/** @typedef {Pick<State, 'settings' | 'view' | 'steps' | 'point' | 'row' | 'digits'>} Properties */

const LONGEST_TOKEN = 14;
const LARGEST_SEED = Number.MAX_SAFE_INTEGER; // above it, whole numbers are no longer exact in a browser

/**
 * The words on the draw: around its token, and on its stretch.
 *
 * @param {Properties & {view: View}} state
 * @returns {[string, string, string]}
 */
function story({ view, steps, row, point, digits, settings }) {
  const step = view.is_pending ? null : steps[view.index];
  const { draw, what_if, chosen } = view;
  const u_text = formats(digits).u;
  const own_seed = step ? row?.recorded_settings?.seed : undefined;
  const is_next = own_seed !== undefined && own_seed !== settings.seed;
  const next = is_next ? say('; seed {seed} applies from the next token', { seed: Number(settings.seed) }) : '';
  if (step?.forced) return parted(say('forced: {token}, no draw'), step.label);
  if (view.emptied_by) return [say('no tokens left to draw'), '', ''];
  if (view.greedy) return parted(say('temperature 0 takes {token} without a draw'), view.leaders[0]?.label ?? '');
  if (view.is_pending && !chosen && point === null) {
    const u = row?.u ?? null;
    return [u === null ? say('no random number yet') : say('will be drawn with u = {u}', { u: u_text(u) }), '', ''];
  }
  if (!draw && step)
    return step.u === null
      ? parted(say('{token} was taken greedily, no draw'), step.label)
      : parted(say('u = {u} drew {token}', { u: u_text(step.u) }), step.label, next);
  if (!draw) return [say('not drawn yet'), '', ''];
  const values = { u: u_text(draw.u) };
  const is_of_another = view.is_pending || (what_if !== null && !draw.same);
  const drawn = is_of_another
    ? say('u = {u} would draw {token}', values)
    : what_if
      ? say('u = {u} would still draw {token}', values)
      : say('u = {u} drew {token}', values);
  const stretch = say(', its stretch is {stretch}', { stretch: stretch_text(draw.from, draw.to) });
  return parted(drawn, draw.label ?? say('rank {rank}', { rank: count(draw.rank) }), next || stretch);
}

/**
 * A sentence around its token, which is shown separately.
 *
 * @param {string} sentence
 * @param {string} token
 * @param {string} [end]
 * @returns {[string, string, string]}
 */
function parted(sentence, token, end = '') {
  const [before, after] = sentence.split('{token}');
  return [before, token, `${after}${end}`];
}

/** @param {Actions} actions */
export function create_seed(actions) {
  const range = { name: say('Seed'), low: 0, high: LARGEST_SEED, step: 1, whole: true };
  const field = exact_field(range, range.name, {
    check: value => actions.check('seed', '', value),
    apply: value => {
      actions.set({ seed: value });
      actions.settle();
    },
  });
  const strip = element('i', { class: 'dv-seed-hit' });
  const needle = element('i', { class: 'dv-seed-needle' });
  const bar = element('div', { class: 'dv-seed-bar', 'aria-hidden': 'true' }, strip, needle);
  const [before, token, after] = [element('span'), element('span', { class: 'dv-token' }), element('span')];
  const line = element('p', { class: 'dv-effect dv-draw-story' }, before, token, after);
  const node = element(
    'section',
    { class: 'dv-sampler', role: 'group', 'aria-label': say('Draw'), 'data-sampler': 'drawn' },
    element(
      'div',
      { class: 'dv-sampler-head' },
      element('span', { class: 'dv-sampler-name' }, term('draw', say('Draw'))),
      term('seed', say('seed')),
      field.input,
    ),
    bar,
    line,
    field.alert,
  );
  return {
    node,
    /** @param {Properties} state */
    update(state) {
      const { view } = state;
      field.update(Number(state.settings.seed ?? 0));
      const [one, label, two] = view ? story({ ...state, view }) : ['no scores yet', '', ''];
      set_text(before, one);
      set_text(token, shorten(label, LONGEST_TOKEN));
      set_text(after, two);
      set_attribute(line, 'title', `${one}${label}${two}`);
      const draw = view?.draw ?? null;
      set_class(bar, draw ? 'dv-seed-bar' : 'dv-seed-bar dv-empty');
      if (!draw) return;
      bar.style.setProperty('--from', draw.from.toFixed(5));
      bar.style.setProperty('--to', draw.to.toFixed(5));
      bar.style.setProperty('--u', draw.u.toFixed(5));
    },
  };
}
