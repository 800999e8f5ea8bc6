// Contrastive search in words: which candidate wins at an alpha, and why; what a step cost.

import { count, ms, percent, quoted, score_text } from './format.js';

/** @import { SearchedStep, State } from '../types.js' */
/** @typedef {SearchedStep['candidates'][number] & {gain: number, loss: number, score: number}} Scored */

/** The alpha that is on show: the slider's, where the search is set up there. @param {Pick<State, 'draft' | 'searched'>} state */
export const alpha_on_show = ({ draft, searched }) =>
  draft.is_search ? draft.penalty_alpha : (searched?.penalty_alpha ?? 0);

/** What the line below the loop says. @param {Pick<State, 'draft' | 'searched'>} state */
export const search_sentence = state =>
  state.searched
    ? story(state.searched, alpha_on_show(state))
    : 'Press Step: the likeliest tokens are each tried as the next one, and the best score wins.';

/**
 * The candidates at any alpha, as the engine scores them: most likely first.
 *
 * @param {SearchedStep} step
 * @param {number} alpha
 * @returns {{rows: Scored[], winner: number}} each row with `gain`, `loss` and `score`; of equal ones the likelier
 *   wins
 */
export function scored({ candidates }, alpha) {
  const rows = candidates.map(candidate => {
    const [gain, loss] = [(1 - alpha) * candidate.probability, alpha * candidate.penalty];
    return { ...candidate, gain, loss, score: gain - loss };
  });
  const best = Math.max(...rows.map(({ score }) => score));
  return { rows, winner: rows.findIndex(({ score }) => score === best) };
}

/** Which candidate wins at this alpha, and why. @param {SearchedStep} step @param {number} alpha */
export function story(step, alpha) {
  const { rows, winner } = scored(step, alpha);
  const [won, likeliest] = [rows[winner], rows[0]];
  const like =
    `penalty ${score_text(won.penalty)}, most like ${quoted(won.nearest_label)} at position ` +
    `${count(won.nearest + 1)}`;
  let text = `${quoted(won.label)} wins: probability ${percent(won.probability)}, ${like}.`;
  if (winner > 0) {
    const better = likeliest.penalty > won.penalty ? 'it repeats the text more' : 'its score is lower';
    text +=
      ` ${quoted(likeliest.label)} is likelier (${percent(likeliest.probability)}), but ${better}: penalty ` +
      `${score_text(likeliest.penalty)}.`;
  } else if (rows.length > 1) {
    text += ' It is the likeliest too.';
  }
  if (winner !== step.chosen) {
    text += ` The step took ${quoted(rows[step.chosen].label)}, at alpha ${step.penalty_alpha}.`;
  }
  return text;
}

/** What the step cost, by its record. @param {SearchedStep} step */
export function cost({ index, passes, candidates, prefill_ms, forward_ms, score_ms }) {
  const read = prefill_ms > 0 ? `${ms(prefill_ms)} to read the text so far, ` : '';
  return (
    `Step ${count(index + 1)}: ${count(passes)} forward ${passes === 1 ? 'pass' : 'passes'}; ${read}` +
    `${ms(forward_ms)} for the ${count(candidates.length)} candidates, ${ms(score_ms)} to score them.`
  );
}
