// The place where a term of the glossary can be used.

import { element } from '../../lib/dom.js';
import { stay_in_app } from '../../lib/in_app.js';
import { say } from '../../words/say.js';

/** @import { Term } from '../../words/glossary.js' */
/**
 * @typedef {object} Site the pages of the app
 * @property {string} base the prefix of all addresses
 * @property {string} home the page without a name in its address
 * @property {Record<string, string>} titles by address
 */

/** @param {Site} site @param {string} page */
export const address_of = ({ base, home }, page) => `${base}/${page === home ? '' : page}`;

/** The page on screen and the lesson, by their names in the address. @param {Site} site */
export function names_here({ base, home }) {
  const page = location.pathname.slice(base.length + 1) || home;
  return [page, ...new URLSearchParams(location.search).getAll('lesson')];
}

/** The place where a term can be used: a link, unless it is the current page. @param {Site} site @param {Term} term */
export function place_of(site, { page, at }) {
  const href = address_of(site, page);
  if (location.pathname === href)
    return element('span', { class: 'dv-muted', text: say('On this page: {what}', { what: at }) });
  return stay_in_app(
    element('a', { href, text: say('Try it: {page}, {what}', { page: site.titles[page], what: at }) }),
  );
}
