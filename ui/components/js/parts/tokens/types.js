// What the parts of the tokens page show: a text as one tokenizer cuts it (packed by ui/tokens/message.py).

/**
 * @typedef {object} ShownToken
 * @property {number} id
 * @property {string} label visible
 * @property {string} bytes in hexadecimal: "20 73"
 * @property {number} start first character of the text that its bytes belong to, from 0
 * @property {number} end the one after the last
 * @property {number | null} first_byte place of its first byte in the text; null where the tokenizer changes the text
 * @property {boolean} is_special whether it is a control token
 * @property {boolean} is_inserted whether the tokenizer put it around the text
 * @property {boolean} is_unknown whether it stands for text that no token spells
 * @property {boolean} is_partial whether its bytes are no whole characters
 * @property {number | null} pre_token
 */
/** @typedef {[start: number, middle: number, end: number, rank: number, label: string, id: number]} ShownMerge */
/** @typedef {[end: number, label: string, id: number, tried: number]} ShownMatch */
/** @typedef {{kind: 'merges', symbols: string[], merges: ShownMerge[], ranks: number, is_whole: boolean}} Merges */
/** @typedef {{kind: 'matches', text: string[], matches: ShownMatch[]}} Matches `text`: its characters, visible */
/** @typedef {{kind: 'cuts', cuts: {score: number, tokens: [label: string, score: number][]}[]}} Cuts */
/** @typedef {{kind: 'none', reason: string}} Nothing */
/** @typedef {Merges | Matches | Cuts | Nothing} Making */
/**
 * @typedef {object} Side a text as one tokenizer cuts it
 * @property {string} name
 * @property {string} facts one line
 * @property {string} note what is not shown, empty where all is
 * @property {ShownToken[]} tokens
 * @property {[label: string, making: number][]} pre_tokens
 * @property {Making[]} makings of all that differ
 * @property {number} first the token that is chosen at first
 */
/** @typedef {{side: Side, chosen: number, pointed: number | null}} TokensState `pointed`: the token under the pointer */
/** @typedef {{choose: (place: number) => void, point: (place: number | null) => void}} TokensActions */

export {};
