// "Take it away": the current settings as code for other engines, in a dialog with a tab for each.

import { element, set_attribute, set_text } from '../../lib/dom.js';
import { stage_label } from '../../words/format.js';
import { own_keys } from '../../lib/own_keys.js';

const COPIED = 'Copied';
const COPIED_MS = 2000;
const NOTHING = 'No code came back: the page says why. Close this and try again.';

/** A titled list of remarks; hidden while there is none. */
function remark_list(title) {
  const list = element('ul', {});
  const node = element('div', { class: 'dv-remarks', hidden: true }, element('h3', { text: title }), list);
  return {
    node,
    update(remarks) {
      node.hidden = remarks.length === 0;
      list.replaceChildren(
        ...remarks.map(([setting, text]) =>
          element('li', {}, element('strong', { text: stage_label(setting) }), ` ${text}`),
        ),
      );
    },
  };
}

/** Put a text on the clipboard; an app served without TLS has no clipboard but the old one. */
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return COPIED;
  } catch {
    getSelection().selectAllChildren(code);
    return document.execCommand('copy') ? COPIED : 'Marked: press Ctrl+C';
  }
}

/**
 * @param {object} actions
 * @returns {{button: HTMLElement, dialog: HTMLElement, destroy(): void}}
 */
export function create_take_away(actions) {
  let all = [];
  let chosen = 0;
  let timer = 0;
  const button = element('button', {
    type: 'button',
    class: 'dv-take-away',
    text: 'Take it away',
    'aria-haspopup': 'dialog',
    title: 'These settings as code for other engines',
    onclick: open,
  });
  const tabs = element('div', { class: 'dv-tabs', role: 'tablist', 'aria-label': 'Target' });
  const code = element('code', { tabindex: 0 });
  const copy_button = element('button', { type: 'button', class: 'dv-copy', text: 'Copy', onclick: on_copy });
  const told = element('span', { class: 'dv-muted', role: 'status' });
  const lacking = remark_list('Not there');
  const differs = remark_list('Different there');
  const panel = element(
    'div',
    { class: 'dv-tab-panel', role: 'tabpanel', id: 'dv-snippet', hidden: true },
    element('div', { class: 'dv-code' }, element('pre', {}, code)),
    element('div', { class: 'dv-copy-row' }, copy_button, told),
    lacking.node,
    differs.node,
  );
  const waiting = element('p', { class: 'dv-muted', role: 'status' });
  const close_button = element('button', {
    type: 'button',
    class: 'dv-remove',
    text: '×',
    'aria-label': 'Close',
    onclick: close,
  });
  const dialog = element(
    'dialog',
    { class: 'dv-dialog', 'aria-label': 'Take it away' },
    element(
      'div',
      { class: 'dv-dialog-body' },
      element('div', { class: 'dv-dialog-head' }, element('h2', { text: 'Take it away' }), close_button),
      element('p', { class: 'dv-muted', text: 'Prompt and settings of this page, for other engines.' }),
      waiting,
      tabs,
      panel,
    ),
  );

  async function open() {
    all = [];
    show();
    set_text(waiting, 'Writing the code …');
    dialog.showModal();
    const snippets = await actions.snippets();
    if (!dialog.open) return;
    all = snippets;
    chosen = Math.min(chosen, Math.max(0, all.length - 1));
    set_text(waiting, all.length ? '' : NOTHING);
    show();
  }
  function close() {
    dialog.close(); // the browser gives the focus back to the button
  }

  function show() {
    tabs.replaceChildren(
      ...all.map(({ target }, place) =>
        element('button', {
          type: 'button',
          role: 'tab',
          text: target,
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
    set_attribute(code, 'data-language', snippet.language);
    set_text(code, snippet.code);
    set_text(told, '');
    lacking.update(snippet.lacking);
    differs.update(snippet.differs);
  }
  function choose(place) {
    chosen = place;
    show();
    tabs.children[chosen].focus();
  }

  async function on_copy() {
    set_text(told, await copy(code));
    clearTimeout(timer);
    if (told.textContent === COPIED) timer = setTimeout(() => set_text(told, ''), COPIED_MS);
  }

  function on_key(event) {
    if (event.key === 'Escape') {
      event.preventDefault();
      close();
      return;
    }
    if (event.target.getAttribute('role') !== 'tab') return;
    const count = all.length;
    const to = { ArrowRight: chosen + 1, ArrowLeft: chosen - 1 + count, Home: 0, End: count - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to % count);
  }
  const stop = own_keys(dialog, on_key, () => dialog.open);
  // A press beside the dialog lands on its backdrop, which is the dialog itself.
  dialog.addEventListener('pointerdown', event => {
    if (event.target === dialog) close();
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
