// A field that reads a trace in the browser and hands its text over: the server takes no uploaded files.

import { element, set_text } from '../../lib/dom.js';
import { say } from '../../words/say.js';

const MOST_BYTES = 2.5 * 2 ** 20; // with its quotation marks escaped it still fits into one message

/**
 * @param {HTMLElement} root
 * @param {object} _data
 * @param {(name: string, value: unknown) => void} tell
 */
export function mount(root, _data, tell) {
  const said = element('p', { class: 'dv-muted', role: 'status' });
  const field = element('input', {
    type: 'file',
    accept: '.json,application/json',
    'aria-label': say('Trace file (JSON)'),
  });
  field.addEventListener('change', async () => {
    const file = field.files?.[0];
    if (!file) return;
    if (file.size > MOST_BYTES) {
      const size = (file.size / 2 ** 20).toFixed(1);
      set_text(
        said,
        say('{file} has {size} MiB, and a page takes 2.5; open it in Python with replay.', { file: file.name, size }),
      );
      return;
    }
    try {
      const text = await file.text();
      set_text(said, say('{file} was handed over.', { file: file.name }));
      tell('text', text);
    } catch (error) {
      set_text(
        said,
        say('{file} could not be read ({error}); choose it again.', {
          file: file.name,
          error: /** @type {Error} */ (error).message,
        }),
      );
    }
    field.value = ''; // so that the same file may be chosen again
  });
  root.append(field, said);
  return { restyle: () => {}, destroy: () => {} };
}
