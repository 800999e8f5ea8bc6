// The glossary as pages read it: the occurrences of its terms in a text, and the page where each can be used.

/**
 * @typedef {object} Term
 * @property {string} name as a heading
 * @property {string} text its meaning
 * @property {string[]} written its spellings in a text
 * @property {string[]} everyday words that have this meaning only in some places
 * @property {string[]} places those pages and lessons
 * @property {string} page the address of the page where it can be used
 * @property {string} at the control to use there
 */
/** @typedef {Record<string, Term>} Glossary */
/** @typedef {{key: string, start: number, end: number}} Found */

/** @param {string} text */
const escaped = text => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * Find terms in a text: whole words, the longest first; everyday words only in their places. A part of an identifier,
 * such as `model.layers.0`, does not count.
 * @param {Glossary} glossary
 * @param {string[]} [here] the text's page and lesson
 * @returns {(text: string) => Found[]}
 */
export function term_finder(glossary, here = []) {
  const keys = new Map(
    Object.entries(glossary).flatMap(([key, { written, everyday, places }]) =>
      [...written, ...(places.some(place => here.includes(place)) ? everyday : [])].map(form => [
        form.toLowerCase(),
        key,
      ]),
    ),
  );
  if (!keys.size) return () => [];
  const forms = [...keys.keys()].sort((one, other) => other.length - one.length).map(escaped);
  const pattern = new RegExp(
    `(?<![\\p{L}\\p{N}_-]|\\p{N}[.,]|\\p{L}\\.)(?:${forms.join('|')})(?![\\p{L}\\p{N}_-]|\\.[\\p{L}\\p{N}_])`,
    'giu',
  );
  return text =>
    Array.from(text.matchAll(pattern), ({ 0: form, index }) => ({
      key: keys.get(form.toLowerCase()) ?? '',
      start: index,
      end: index + form.length,
    }));
}

/** Tell if an entry matches a search. @param {Term} term @param {string} typed */
export function matches({ name, text, written }, typed) {
  const wanted = typed.trim().toLowerCase();
  return [name, text, ...written].some(said => said.toLowerCase().includes(wanted));
}
