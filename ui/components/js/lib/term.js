// Words with an entry in the glossary: two sentences on hover, tap and focus.

import { element, set_text } from './dom.js';

/** @typedef {Record<string, {name: string, text: string}>} Glossary */

const GAP = 6; // between a word and what is said of it
const MARGIN = 8; // of the window

/**
 * A word that is explained.
 * @param {string} key its entry
 * @param {string} [text] how it is written here
 */
export const term = (key, text = key) =>
  element('button', { type: 'button', class: 'dv-term', 'data-term': key, text });

/**
 * Shows what the glossary says of a word within `root`, on hover, tap and focus; Escape puts it away.
 *
 * @param {HTMLElement} root
 * @param {() => Glossary | undefined} glossary
 * @returns {() => void} stops it
 */
export function explain_terms(root, glossary) {
  const tip = element('div', { class: 'dv-tip', role: 'tooltip', id: `dv-tip-${crypto.randomUUID()}`, hidden: true });
  root.append(tip);
  /** @type {HTMLElement|null} */
  let shown = null;

  /** @param {HTMLElement} word */
  function show(word) {
    const entry = glossary()?.[word.dataset.term ?? ''];
    if (!entry || shown === word) return;
    hide();
    shown = word;
    tip.replaceChildren(element('b', { text: entry.name }), element('br'), '');
    tip.append(entry.text);
    tip.hidden = false;
    word.setAttribute('aria-describedby', tip.id);
    const at = word.getBoundingClientRect();
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(Math.max(MARGIN, at.left), window.innerWidth - width - MARGIN);
    const below = at.bottom + GAP;
    tip.style.left = `${left}px`;
    tip.style.top = `${below + height > window.innerHeight - MARGIN ? at.top - GAP - height : below}px`;
  }
  function hide() {
    if (!shown) return;
    shown.removeAttribute('aria-describedby');
    shown = null;
    tip.hidden = true;
    set_text(tip, '');
  }
  /** @param {Event} event @returns {HTMLElement|null} */
  const word_of = ({ target }) => (target instanceof Element ? target.closest('[data-term]') : null);

  /** @type {[string, (event: Event) => void][]} */
  const listeners = [
    [
      'pointerover',
      event => {
        const word = word_of(event);
        if (word) show(word);
        else if (document.activeElement !== shown) hide();
      },
    ],
    [
      'focusin',
      event => {
        const word = word_of(event);
        if (word) show(word);
        else hide();
      },
    ],
    ['focusout', hide],
    [
      'click',
      event => {
        const word = word_of(event);
        if (word) show(word);
        else hide();
      },
    ],
    [
      'keydown',
      event => {
        if (event instanceof KeyboardEvent && event.key === 'Escape') hide();
      },
    ],
    ['scroll', hide],
  ];
  for (const [kind, listener] of listeners) root.addEventListener(kind, listener, { capture: true });
  return () => {
    for (const [kind, listener] of listeners) root.removeEventListener(kind, listener, { capture: true });
    tip.remove();
  };
}
