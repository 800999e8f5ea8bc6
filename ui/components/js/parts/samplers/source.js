// The source of a constraint: its language and its text, applied on leaving the field or by Ctrl+Enter.

import { element } from '../../lib/dom.js';
import { marked, say } from '../../words/say.js';

/** @import { Fields, Sampler, Value } from '../../types.js' */

/** The engine's name of each language, and its name for people. @type {Record<string, string>} */
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
  let shown = FIRST; // the value in force, or the last one submitted
  let before = FIRST; // the value in force at that submission
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
  // A new language alone changes nothing: the text is still in the previous one.
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
    event.stopPropagation(); // letters are not page shortcuts here
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
      if (is_refused) return; // the typed text stays for correction
      before = now;
      language.value = now.language;
      source.value = now.source;
    },
  };
}
