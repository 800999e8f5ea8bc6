// Terms in Streamlit's texts. Streamlit's elements stay unchanged. A mark is a range of text that the browser
// underlines, and the term under the pointer is looked up. So nothing is left over when Streamlit redraws an element.

/** @import { Found } from '../../words/glossary.js' */
/** @typedef {{key: string, range: Range}} Mark */

const NAME = 'dv-terms'; // name of the highlight, for its style
// Texts that Streamlit writes for us, and column names of a table; never texts by a model or a visitor.
const PROSE = '[data-testid="stMarkdownContainer"], [data-testid="stCaptionContainer"], .stHtml :is(caption, thead)';
const NO_PROSE = 'button, a, code, .katex, .dv, .st-key-header, [role="tooltip"]';

/** @param {Element} prose @returns {Text[]} */
function texts_of(prose) {
  const walker = document.createTreeWalker(prose, NodeFilter.SHOW_TEXT);
  const texts = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (!node.parentElement?.closest(NO_PROSE)) texts.push(/** @type {Text} */ (node));
  return texts;
}

/** @param {Text} text @param {Found} found */
function range_of(text, { start, end }) {
  const range = document.createRange();
  range.setStart(text, start);
  range.setEnd(text, end);
  return range;
}

/** @param {number} x @param {number} y @returns {Node|null} */
function text_at(x, y) {
  if (document.caretPositionFromPoint) return document.caretPositionFromPoint(x, y)?.offsetNode ?? null;
  return document.caretRangeFromPoint?.(x, y)?.startContainer ?? null;
}

/** @param {(text: string) => Found[]} find */
export function create_marks(find) {
  /** @type {Map<Node, Mark[]>} */
  let marks = new Map();

  return {
    /** Mark the terms on the page now: each once per paragraph. */
    scan() {
      marks = new Map();
      for (const prose of document.querySelectorAll(PROSE)) {
        const seen = new Set();
        for (const text of texts_of(prose)) {
          const found = find(text.data).filter(({ key }) => !seen.has(key) && seen.add(key));
          if (found.length)
            marks.set(
              text,
              found.map(one => ({ key: one.key, range: range_of(text, one) })),
            );
        }
      }
      // If colours are forced, a highlight looks like selected text. The list in the band has all terms.
      const is_forced = globalThis.matchMedia?.('(forced-colors: active)').matches;
      const ranges = is_forced ? [] : [...marks.values()].flat().map(({ range }) => range);
      globalThis.CSS?.highlights?.set(NAME, new Highlight(...ranges));
    },

    /** The mark under a point of the window. @param {number} x @param {number} y */
    at(x, y) {
      const near = marks.get(/** @type {Node} */ (text_at(x, y))) ?? [];
      const is_hit = (/** @type {DOMRect} */ box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
      return near.find(({ range }) => Array.from(range.getClientRects()).some(is_hit)) ?? null;
    },

    destroy() {
      globalThis.CSS?.highlights?.delete(NAME);
    },
  };
}
