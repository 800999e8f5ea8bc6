// The explanation of a term, shown while the term is pointed at or focused, and after a press until Escape.

import { element, set_attribute } from '../../lib/dom.js';
import { place_of } from '../../parts/glossary/place.js';

/** @import { Glossary } from '../../words/glossary.js' */
/** @import { Site } from '../../parts/glossary/place.js' */
/** @typedef {{key: string, box: DOMRect, word: HTMLElement|null}} Place of a term; `word`: its element, if any */

const GAP = 6; // between a word and its explanation
const MARGIN = 8; // of the window

/** @param {Glossary} glossary @param {Site} site @param {(key: string) => Node} more a link to the whole glossary */
export function create_tip(glossary, site, more) {
  const tip = element('div', { class: 'dv-tip', role: 'tooltip', id: `dv-tip-${crypto.randomUUID()}`, hidden: true });
  document.body.append(tip);
  /** @type {Place|null} */
  let shown = null;

  /** @param {DOMRect} at */
  function put_beside(at) {
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(Math.max(MARGIN, at.left), window.innerWidth - width - MARGIN);
    const below = at.bottom + GAP;
    tip.style.left = `${left}px`;
    tip.style.top = `${below + height > window.innerHeight - MARGIN ? at.top - GAP - height : below}px`;
  }

  return {
    get word() {
      return shown?.word ?? null;
    },
    get is_shown() {
      return shown !== null;
    },
    /** @param {unknown} node */
    holds: node => node instanceof Node && tip.contains(node),

    /** @param {Place} place */
    show(place) {
      const entry = glossary[place.key];
      if (!entry || (shown?.key === place.key && shown.word === place.word)) return;
      this.hide();
      shown = place;
      (place.word?.closest('dialog') ?? document.body).append(tip); // a dialog covers everything else
      const links = element('p', {}, place_of(site, entry), ' ', more(place.key));
      tip.replaceChildren(element('b', { text: entry.name }), element('p', { text: entry.text }), links);
      tip.hidden = false;
      set_attribute(place.word, 'aria-describedby', tip.id);
      put_beside(place.box);
    },

    /** Move the focus to the tip's links. */
    enter() {
      tip.querySelector('a')?.focus();
    },

    hide() {
      if (!shown) return;
      set_attribute(shown.word, 'aria-describedby', null);
      shown = null;
      tip.hidden = true;
      tip.replaceChildren();
    },

    destroy() {
      tip.remove();
    },
  };
}
