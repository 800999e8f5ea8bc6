// "Export code": the prompt and settings of the page as code for other programs, in a dialog with a tab for each.

import { element, set_attribute, set_text } from '../../lib/dom.js';
import { own_keys } from '../../lib/own_keys.js';
import { marked, say } from '../../words/say.js';

/** @import { Actions, Snippet } from '../../types.js' */

const COPIED = marked('Copied');
const COPIED_MS = 2000;

/**
 * A titled list of what a program lacks or does differently.
 *
 * @param {string} title
 * @param {(name: string) => string} label_of
 */
function remark_list(title, label_of) {
  const list = element('ul', {});
  const node = element('div', { hidden: true }, element('h3', { text: title }), list);
  return {
    node,
    /** @param {[string, string][]} remarks */
    update(remarks) {
      node.hidden = remarks.length === 0;
      list.replaceChildren(
        ...remarks.map(([setting, text]) =>
          element('li', {}, element('strong', { text: label_of(setting) }), ` ${text}`),
        ),
      );
    },
  };
}

/** Copy a text to the clipboard; an app served without TLS has only the old clipboard API. @param {HTMLElement} code */
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent ?? '');
    return say(COPIED);
  } catch {
    getSelection()?.selectAllChildren(code);
    return document.execCommand('copy') ? say(COPIED) : say('Marked: press Ctrl+C');
  }
}

/**
 * @param {Pick<Actions, 'snippets'>} actions
 * @param {(name: string) => string} label_of a sampler's label; other settings keep their names
 */
export function create_export(actions, label_of) {
  /** @type {Snippet[]} */
  let all = [];
  let chosen = 0;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  const button = element('button', {
    type: 'button',
    text: say('Export code'),
    'aria-haspopup': 'dialog',
    title: say('These settings as code for other programs'),
    onclick: open,
  });
  const tabs = element('div', { class: 'dv-tabs', role: 'tablist', 'aria-label': say('Program') });
  const code = element('code', { tabindex: 0 });
  const copy_button = element('button', { type: 'button', text: say('Copy'), onclick: on_copy });
  const told = element('span', { class: 'dv-muted', role: 'status' });
  const lacking = remark_list(say('Missing there'), label_of);
  const differs = remark_list(say('What differs there'), label_of);
  const panel = element(
    'div',
    { class: 'dv-code-panel', role: 'tabpanel', id: 'dv-snippet', hidden: true },
    element('pre', {}, code),
    element('div', { class: 'dv-copy-row' }, copy_button, told),
    lacking.node,
    differs.node,
  );
  const waiting = element('p', { class: 'dv-muted', role: 'status' });
  const dialog = element(
    'dialog',
    { class: 'dv-dialog', 'aria-label': say('Export code') },
    element(
      'div',
      { class: 'dv-dialog-body' },
      element(
        'div',
        { class: 'dv-dialog-head' },
        element('h2', { text: say('Export code') }),
        element('button', {
          type: 'button',
          class: 'dv-quiet',
          text: '×',
          'aria-label': say('Close'),
          onclick: () => dialog.close(),
        }),
      ),
      element('p', { class: 'dv-muted', text: say('Prompt and settings of this page, for other programs.') }),
      waiting,
      tabs,
      panel,
    ),
  );

  async function open() {
    all = [];
    show();
    set_text(waiting, say('Writing the code …'));
    dialog.showModal();
    const snippets = await actions.snippets();
    if (!dialog.open) return;
    all = snippets;
    chosen = Math.min(chosen, Math.max(0, all.length - 1));
    set_text(waiting, all.length ? '' : say('No code came back: the page says why. Close this and try again.'));
    show();
  }

  function show() {
    tabs.replaceChildren(
      ...all.map(({ target }, place) =>
        element('button', {
          type: 'button',
          role: 'tab',
          text: target,
          class: 'dv-quiet',
          'aria-controls': panel.id,
          'aria-selected': String(place === chosen),
          tabindex: place === chosen ? 0 : -1,
          onclick: () => choose(place),
        }),
      ),
    );
    const snippet = all[chosen];
    panel.hidden = !snippet;
    if (!snippet) return;
    set_attribute(panel, 'aria-label', snippet.target);
    set_text(code, snippet.code);
    set_text(told, '');
    lacking.update(snippet.lacking);
    differs.update(snippet.differs);
  }
  /** @param {number} place */
  function choose(place) {
    chosen = place;
    show();
    /** @type {HTMLElement} */ (tabs.children[chosen]).focus();
  }

  async function on_copy() {
    set_text(told, await copy(code));
    clearTimeout(timer);
    if (told.textContent === say(COPIED)) timer = setTimeout(() => set_text(told, ''), COPIED_MS);
  }

  /** @param {KeyboardEvent} event */
  function on_key(event) {
    if (event.key === 'Escape') {
      event.preventDefault();
      dialog.close(); // the browser returns the focus to the button
      return;
    }
    if (!(event.target instanceof Element) || event.target.getAttribute('role') !== 'tab') return;
    const to = { ArrowRight: chosen + 1, ArrowLeft: chosen - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to % all.length);
  }
  const stop = own_keys(dialog, on_key, () => dialog.open);
  // A press outside the dialog lands on its backdrop, which is the dialog itself.
  dialog.addEventListener('pointerdown', event => {
    if (event.target === dialog) dialog.close();
  });

  return {
    button,
    dialog,
    destroy() {
      stop();
      clearTimeout(timer);
    },
  };
}
