// The source of a constraint: its language, and its text, taken when the field is left or by Ctrl+Enter.

import { element } from '../../lib/dom.js';
import { marked, say } from '../../words/say.js';

/** @import { Fields, Sampler, Value } from '../../types.js' */

/** What the engine calls each language, and people. @type {Record<string, string>} */
const LANGUAGES = {
  choices: marked('Choices, as a JSON list'),
  regex: marked('Regular expression'),
  json_schema: marked('JSON schema'),
  lark: marked('Lark grammar'),
};
const FIRST = { language: 'choices', source: '' };

/**
 * @param {Sampler} sampler
 * @param {(value: Value) => void} set
 */
export function source_editor({ label }, set) {
  let shown = FIRST; // what is in force, or was handed in last
  let before = FIRST; // what was in force when it was
  const language = element(
    'select',
    { 'aria-label': say('{sampler} language', { sampler: label }) },
    ...Object.entries(LANGUAGES).map(([value, text]) => element('option', { value, text: say(text) })),
  );
  const source = element('textarea', {
    rows: 4,
    'aria-label': say('{sampler} source', { sampler: label }),
    placeholder: '["yes", "no"]',
    spellcheck: 'false',
    autocomplete: 'off',
  });
  // Another language alone changes nothing: the text is still of the one before.
  function take() {
    const typed = { language: language.value, source: source.value };
    if (typed.source === shown.source && typed.language === shown.language) return;
    before = shown;
    shown = typed;
    set(typed.source.trim() ? typed : null);
  }
  source.addEventListener('change', take);
  source.addEventListener('keydown', event => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) take();
    event.stopPropagation(); // letters are not the page's keys here
  });
  return {
    node: element('div', { class: 'dv-source' }, language, source),
    focus: () => source.focus(),
    /** @param {Value} value */
    update(value) {
      const fields = /** @type {Fields | null} */ (value);
      const now = fields ? { language: String(fields.language), source: String(fields.source) } : null;
      if (!now || (now.language === shown.language && now.source === shown.source)) return;
      const is_refused = now.language === before.language && now.source === before.source;
      shown = now;
      if (is_refused) return; // what was typed stays, to be mended
      before = now;
      language.value = now.language;
      source.value = now.source;
    },
  };
}
