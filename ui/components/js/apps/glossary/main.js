// All terms in alphabetical order, with a search. An address may name one: `how#entropy`.

import { element, set_text } from '../../lib/dom.js';
import { place_of } from '../../parts/glossary/place.js';
import { matches } from '../../words/glossary.js';
import { say } from '../../words/say.js';

/** @import { Glossary } from '../../words/glossary.js' */
/** @import { Site } from '../../parts/glossary/place.js' */

/**
 * @param {HTMLElement} root the element with class `dv`
 * @param {{glossary: Glossary, site: Site}} data
 */
export function mount(root, { glossary, site }) {
  root.classList.add('dv-glossary');
  const search = element('input', {
    type: 'search',
    'aria-label': say('Search the glossary'),
    placeholder: say('Search'),
  });
  const found = element('span', { class: 'dv-muted', role: 'status' });
  const list = element('dl', { class: 'dv-entries' });
  const entries = Object.entries(glossary)
    .sort(([, one], [, other]) => one.name.localeCompare(other.name))
    .map(([key, term]) => {
      const what = element('dd', {}, `${term.text} `, place_of(site, term));
      return { term, node: element('div', { id: key, tabindex: -1 }, element('dt', { text: term.name }), what) };
    });
  list.append(...entries.map(({ node }) => node));
  root.append(
    element('h2', { id: 'glossary', tabindex: -1, text: say('Glossary') }),
    element('p', { class: 'dv-glossary-search' }, search, found),
    list,
  );

  function filter() {
    let count = 0;
    for (const { term, node } of entries) {
      const is_found = matches(term, search.value);
      node.classList.toggle('dv-hidden', !is_found);
      count += Number(is_found);
    }
    const all = entries.length;
    set_text(found, count === all ? say('{all} terms', { all }) : say('{count} of {all} terms', { count, all }));
  }
  search.addEventListener('input', filter);
  filter();

  /** Go to the entry that the address names; the browser looked for it before it existed. */
  function go_to_named() {
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!named || !root.contains(named)) return;
    search.value = '';
    filter();
    named.scrollIntoView({ block: 'start' });
    named.focus({ preventScroll: true });
  }
  go_to_named();
  window.addEventListener('popstate', go_to_named);
  window.addEventListener('hashchange', go_to_named);

  return {
    restyle() {},
    destroy() {
      window.removeEventListener('popstate', go_to_named);
      window.removeEventListener('hashchange', go_to_named);
    },
  };
}
