// A text read token by token: shaded tokens, the chosen one's alternatives, and forks.

import { element } from '../../lib/dom.js';
import { mount_part } from '../../parts/mount.js';
import * as alternatives from '../../parts/reading/alternatives.js';
import * as forks from '../../parts/reading/forks.js';
import * as strip from '../../parts/reading/strip.js';

/** @import { ReadActions, Reading, ReadState } from '../../parts/reading/types.js' */

/**
 * @param {HTMLElement} root the element with class `dv`
 * @param {{reading?: string}} data `reading`: the message of ui/read/message.py, as JSON
 * @param {(name: string, value: unknown) => void} tell
 */
export function mount(root, data, tell) {
  root.classList.add('dv-read');
  /** @type {ReadState | null} */
  let state = null;
  let seen = '';

  /** @param {Partial<ReadState>} changes */
  function change(changes) {
    if (!state) return;
    state = { ...state, ...changes };
    for (const part of parts) part.update(state, 'step');
  }
  /** @type {ReadActions} */
  const actions = {
    choose: chosen => change({ chosen }),
    measure: measure => change({ measure }),
    go_on: () => tell('go_on', state?.chosen),
  };
  const report = (/** @type {string} */ part, /** @type {Error} */ error) =>
    console.error(`The part ${part} has failed.`, error);
  const places = { strip, alternatives, forks };
  const parts = Object.entries(places).map(([name, module]) => {
    const place = element('div', { 'data-part': `read_${name}` });
    root.append(place);
    return mount_part(place, name, module, actions, report);
  });

  /** @param {{reading?: string}} now */
  function update(now) {
    if (!now.reading || now.reading === seen) return; // the choice stays as long as the text does
    seen = now.reading;
    /** @type {Reading} */
    const reading = JSON.parse(seen);
    const surprisals = reading.tokens.map(token => token.surprisal ?? 0);
    const most = surprisals.indexOf(Math.max(...surprisals));
    state = { reading, chosen: most, measure: state?.measure ?? 'surprisal' };
    change({});
  }
  update(data);
  return {
    update,
    restyle: () => {},
    destroy() {
      for (const part of parts) part.destroy?.();
    },
  };
}
