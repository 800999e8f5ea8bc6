// The meaning of token colours and marks.

import { element, set_text } from '../../lib/dom.js';
import { marked, say } from '../../words/say.js';

/** @import { Colouring } from '../../types.js' */

const PROBABILITIES = {
  edges: [0, 0.01, 0.05, 0.2, 0.5, 0.8],
  ranges: [marked('below 1 %'), '1–5 %', '5–20 %', '20–50 %', '50–80 %', '80–100 %'],
};
const BITS = {
  edges: [0, 0.5, 1, 2, 4, 6],
  ranges: [marked('below 0.5 bits'), '0.5–1', '1–2', '2–4', '4–6', marked('6 and more')],
};

/** @type {Record<Colouring, {label: string, edges: number[], ranges: string[]}>} */
const COLOURINGS = {
  model_probability: { label: marked('model’s probability'), ...PROBABILITIES },
  probability: { label: marked('probability after settings'), ...PROBABILITIES },
  model_entropy: { label: marked('model’s uncertainty'), ...BITS },
  entropy: { label: marked('uncertainty after temperature'), ...BITS },
};

/**
 * The number of a value's shade, out of six.
 * @param {Colouring} colouring
 * @param {number} value
 */
export const shade_of = (colouring, value) =>
  Math.max(
    0,
    COLOURINGS[colouring].edges.findLastIndex(least => value >= least),
  );

/** The legend: `node`, and `update(colouring)`. */
export function create_legend() {
  const title = element('span');
  const shades = PROBABILITIES.ranges.map((_, shade) => element('span', { class: `dv-shade dv-shade-${shade}` }));
  /** @param {string} name @param {string} text */
  const mark = (name, text) => element('span', { class: `dv-strip-mark ${name}`, text });
  const node = element(
    'div',
    { class: 'dv-strip-legend' },
    title,
    element('span', { class: 'dv-shades' }, ...shades),
    mark('prompt', say('prompt')),
    mark('forced', say('forced')),
    mark('special', say('special')),
    mark('partial', say('part of a character')),
    element('span', { text: say('␣ is a space, ⏎ a line end') }),
  );
  return {
    node,
    /** @param {Colouring} colouring */
    update(colouring) {
      const { label, ranges } = COLOURINGS[colouring];
      set_text(title, say('Colour: {what}', { what: say(label) }));
      shades.forEach((shade, place) => set_text(shade, say(ranges[place])));
    },
  };
}
