// Contrastive search in words: the winning candidate at an alpha, the reason, and the cost of a step.

import { count, ms, percent, quoted, score_text } from './format.js';
import { say } from './say.js';

/** @import { SearchedStep, State } from '../types.js' */
/** @typedef {SearchedStep['candidates'][number] & {gain: number, loss: number, score: number}} Scored */

/**
 * The alpha on show: the slider's, if the search is set up there.
 *
 * @param {Pick<State, 'draft' | 'searched' | 'read_only'>} state
 */
export const alpha_on_show = ({ draft, searched, read_only }) =>
  draft.is_search && !read_only ? draft.penalty_alpha : (searched?.penalty_alpha ?? 0);

/** The sentence on the line below the loop. @param {Pick<State, 'draft' | 'searched' | 'read_only'>} state */
export const search_sentence = state =>
  state.searched
    ? story(state.searched, alpha_on_show(state))
    : say('Press Step: the likeliest tokens are each tried as the next one, and the best score wins.');

/**
 * The candidates at any alpha, scored as in the engine, most likely first.
 *
 * @param {SearchedStep} step
 * @param {number} alpha
 * @returns {{rows: Scored[], winner: number}} each row with `gain`, `loss` and `score`; among equal scores the likelier
 *   candidate wins
 */
export function scored({ candidates }, alpha) {
  const rows = candidates.map(candidate => {
    const [gain, loss] = [(1 - alpha) * candidate.probability, alpha * candidate.penalty];
    return { ...candidate, gain, loss, score: gain - loss };
  });
  const best = Math.max(...rows.map(({ score }) => score));
  return { rows, winner: rows.findIndex(({ score }) => score === best) };
}

/** The winning candidate at this alpha, and the reason. @param {SearchedStep} step @param {number} alpha */
export function story(step, alpha) {
  const { rows, winner } = scored(step, alpha);
  const [won, likeliest] = [rows[winner], rows[0]];
  const sentences = [
    say('{token} wins: probability {probability}, penalty {penalty}, most like {nearest} at position {position}.', {
      token: quoted(won.label),
      probability: percent(won.probability),
      penalty: score_text(won.penalty),
      nearest: quoted(won.nearest_label),
      position: count(won.nearest + 1),
    }),
  ];
  if (winner > 0) {
    const values = {
      token: quoted(likeliest.label),
      probability: percent(likeliest.probability),
      penalty: score_text(likeliest.penalty),
    };
    sentences.push(
      likeliest.penalty > won.penalty
        ? say('{token} is likelier ({probability}), but it repeats the text more: penalty {penalty}.', values)
        : say('{token} is likelier ({probability}), but its score is lower: penalty {penalty}.', values),
    );
  } else if (rows.length > 1) sentences.push(say('It is the likeliest too.'));
  if (winner !== step.chosen) {
    const values = { token: quoted(rows[step.chosen].label), alpha: step.penalty_alpha };
    sentences.push(say('The step took {token}, at alpha {alpha}.', values));
  }
  return sentences.join(' ');
}

/** The step's cost, from its record. @param {SearchedStep} step */
export function cost({ index, passes, candidates, prefill_ms, forward_ms, score_ms }) {
  const values = {
    step: count(index + 1),
    passes: count(passes),
    prefill: ms(prefill_ms),
    forward: ms(forward_ms),
    number: count(candidates.length),
    scoring: ms(score_ms),
  };
  if (prefill_ms > 0)
    return say(
      'Step {step}, forward passes: {passes}; {prefill} to read the text so far, {forward} for the {number} candidates, {scoring} to score them.',
      values,
    );
  return passes === 1
    ? say('Step {step}: {passes} forward pass; {forward} for the {number} candidates, {scoring} to score them.', values)
    : say(
        'Step {step}: {passes} forward passes; {forward} for the {number} candidates, {scoring} to score them.',
        values,
      );
}
