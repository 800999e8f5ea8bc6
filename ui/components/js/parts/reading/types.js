// What the parts of a reading get, field by field; the message is made by ui/read/message.py.

/**
 * @typedef {'surprisal' | 'probability' | 'rank' | 'entropy'} Measure a figure of a token, by which it is shaded
 *
 * @typedef {object} ReadToken
 * @property {string} label
 * @property {boolean} is_special
 * @property {number | null} probability the model's own; null if unknown, as are all figures
 * @property {number | null} surprisal -log2 of it, in bits
 * @property {number | null} rank from 1
 * @property {number | null} entropy of the distribution, in bits
 * @property {[string, number, boolean][]} top the likeliest tokens: label, probability, whether it is this token
 *
 * @typedef {object} Reading
 * @property {boolean} can_go_on whether a text can go on from a token
 * @property {string} before the tokens before the text
 * @property {ReadToken[]} tokens
 * @property {number[]} forks places of tokens for which another was nearly as likely
 *
 * @typedef {{reading: Reading, chosen: number, measure: Measure}} ReadState
 * @typedef {object} ReadActions
 * @property {(place: number) => void} choose
 * @property {(measure: Measure) => void} measure
 * @property {() => void} go_on
 */

export {};
