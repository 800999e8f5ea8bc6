// The parts' texts in the language of the page. English is in the code; `bootstrap.js` brings the other language.

/** @type {Record<string, string>} */
let translations = {};
let [thousands, point] = [',', '.'];

/**
 * Speak a language from now on; text already on screen stays as it is.
 * @param {Record<string, string>} sentences translations by English sentence; empty for English
 */
export function speak(sentences) {
  translations = sentences;
  [, thousands, , , , point] = say('1,024.5');
}

/** The decimal point and the thousands separator, as Plotly takes them. */
export const separators = () => point + thousands;

/** A text with every English-style number rewritten in the style of the language. @param {string} text */
export const with_figures = text => text.replace(/(?<=\d)[.,](?=\d)/g, one => (one === '.' ? point : thousands));

/**
 * The sentence itself. The mark puts it into the translation files; it is translated where it is shown.
 *
 * @param {string} sentence
 */
export const marked = sentence => sentence;

/**
 * A sentence in the language of the page, with values filled in: `say('{count} tokens', {count: 3})`.
 * @param {string} sentence
 * @param {Record<string, string | number>} [values]
 */
export function say(sentence, values) {
  const said = translations[sentence] ?? sentence;
  return values ? said.replace(/\{(\w+)\}/g, (place, name) => String(values[name] ?? place)) : said;
}
