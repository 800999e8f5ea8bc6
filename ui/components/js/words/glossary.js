// The glossary as pages read it: where its terms stand in a text, and where each can be operated.

/**
 * @typedef {object} Term
 * @property {string} name as a heading
 * @property {string} text what it means
 * @property {string[]} written how it stands in a text
 * @property {string[]} everyday words that mean it in some places only
 * @property {string[]} places these pages and lessons
 * @property {string} page the address of the page on which it can be operated
 * @property {string} at what to use there
 */
/** @typedef {Record<string, Term>} Glossary */
/** @typedef {{key: string, start: number, end: number}} Found */

/** @param {string} text */
const escaped = text => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * Finds terms in a text: whole words, the longest first; everyday words where they mean a term. A part of a name of
 * code, such as `model.layers.0`, is none.
 * @param {Glossary} glossary
 * @param {string[]} [here] the page that the text is on, and the lesson
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

/** Whether an entry is one that somebody looks for. @param {Term} term @param {string} typed */
export function matches({ name, text, written }, typed) {
  const wanted = typed.trim().toLowerCase();
  return [name, text, ...written].some(said => said.toLowerCase().includes(wanted));
}
