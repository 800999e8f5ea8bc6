// What the parts say, in the language of the page: English stands in the code, `bootstrap.js` brings the other one.

/** @type {Record<string, string>} */
let translations = {};
let [thousands, point] = [',', '.'];

/**
 * Speak a language from now on; what is on screen already stays as it is.
 * @param {Record<string, string>} sentences translations by their English sentence; none for English
 */
export function speak(sentences) {
  translations = sentences;
  [, thousands, , , , point] = say('1,024.5');
}

/** The decimal point, and what sets thousands apart, as Plotly takes them. */
export const separators = () => point + thousands;

/** A text whose every number, in English form, is written as the language has it. @param {string} text */
export const with_figures = text => text.replace(/(?<=\d)[.,](?=\d)/g, one => (one === '.' ? point : thousands));

/** The sentence itself; so marked it is in the files of translations, and is said where it is shown. @param {string} sentence */
export const marked = sentence => sentence;

/**
 * A sentence in the language of the page, with values in its places: `say('{count} tokens', {count: 3})`.
 * @param {string} sentence
 * @param {Record<string, string | number>} [values]
 */
export function say(sentence, values) {
  const said = translations[sentence] ?? sentence;
  return values ? said.replace(/\{(\w+)\}/g, (place, name) => String(values[name] ?? place)) : said;
}
