// Terms of the glossary on every page: their meaning on hover, tap and focus, and the menu of those on the page.

import { element } from '../../lib/dom.js';
import { stay_in_app } from '../../lib/in_app.js';
import { address_of, names_here } from '../../parts/glossary/place.js';
import { term_finder } from '../../words/glossary.js';
import { say } from '../../words/say.js';
import { create_list } from './list.js';
import { create_marks } from './marks.js';
import { watch } from './pointing.js';
import { create_tip } from './tip.js';

/** @import { Glossary } from '../../words/glossary.js' */
/** @import { Site } from '../../parts/glossary/place.js' */

/** @param {Node} node */
const element_of = node => (node instanceof Element ? node : node.parentElement);

const QUIET_MS = 200; // after a change of the page, until the next search for terms

/**
 * @param {HTMLElement} root
 * @param {{glossary: Glossary, site: Site & {glossary: string}}} data
 */
export function mount(root, { glossary, site }) {
  root.classList.add('dv-terms');
  /** @param {string} key an entry; empty for all */
  const more = key => {
    const href = `${address_of(site, site.glossary)}#${encodeURIComponent(key || 'glossary')}`;
    return stay_in_app(element('a', { href, text: key ? say('Glossary') : say('All terms') }));
  };
  /** @type {Map<string, ReturnType<typeof term_finder>>} by page and lesson */
  const finders = new Map();
  /** @param {string} text */
  function find(text) {
    const here = names_here(site);
    const name = here.join(' ');
    const finder = finders.get(name) ?? term_finder(glossary, here);
    finders.set(name, finder);
    return finder(text);
  }
  const marks = create_marks(find);
  const tip = create_tip(glossary, site, more);
  const list = create_list(glossary, site, find, more);
  root.append(list.node);
  const stop = watch(tip, marks);

  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  const scan_soon = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      marks.scan();
    }, QUIET_MS);
  };
  // Our own parts have their terms as buttons, and change many times a second.
  const changes = new MutationObserver(records => {
    if (records.some(({ target }) => !element_of(target)?.closest('.dv'))) scan_soon();
  });
  changes.observe(document.body, { childList: true, characterData: true, subtree: true });
  scan_soon();

  return {
    restyle() {},
    destroy() {
      clearTimeout(timer);
      changes.disconnect();
      stop();
      list.destroy();
      marks.destroy();
      tip.destroy();
      root.replaceChildren();
    },
  };
}
