// Forks of a text: places where another token was nearly as likely. A press chooses the place.

import { element, set_attribute, set_text } from '../../lib/dom.js';
import { count, percent } from '../../words/format.js';
import { say } from '../../words/say.js';

/** @import { Reading, ReadActions, ReadState } from './types.js' */

/** @param {Reading} reading @param {number} place */
function words_of({ tokens }, place) {
  const token = tokens[place];
  const other = token.top.find(([, , is_own]) => !is_own);
  if (!other) return token.label;
  return say('{place}: {token} {share}, or {other} {other_share}', {
    place: count(place + 1),
    token: token.label,
    share: percent(token.probability ?? 0),
    other: other[0],
    other_share: percent(other[1]),
  });
}

/** @param {HTMLElement} root @param {ReadActions} actions */
export function create(root, actions) {
  const title = element('h3');
  const list = element('div', { class: 'dv-read-forks' });
  root.append(title, list);
  /** @type {Reading | null} */
  let shown = null;
  /** @type {HTMLElement[]} */
  let buttons = [];
  return {
    /** @param {ReadState} state */
    update({ reading, chosen }) {
      if (shown !== reading) {
        shown = reading;
        const { forks } = reading;
        set_text(title, say('Forks: {count}', { count: count(forks.length) }));
        buttons = forks.map(place =>
          element('button', {
            type: 'button',
            text: words_of(reading, place),
            onclick: () => actions.choose(place),
          }),
        );
        list.replaceChildren(...buttons);
      }
      buttons.forEach((button, at) => set_attribute(button, 'aria-current', reading.forks[at] === chosen && 'true'));
    },
  };
}
