// Lists of tokens on a card: biases for single tokens, words that are banned. A text box adds to them.

import { exact_field } from './card_fields.js';
import { element, set_attribute, set_text } from './dom.js';
import { isolated, shorten, tokens } from './format.js';

const LONGEST_LABEL = 18;
const SPACE_COUNTS = 'a leading space counts';

/** Labels by id: those that came with the row, and those that were asked for here. */
function create_labels() {
  const asked = new Map();
  let row_labels = new Map();
  return {
    remember: found => found.forEach(({ id, label }) => asked.set(id, label)),
    update: state => { row_labels = state.row?.labels ?? row_labels; },
    of: id => asked.get(id) ?? row_labels.get(id) ?? `id ${id}`,
  };
}

/** A token as a chip: its label alone, the whole of it in the title. */
function write_token(target, label, id) {
  set_text(target, shorten(label, LONGEST_LABEL));
  set_attribute(target, 'title', `${shorten(label, 200)} (id ${id})`);
}

/** The text box, and what is said about a text that is no single token; `take` gets the tokens found. */
function add_box(stage, button_text, actions, take) {
  const input = element('input', {
    type: 'text', autocomplete: 'off', spellcheck: 'false', maxlength: 200, class: 'dv-add-text',
    'aria-label': `${button_text} to ${stage.label}`,
    placeholder: `${button_text.toLowerCase()}, ${SPACE_COUNTS}`,
  });
  const said = element('p', { class: 'dv-add-said dv-muted', role: 'status' });
  const choices = element('div', { class: 'dv-choices' });
  let asked = 0;
  const say = text => {
    set_text(said, text);
    choices.replaceChildren();
  };
  const submit = async () => {
    if (!input.value) return say('Type a word first.');
    const text = input.value;
    const turn = ++asked;
    say('');
    const found = await actions.tokenize(text);
    if (turn !== asked) return;
    if (!found.length) return say('No token came back for this text.');
    const finished = take(found, text);
    if (finished) input.value = '';
  };
  const form = element('form', {
    class: 'dv-add',
    onsubmit: event => {
      event.preventDefault();
      submit();
    },
  }, input, element('button', { type: 'submit', text: 'Add', 'aria-label': button_text }));
  return {
    node: element('div', { class: 'dv-adder' }, form, said, choices),
    input,
    say,
    /** Let a person choose one of several tokens. */
    offer(text, found, choose) {
      say(`“${isolated(text)}” is ${tokens(found.length)}; choose one:`);
      choices.replaceChildren(...found.map(token => element('button', {
        type: 'button', class: 'dv-token dv-chip-button', text: shorten(token.label, LONGEST_LABEL),
        onclick: () => {
          choose(token);
          say('');
          input.value = '';
          input.focus();
        },
      })));
    },
  };
}

const remove_button = (label, onclick) => element('button', {
  type: 'button', class: 'dv-remove', text: '×', 'aria-label': `Remove ${isolated(label)}`, onclick,
});

/** The focus that the keyboard had on a row which goes; a finger needs none, nor a keyboard on screen. */
function refocus(event, input) {
  if (event.detail === 0) input.focus();
}

/** Rows of a token and its bias, in the order of their ids, as the engine keeps them. */
function bias_editor(stage, actions, set) {
  const [field] = stage.fields;
  const labels = create_labels();
  const rows = new Map();
  const list = element('ul', { class: 'dv-token-list', 'aria-label': 'Biased tokens' });
  let pairs = [];
  const write = changed => {
    pairs = changed.sort(([one], [other]) => one - other);
    set(pairs.length ? { bias: pairs } : null);
  };
  const put = (id, bias) => write([...pairs.filter(([own]) => own !== id), [id, bias]]);
  const box = add_box(stage, 'Add token', actions, (found, text) => {
    labels.remember(found);
    if (found.length > 1) {
      box.offer(text, found, ({ id }) => put(id, field.usual));
      return false;
    }
    put(found[0].id, field.usual);
    return true;
  });

  function make_row(id) {
    const label = labels.of(id);
    const token = element('span', { class: 'dv-token dv-list-token' });
    const setting = { ...field, name: stage.name, step: 0.5 };
    const exact = exact_field(setting, `Bias of ${isolated(label)}`, bias => put(id, bias));
    const remove = remove_button(label, event => {
      write(pairs.filter(([own]) => own !== id));
      refocus(event, box.input);
    });
    const node = element('li', {}, token, exact.input, remove, exact.alert);
    return { node, token, exact };
  }

  return {
    node: element('div', {}, list, box.node),
    focus: () => box.input.focus(),
    update(value, state) {
      labels.update(state);
      pairs = value?.bias ?? [];
      for (const [id, { node }] of rows) {
        if (pairs.some(([own]) => own === id)) continue;
        node.remove();
        rows.delete(id);
      }
      for (const [place, [id, bias]] of pairs.entries()) {
        if (!rows.has(id)) rows.set(id, make_row(id));
        const { node, token, exact } = rows.get(id);
        write_token(token, labels.of(id), id);
        exact.update(bias);
        if (list.children[place] !== node) list.insertBefore(node, list.children[place] ?? null);
      }
    },
  };
}

/** Banned words, each as its tokens. */
function word_editor(stage, actions, set) {
  const labels = create_labels();
  const list = element('ul', { class: 'dv-word-list', 'aria-label': 'Banned words' });
  let sequences = [];
  let shown = '';
  const write = changed => {
    sequences = changed;
    set(changed.length ? { sequences } : null);
  };
  const is_same = (one, other) => one.join() === other.join();
  const box = add_box(stage, 'Add word', actions, (found, text) => {
    labels.remember(found);
    const word = found.map(({ id }) => id);
    if (sequences.some(each => is_same(each, word))) box.say(`“${isolated(text)}” is banned already.`);
    else {
      write([...sequences, word]);
      const many = `“${isolated(text)}” is ${tokens(word.length)}: the last is banned after the others.`;
      box.say(word.length > 1 ? many : '');
    }
    return true;
  });
  const word_chip = word => {
    const texts = word.map(id => labels.of(id));
    const parts = word.map((id, place) => {
      const token = element('span', { class: 'dv-token dv-list-token' });
      write_token(token, texts[place], id);
      return token;
    });
    return element('li', {}, ...parts, remove_button(texts.join(''), event => {
      write(sequences.filter(each => !is_same(each, word)));
      refocus(event, box.input);
    }));
  };
  return {
    node: element('div', {}, list, box.node),
    focus: () => box.input.focus(),
    update(value, state) {
      labels.update(state);
      sequences = value?.sequences ?? [];
      const wanted = JSON.stringify(sequences.map(word => word.map(id => labels.of(id))));
      if (wanted === shown) return;
      shown = wanted;
      list.replaceChildren(...sequences.map(word_chip));
    },
  };
}

/**
 * The editor of a stage whose value is a list of tokens.
 *
 * @param {object} stage as in the catalogue, with the editor `biases` or `words`
 * @param {object} actions
 * @param {(value: object|null) => void} set
 */
export const token_editor = (stage, actions, set) =>
  (stage.editor === 'biases' ? bias_editor : word_editor)(stage, actions, set);
