// The menu `Glossary`: the terms on the page or those searched for. It works with keys, a screen reader or a finger.

import { element } from '../../lib/dom.js';
import { create_menu } from '../../lib/menu.js';
import { place_of } from '../../parts/glossary/place.js';
import { matches } from '../../words/glossary.js';
import { say } from '../../words/say.js';

/** @import { Found, Glossary } from '../../words/glossary.js' */
/** @import { Site } from '../../parts/glossary/place.js' */

// Texts by models and visitors are left out.
const NO_TEXT =
  'input, textarea, style, script, [hidden], .st-key-header, .dv-token, .dv-written, .dv-strip-box, tbody, .dv-tip';

/** @param {(text: string) => Found[]} find @returns {Set<string>} keys */
export function terms_on_page(find) {
  const page = document.querySelector('.stMain') ?? document.body;
  const walker = document.createTreeWalker(page, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, node =>
    node instanceof Element && node.matches(NO_TEXT) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
  );
  const keys = new Set();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node instanceof HTMLElement && node.dataset.term) keys.add(node.dataset.term);
    if (node.nodeType === Node.TEXT_NODE) for (const { key } of find(node.textContent ?? '')) keys.add(key);
  }
  return keys;
}

/**
 * @param {Glossary} glossary
 * @param {Site} site
 * @param {(text: string) => Found[]} find
 * @param {(key: string) => Node} more
 */
export function create_list(glossary, site, find, more) {
  const entries = element('dl', { class: 'dv-entries' });
  const search = element('input', {
    type: 'search',
    'aria-label': say('Search the glossary'),
    placeholder: say('Search the glossary'),
    oninput: fill,
  });
  const about = element('span', { text: `${say('Terms on this page, by name.')} ` });
  const menu = create_menu(say('Glossary'), search, element('p', {}, about, more('')), entries);
  /** @type {Set<string>} */
  let here = new Set();
  menu.node.addEventListener('toggle', () => {
    if (!(/** @type {HTMLDetailsElement} */ (menu.node).open)) return entries.replaceChildren();
    here = terms_on_page(find);
    search.value = '';
    fill();
  });

  function fill() {
    const query = search.value.trim();
    about.hidden = query !== '';
    const is_wanted = (/** @type {string} */ key) => (query ? matches(glossary[key], query) : here.has(key));
    const shown = Object.keys(glossary)
      .filter(is_wanted)
      .map(key => glossary[key])
      .toSorted((one, other) => one.name.localeCompare(other.name));
    entries.replaceChildren(
      ...shown.flatMap(entry => [
        element('dt', { text: entry.name }),
        element('dd', {}, `${entry.text} `, place_of(site, entry)),
      ]),
    );
  }
  return menu;
}
