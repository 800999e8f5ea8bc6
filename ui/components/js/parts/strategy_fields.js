// The strategy by which a new text grows, in the prompt: sampling, or contrastive search with its k and alpha.

import { exact_field, slider_of } from './cards/fields.js';
import { element, set_text } from '../lib/dom.js';
import { count } from '../words/format.js';

const K = {
  name: 'k',
  integer: true,
  step: 1,
  check: (value, _others, vocab) => {
    if (!Number.isInteger(value)) return 'must be a whole number';
    return value >= 1 && (!vocab || value <= vocab) ? null : `must be from 1 to ${count(vocab ?? 1)}`;
  },
  remedy: '4 to 10 are usual, 1 is greedy',
};
const ALPHA = {
  name: 'alpha',
  low: 0,
  high: 1,
  step: 0.05,
  check: value => (value >= 0 && value <= 1 ? null : 'must be from 0 to 1'),
  remedy: '0 is greedy, 0.6 is usual',
};

/** Whether Start would begin by another strategy than the text on screen has. */
export function differs_in_strategy({ strategy, wanted }) {
  return wanted.is_search !== (strategy !== null) || (wanted.is_search && wanted.top_k !== strategy.top_k);
}

/**
 * @param {object} actions
 */
export function create_strategy_fields(actions) {
  const chooser = element(
    'select',
    { 'aria-label': 'Strategy', title: 'How the next token is found' },
    element('option', { value: 'sampling', text: 'Sampling' }),
    element('option', { value: 'search', text: 'Contrastive search' }),
  );
  const want = changes => actions.want(changes);
  const settle = () => actions.settle();
  chooser.addEventListener('change', () => {
    want({ is_search: chooser.value === 'search' });
  });
  const k = exact_field(K, 'Candidates k', value => want({ top_k: value }));
  const slider = slider_of(ALPHA, 'Penalty alpha', {
    slide: value => want({ penalty_alpha: value }),
    settle,
  });
  const exact = exact_field(ALPHA, 'Penalty alpha, exact', value => {
    want({ penalty_alpha: value });
    settle();
  });
  const note = element('p', { class: 'dv-muted' });
  const node = element(
    'div',
    { class: 'dv-strategy-fields', hidden: true },
    element('label', { class: 'dv-strategy-field' }, element('span', { text: 'k' }), k.input),
    element(
      'div',
      { class: 'dv-strategy-field' },
      element('span', { text: 'alpha' }),
      slider.input,
      exact.input,
    ),
    k.alert,
    exact.alert,
    note,
  );

  return {
    chooser,
    node,
    update({ wanted, strategy, model }) {
      chooser.value = wanted.is_search ? 'search' : 'sampling';
      node.hidden = !wanted.is_search;
      k.update(wanted.top_k, model.vocab_size);
      slider.update(wanted.penalty_alpha, null);
      exact.update(wanted.penalty_alpha, null);
      const tried =
        `Each step tries the k likeliest tokens and takes the best score: (1 − alpha) × probability − ` +
        'alpha × penalty. ';
      set_text(
        note,
        strategy
          ? `${tried}Alpha acts on the scores on screen at once, and on the next steps; k from Start on.`
          : `${tried}Nothing is random, and no card has an effect.`,
      );
    },
  };
}
