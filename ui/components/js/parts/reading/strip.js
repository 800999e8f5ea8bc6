// A text read token by token: shaded by a figure of each token. Arrow keys move from token to token.

import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { next_place } from '../../lib/list_keys.js';
import { marked, say } from '../../words/say.js';

/** @import { Measure, ReadActions, ReadState, ReadToken } from './types.js' */

const BITS = {
  edges: [0, 1, 2, 4, 7, 10],
  ranges: [marked('below 1 bit'), '1–2', '2–4', '4–7', '7–10', marked('10 and more')],
};
/** @type {Record<Measure, {label: string, edges: number[], ranges: string[]}>} */
const MEASURES = {
  surprisal: { label: marked('surprisal'), ...BITS },
  probability: {
    label: marked('probability'),
    edges: [0, 0.01, 0.05, 0.2, 0.5, 0.8],
    ranges: [marked('below 1 %'), '1–5 %', '5–20 %', '20–50 %', '50–80 %', '80–100 %'],
  },
  rank: {
    label: marked('rank'),
    edges: [0, 2, 3, 6, 21, 101],
    ranges: [marked('first'), '2', '3–5', '6–20', '21–100', marked('above 100')],
  },
  entropy: { label: marked('uncertainty'), ...BITS },
};

/** @param {Measure} measure @param {number} value */
const shade_of = (measure, value) =>
  Math.max(
    0,
    MEASURES[measure].edges.findLastIndex(least => value >= least),
  );

/** @param {ReadToken} token @param {ReadState} state @param {number} place */
function look_of(token, { measure, chosen, reading }, place) {
  const names = ['dv-token', 'dv-read-token'];
  const value = token[measure];
  if (value !== null) names.push(`dv-shade-${shade_of(measure, value)}`);
  if (token.is_special) names.push('special');
  if (reading.forks.includes(place)) names.push('fork');
  if (place === chosen) names.push('chosen');
  return names.join(' ');
}

/** @param {HTMLElement} root @param {ReadActions} actions */
export function create(root, actions) {
  const select = element(
    'select',
    { 'aria-label': say('Colour by'), onchange: () => actions.measure(/** @type {Measure} */ (select.value)) },
    ...Object.entries(MEASURES).map(([value, { label }]) => element('option', { value, text: say(label) })),
  );
  const shades = BITS.ranges.map((_, shade) => element('span', { class: `dv-shade dv-shade-${shade}` }));
  const legend = element(
    'div',
    { class: 'dv-strip-legend' },
    element('label', {}, `${say('Colour by')} `, select),
    element('span', { class: 'dv-shades' }, ...shades),
    element('span', { class: 'dv-strip-mark fork', text: say('fork') }),
    element('span', { text: say('␣ is a space, ⏎ a line end') }),
  );
  const before = element('span', { class: 'dv-read-before' });
  const list = element('div', { class: 'dv-read-tokens', role: 'listbox', 'aria-orientation': 'horizontal' });
  root.append(legend, element('div', { class: 'dv-read-text' }, before, list));
  /** @type {HTMLElement[]} */
  let items = [];
  /** @type {ReadState | null} */
  let shown = null;

  list.addEventListener('click', event => {
    const place = items.indexOf(/** @type {HTMLElement} */ (event.target));
    if (place >= 0) actions.choose(place);
  });
  list.addEventListener('keydown', event => {
    if (!shown) return;
    const to = next_place(event.key, shown.chosen, items.length - 1);
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    actions.choose(to);
    items[to].focus();
  });

  return {
    /** @param {ReadState} state */
    update(state) {
      const { tokens } = state.reading;
      if (shown?.reading !== state.reading) {
        items = tokens.map(token => element('span', { role: 'option', text: token.label }));
        list.replaceChildren(...items);
        set_text(before, state.reading.before);
        set_attribute(list, 'aria-label', say('Tokens of the text'));
      }
      shown = state;
      select.value = state.measure;
      shades.forEach((shade, place) => set_text(shade, say(MEASURES[state.measure].ranges[place])));
      items.forEach((item, place) => {
        const is_chosen = place === state.chosen;
        set_class(item, look_of(tokens[place], state, place));
        set_attribute(item, 'aria-selected', String(is_chosen));
        set_attribute(item, 'tabindex', is_chosen ? 0 : -1);
      });
    },
  };
}
