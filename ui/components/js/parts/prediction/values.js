// Display forms of values, and a pointer's place as a value.

import { with_figures } from '../../words/say.js';

/**
 * @typedef {object} Scale the scale of a prediction's values
 * @property {string} unit the unit after a number; `%` for probabilities, which are still 0 to 1
 * @property {string} [one] the unit after 1, if different
 * @property {number} digits after the decimal point
 * @property {number} low
 * @property {number} high
 */

/** "40 %", "3.1 bits". @param {number} value @param {Scale} scale */
export function value_text(value, { unit, one, digits }) {
  if (unit !== '%') {
    const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    const figure = with_figures(value.toLocaleString('en-US', options).replace('-', '−'));
    return `${figure} ${(figure === '1' && one) || unit}`;
  }
  return value > 0 && value < 0.005 ? '< 1 %' : `${(value * 100).toFixed(0)} %`;
}

/**
 * The step of a key press: about a hundredth of the scale, but at least the finest displayed value.
 *
 * @param {Scale} scale
 */
export function step_of({ unit, digits, low, high }) {
  const finest = unit === '%' ? 0.01 : 10 ** -digits;
  return Math.max(finest, Math.round((high - low) / 100 / finest) * finest);
}

/** A value clamped to the scale and rounded to a displayable one. @param {number} value @param {Scale} scale */
export function rounded(value, scale) {
  const finest = scale.unit === '%' ? 0.01 : 10 ** -scale.digits;
  const near = Math.round(value / finest) * finest;
  return Math.min(scale.high, Math.max(scale.low, Number(near.toFixed(6))));
}

/** A value's position on the scale, 0 to 1. @param {number} value @param {{low: number, high: number}} scale */
export const share_of = (value, { low, high }) => Math.min(1, Math.max(0, (value - low) / (high - low)));
