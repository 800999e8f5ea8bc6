// Find what cannot be read on a page: text that is cut off or covered, overlapping controls, broken words.
// The test evaluates this function in the page: it needs nothing from around it.

/**
 * @typedef {{left: number, top: number, right: number, bottom: number}} Box
 * @typedef {{node: Element, part: Box, layer: Element|null, text: string}} Shown `part`: what of it can be seen
 */

/** @returns {string[]} a sentence for each */
export default () => {
  const TOUCH = 2; // pixels: boxes of letters are larger than the letters
  const HANGING = 8; // a space at the end of a line, or the corner of a turned box
  const CONTROLS = 'button, a[href], select, textarea, summary, input:not([type=range], [type=checkbox], [type=radio])';
  const WHOLE_WORDS = `${CONTROLS}, th, label, h1, h2, h3, [role=tab], [role=radio]`;
  // Data may end with an ellipsis: tokens, texts, the name of a model.
  const DATA = '.dv-token, .dv-prompt-text, .dv-texts, [class*="st-key-model_chooser"]';
  // Formulas have signs over each other; `.dv-by` drops out where it has no room.
  const LEFT_OUT =
    '.dv-spoken, .dv-by, .katex, [data-testid=stSkipToContent], details:not([open]) > :not(summary), option, script,' +
    ' style, [inert], .hoverlayer';
  const LAYERS = '.dv-menu-body, .dv-whole .dv-strip-frame, .dv-prompt-text:focus, [data-testid=stPopoverBody]';

  /** @type {Map<Element, CSSStyleDeclaration>} */
  const styles = new Map();
  const style_of = (/** @type {Element} */ node) => {
    const style = styles.get(node) ?? getComputedStyle(node);
    styles.set(node, style);
    return style;
  };
  /** The node and what it lies in. @param {Element} node */
  function line_of(node) {
    const line = [node];
    for (let near = node.parentElement; near; near = near.parentElement) line.push(near);
    return line;
  }
  const is_shown = (/** @type {Element} */ node) =>
    !node.closest(LEFT_OUT) &&
    node.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    line_of(node).every(near => style_of(near).clipPath === 'none');
  const is_turned = (/** @type {Element} */ node) =>
    line_of(node).some(near => {
      const [, skew = '0'] = style_of(near).transform.split(',');
      return Math.abs(Number(skew)) > 0.01 || /rotate\((?!0[,)])/.test(near.getAttribute('transform') ?? '');
    });
  /** What lies in it covers the page on purpose. @param {Element} node */
  const layer_of = node =>
    line_of(node).find(near => near.matches(LAYERS) || style_of(near).position === 'fixed') ?? null;
  const named = (/** @type {Element} */ node, text = node.textContent ?? '') => {
    const place = /** @type {HTMLElement|null} */ (node.closest('[data-part], [data-testid], [class*="st-key-"]'));
    const where = place?.dataset.part ?? place?.dataset.testid ?? place?.className;
    return `“${text.trim().replace(/\s+/g, ' ').slice(0, 40)}” (${node.tagName.toLowerCase()} in ${where})`;
  };
  /** @param {Box} box @returns {Box} */
  const copied = ({ left, top, right, bottom }) => ({ left, top, right, bottom });
  const width_of = (/** @type {Box} */ box) => box.right - box.left;
  const height_of = (/** @type {Box} */ box) => box.bottom - box.top;
  /** @param {Box} one @param {Box} other */
  const shared_by = (one, other) => ({
    left: Math.max(one.left, other.left),
    top: Math.max(one.top, other.top),
    right: Math.min(one.right, other.right),
    bottom: Math.min(one.bottom, other.bottom),
  });

  /** @type {Set<string>} */
  const found = new Set();

  /**
   * What all that clips a box leaves of it; null for nothing.
   * @param {Element} node
   * @param {Box} whole
   * @param {number} slack more than this beyond an edge that does not scroll is a fault; Infinity for none
   */
  function seen_part(node, whole, slack) {
    const part = copied(whole);
    let is_said = slack === Infinity;
    /** @param {string} what */
    const say_once = what => {
      if (!is_said) found.add(`${what}: ${named(node)}`);
      is_said = true;
    };
    for (const near of line_of(node)) {
      if (near === document.body) break;
      const { overflowX, overflowY, textOverflow, position, display } = style_of(near);
      const can_clip = display !== 'contents' && (display !== 'inline' || near instanceof SVGElement);
      if (can_clip && (overflowX !== 'visible' || overflowY !== 'visible')) {
        const box = near.getBoundingClientRect();
        const is_beside = part.left < box.left - slack || part.right > box.right + slack;
        const is_beyond = part.top < box.top - slack || part.bottom > box.bottom + slack;
        const scrolls = (/** @type {string} */ overflow) => overflow === 'auto' || overflow === 'scroll';
        if (overflowX !== 'visible') {
          if (is_beside && scrolls(overflowX)) is_said = true;
          else if (is_beside && !node.closest(DATA))
            say_once(textOverflow === 'ellipsis' ? 'ends with an ellipsis' : 'is cut at its side');
          part.left = Math.max(part.left, box.left);
          part.right = Math.min(part.right, box.right);
        }
        if (overflowY !== 'visible') {
          if (is_beyond && scrolls(overflowY)) is_said = true;
          else if (is_beyond) say_once('is cut above or below');
          part.top = Math.max(part.top, box.top);
          part.bottom = Math.min(part.bottom, box.bottom);
        }
        if (width_of(part) < 1 || height_of(part) < 1) return null;
      }
      if (position === 'fixed') break;
    }
    if (part.left < -slack || part.right > innerWidth + slack) say_once('lies outside the window');
    return part;
  }

  // --- texts ---------------------------------------------------------------------------------------

  /** @type {Shown[]} */
  const texts = [];
  const range = document.createRange();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = /** @type {Text} */ (walker.currentNode);
    const node = text.parentElement;
    if (!text.data.trim() || !node || node.closest('textarea') || !is_shown(node)) continue;
    range.selectNodeContents(text);
    const lines = Array.from(range.getClientRects()).filter(line => line.width > 1 && line.height > 1);
    const turned = is_turned(node);
    const slack = turned || style_of(node).whiteSpaceCollapse === 'preserve' ? HANGING : TOUCH;
    for (const line of lines) {
      const part = seen_part(node, line, slack);
      if (part && !turned) texts.push({ node, part, layer: layer_of(node), text: text.data });
    }
    if (turned || lines.length < 2 || !node.closest(WHOLE_WORDS)) continue;
    for (const { 0: word, index } of text.data.matchAll(/[\p{L}\p{N}\u00ad]{2,}/gu)) {
      if (word.includes('\u00ad')) continue; // it says where it may be broken
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const tops = Array.from(range.getClientRects(), ({ top, width }) => (width > 1 ? Math.round(top) : null));
      if (new Set(tops.filter(top => top !== null)).size > 1) found.add(`the word “${word}” is broken: ${named(node)}`);
    }
  }

  // What stands in a field is no text of the document.
  const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d'));
  for (const field of document.querySelectorAll('input, select')) {
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement) || !is_shown(field)) continue;
    if (['range', 'checkbox', 'radio', 'file', 'hidden'].includes(field.type) || field.clientWidth < 4) continue;
    const is_list = field instanceof HTMLSelectElement;
    const words = is_list ? (field.selectedOptions[0]?.text ?? '') : field.value || field.placeholder;
    const is_prose = !is_list && field.type !== 'number' && field.value !== ''; // which can be scrolled
    if (is_prose && !/^[-−+\d.,]+$/.test(words)) continue;
    const { font, paddingLeft, paddingRight } = style_of(field);
    pen.font = font;
    const arrow = is_list ? 16 : 0;
    const room = field.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight) - arrow;
    if (pen.measureText(words).width > room + TOUCH)
      found.add(`has no room for “${words}”: ${named(field, field.ariaLabel ?? '')}`);
  }

  // --- what lies over each other -------------------------------------------------------------------

  /** Pairs of boxes that share ground. @param {Shown[]} boxes */
  function* pairs(boxes) {
    const sorted = boxes.toSorted((one, other) => one.part.left - other.part.left); // so that few are compared
    for (const [at, one] of sorted.entries()) {
      for (let next = at + 1; next < sorted.length && sorted[next].part.left < one.part.right; next += 1) {
        const other = sorted[next];
        if (one.node.contains(other.node) || other.node.contains(one.node)) continue;
        const shared = shared_by(one.part, other.part);
        if (width_of(shared) <= TOUCH || height_of(shared) <= TOUCH) continue;
        const is_covered = [one, other].some(({ layer }) => {
          const over = layer && shared_by(shared, layer.getBoundingClientRect());
          return over && width_of(over) > width_of(shared) - 1 && height_of(over) > height_of(shared) - 1;
        });
        if (one.layer === other.layer || !is_covered) yield { one, other, shared };
      }
    }
  }
  for (const { one, other, shared } of pairs(texts)) {
    if (height_of(shared) > 0.25 * Math.min(height_of(one.part), height_of(other.part)))
      found.add(`cover each other: ${named(one.node, one.text)} and ${named(other.node, other.text)}`);
  }
  /** @type {Shown[]} */
  const controls = [];
  for (const node of document.querySelectorAll(CONTROLS)) {
    const box = node.getBoundingClientRect();
    if (box.width < 4 || box.height < 4 || !is_shown(node)) continue;
    const part = seen_part(node, box, Infinity);
    if (part) controls.push({ node, part, layer: layer_of(node), text: '' });
  }
  for (const { one, other } of pairs(controls))
    found.add(`cover each other: ${named(one.node)} and ${named(other.node)}`);
  for (const node of [document.documentElement, document.querySelector('.stMain')]) {
    if (node && node.scrollWidth > node.clientWidth) found.add(`the page scrolls sideways: ${node.scrollWidth}`);
  }
  return [...found];
};
