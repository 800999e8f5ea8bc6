// Thinking: the tokens of an answer between `<think>` and `</think>`. The marks are found in the text, as not every
// tokenizer has them as tokens.

/** @import { PromptToken, Step } from '../../types.js' */

const [OPEN, CLOSE] = ['<think>', '</think>'];
const TAIL = 16; // tokens of the prompt that may hold an opening mark

/** @param {{special: boolean, label: string, text?: string}} token */
const written = token => (token.special ? token.label : (token.text ?? ''));

/**
 * The indices of the steps inside thinking spans, marks included.
 *
 * @param {PromptToken[]} prompt
 * @param {Step[]} steps
 * @returns {Set<number>}
 */
export function thinking_steps(prompt, steps) {
  const before = prompt
    .slice(-TAIL)
    .map(token => token.label)
    .join('');
  const ends = [before.length];
  let text = before;
  for (const step of steps) {
    text += written(step);
    ends.push(text.length);
  }
  /** @type {Set<number>} */
  const inside = new Set();
  let from = text.indexOf(OPEN);
  while (from >= 0) {
    const close = text.indexOf(CLOSE, from);
    const to = close < 0 ? text.length : close + CLOSE.length;
    if (close < 0 || to > before.length)
      steps.forEach((_, index) => {
        if (ends[index + 1] > from && ends[index] < to) inside.add(index);
      });
    from = close < 0 ? -1 : text.indexOf(OPEN, to);
  }
  return inside;
}

/** Perplexity of some steps under the model; NaN if there are none. @param {Step[]} steps */
export function perplexity(steps) {
  const bits = steps.map(step => Math.log(step.model_probability));
  return Math.exp(-bits.reduce((sum, one) => sum + one, 0) / bits.length);
}
