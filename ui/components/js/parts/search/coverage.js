// For a model that lists only its likeliest tokens: how many, how far the others can move the figures shown, and the
// button that asks the server for all.

import { element, set_text } from '../../lib/dom.js';
import { count, percent } from '../../words/format.js';
import { say } from '../../words/say.js';

/** @import { Actions, ListedScores, State, View } from '../../types.js' */
/** @typedef {Pick<State, 'view' | 'row' | 'model'>} Properties */

/** @param {Pick<Actions, 'fetch_row'>} actions */
export function create_coverage(actions) {
  const words = element('span', { class: 'dv-muted' });
  const button = element('button', { type: 'button', class: 'dv-quiet', onclick: () => actions.fetch_row() });
  const node = element('p', { class: 'dv-coverage dv-hidden' }, words, button);

  /** @param {Properties} state */
  function update({ view, row, model }) {
    const listed = row?.listed ?? null;
    node.classList.toggle('dv-hidden', !view || !listed);
    if (!view || !listed) return;
    const numbers = { one: count(listed.count), all: count(view.vocab) };
    const bound = bound_of(view, listed);
    set_text(
      words,
      bound
        ? say('{one} of {all} scores; figures within ±{bound}', {
            ...numbers,
            bound: percent(bound).replace('< ', '').replace(' ', '\u00a0'),
          })
        : say('{one} of {all} scores; figures exact', numbers),
    );
    set_text(button, say('Get all {count}', { count: count(view.vocab) }));
    button.classList.toggle('dv-hidden', !model?.gives_rows);
  }

  return { node, update };
}

/**
 * The largest error of a shown probability. Figures treat the rest as spread evenly over the unlisted tokens; it can be
 * concentrated on a few, none likelier than the lowest listed one. Both ends of the sum of p^(1/T) follow from that.
 *
 * @param {View} view
 * @param {ListedScores} listed
 */
export function bound_of({ vocab, rows, score_changes, samplers }, { count: named, rest, lowest }) {
  const scaled = samplers.find(({ name }) => name === 'temperature' && score_changes.includes(name));
  const power = scaled?.on ? 1 / Number(scaled.value) : 1;
  const [first] = rows;
  if (power === 1 || !first || !Number.isFinite(power) || !(first.prob > 0)) return 0;
  const evenly = (vocab - named) ** (1 - power) * rest ** power;
  const on_few = rest * Math.exp(lowest * (power - 1));
  const total = Math.exp(first.logit * power) / first.prob;
  return (first.prob * Math.abs(evenly - on_few)) / (total - evenly + on_few);
}
