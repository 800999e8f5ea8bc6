// A field that reads a trace in the browser and passes its text on: the server accepts no uploaded files.

import { element, set_text } from '../../lib/dom.js';
import { read_trace } from '../../lib/trace_file.js';
import { say } from '../../words/say.js';

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
    const read = await read_trace(file);
    set_text(said, 'text' in read ? say('{file} was uploaded.', { file: file.name }) : read.sentence);
    if ('text' in read) tell('text', read.text);
    field.value = ''; // lets the same file be chosen again
  });
  root.append(field, said);
  return { restyle: () => {}, destroy: () => {} };
}
