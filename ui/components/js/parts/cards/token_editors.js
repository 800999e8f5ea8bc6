// Lists of tokens on a card: biases for single tokens, words that are banned. A text box adds to them.

import { exact_field } from './fields.js';
import { element, set_attribute, set_text } from '../../lib/dom.js';
import { isolated, percent, shorten, tokens } from '../../words/format.js';
import { shape_of } from '../../view/chain.js';

const LONGEST_LABEL = 18;
const SPACE_COUNTS = 'A leading space counts.';
const LONGEST_TEXT = 199; // with a space in front, what the server splits at once
const WORD = /^[\p{L}\p{N}]/u;

/** Labels by id: those that came with the row, and those that were asked for here. */
function create_labels() {
  const asked = new Map();
  let row_labels = new Map();
  return {
    remember: found => found.forEach(({ id, label }) => asked.set(id, label)),
    update: state => {
      row_labels = state.row?.labels ?? row_labels;
    },
    of: id => asked.get(id) ?? row_labels.get(id) ?? `id ${id}`,
  };
}

/** A token as a chip: its label alone, the whole of it in the title. */
function write_token(target, label, id) {
  set_text(target, shorten(label, LONGEST_LABEL));
  set_attribute(target, 'title', `${shorten(label, 200)} (id ${id})`);
}

const is_same = (one, other) => one.join() === other.join();
const ids_of = found => found.map(({ id }) => id);

/**
 * The tokens of a text and, of a word, of the same after a space: inside a text it mostly comes as those.
 *
 * @returns {Promise<object[][]>} one way or two; none where there is no tokenizer
 */
async function ways_to_split(actions, text) {
  const texts = WORD.test(text) ? [text, ` ${text}`] : [text];
  const [own, spaced] = await Promise.all(texts.map(each => actions.tokenize(each)));
  if (!own.length) return [];
  return spaced?.length && !is_same(ids_of(own), ids_of(spaced)) ? [spaced, own] : [own];
}

/** Probability that a token comes next by the model alone; null where there are no scores. */
function next_prob(state, { raw_rank }) {
  const is_ranked = state?.row && raw_rank >= 1 && raw_rank <= state.row.possible;
  return is_ranked ? shape_of(state).raw.prob_at(raw_rank) : null;
}

/** Likelier choices first, by the token that would come next; without scores as they are. */
const likelier_first = (state, choices) =>
  choices
    .map(found => ({ found, prob: next_prob(state, found[0]) }))
    .sort((one, other) => (other.prob ?? 0) - (one.prob ?? 0));

let boxes_so_far = 0; // hints are found by id

/** The text box, and what is said about a text that stands for more than one thing; `take` gets the ways. */
function add_box(stage, button_text, actions, take) {
  const hint = element('p', {
    class: 'dv-add-hint dv-muted',
    id: `dv-add-hint-${boxes_so_far++}`,
    text: SPACE_COUNTS,
  });
  const input = element('input', {
    type: 'text',
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: LONGEST_TEXT,
    class: 'dv-add-text',
    'aria-label': `${button_text} to ${stage.label}`,
    'aria-describedby': hint.id,
    placeholder: button_text.toLowerCase(),
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
    const ways = await ways_to_split(actions, text);
    if (turn !== asked) return;
    if (!ways.length) return say('No token came back for this text.');
    const finished = take(ways, text);
    if (finished) input.value = '';
  };
  const form = element(
    'form',
    {
      class: 'dv-add',
      onsubmit: event => {
        event.preventDefault();
        submit();
      },
    },
    input,
    element('button', { type: 'submit', text: 'Add', 'aria-label': button_text }),
  );
  const choice = (content, choose) =>
    element(
      'button',
      {
        type: 'button',
        class: 'dv-chip-button',
        onclick: () => {
          say('');
          input.value = '';
          input.focus();
          choose();
        },
      },
      ...content,
    );
  return {
    node: element('div', { class: 'dv-adder' }, form, hint, said, choices),
    input,
    say,
    /**
     * Let a person choose one of several, each a token or a few in a row, or both of two.
     *
     * @param {string} sentence
     * @param {{found: object[], prob: number|null}[]} options
     * @param {(chosen: object[][]) => void} choose
     * @param {boolean} with_both
     */
    offer(sentence, options, choose, with_both) {
      say(sentence);
      const chips = options.map(({ found, prob }) => {
        const label = found.map(token => token.label).join('');
        const figures = [found.length > 1 && tokens(found.length), prob !== null && percent(prob)];
        return choice(
          [
            element('span', {
              class: 'dv-token',
              text: shorten(label, LONGEST_LABEL),
              title: shorten(label, 200),
            }),
            element('span', {
              class: 'dv-muted',
              text: figures
                .filter(Boolean)
                .map(each => ` ${each}`)
                .join(','),
            }),
          ],
          () => choose([found]),
        );
      });
      const both = with_both ? [choice(['Both'], () => choose(options.map(({ found }) => found)))] : [];
      choices.replaceChildren(...chips, ...both);
    },
  };
}

/** Why there is something to choose where a word is split in two ways. */
const two_ways_text = text => `“${isolated(text)}” is something else after a space; choose one, or both:`;

const remove_button = (label, onclick) =>
  element('button', {
    type: 'button',
    class: 'dv-remove',
    text: '×',
    'aria-label': `Remove ${isolated(label)}`,
    onclick,
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
  let latest = null;
  const write = changed => {
    pairs = changed.sort(([one], [other]) => one - other);
    set(pairs.length ? { bias: pairs } : null);
  };
  const put = (ids, bias) =>
    write([...pairs.filter(([own]) => !ids.includes(own)), ...ids.map(id => [id, bias])]);
  const box = add_box(stage, 'Add token', actions, (ways, text) => {
    labels.remember(ways.flat());
    const single = new Map(ways.flat().map(token => [token.id, [token]])); // each token, once
    if (single.size === 1) {
      put([...single.keys()], field.usual);
      return true;
    }
    const is_pair = ways.length === 2 && ways.every(way => way.length === 1);
    const numbers =
      ways.length === 2
        ? `${ways[1].length}, after a space ${tokens(ways[0].length)}`
        : tokens(ways[0].length);
    const sentence = is_pair ? two_ways_text(text) : `“${isolated(text)}” is ${numbers}; choose one:`;
    const options = is_pair
      ? likelier_first(latest, [...single.values()])
      : [...single.values()].map(found => ({ found, prob: next_prob(latest, found[0]) }));
    box.offer(sentence, options, chosen => put(ids_of(chosen.flat()), field.usual), is_pair);
    return false;
  });

  function make_row(id) {
    const label = labels.of(id);
    const token = element('span', { class: 'dv-token dv-list-token' });
    const setting = { ...field, name: stage.name, step: 0.5 };
    const exact = exact_field(setting, `Bias of ${isolated(label)}`, bias => put([id], bias));
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
      latest = state;
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
  let latest = null;
  let shown = '';
  const write = changed => {
    sequences = changed;
    set(changed.length ? { sequences } : null);
  };
  const add = words => {
    write([...sequences, ...words.map(ids_of)]);
    const long = words.find(word => word.length > 1);
    const name = long && long.map(token => token.label).join('');
    box.say(
      long ? `“${isolated(name)}” is ${tokens(long.length)}: the last is banned after the others.` : '',
    );
  };
  const box = add_box(stage, 'Add word', actions, (ways, text) => {
    labels.remember(ways.flat());
    const left = ways.filter(way => !sequences.some(each => is_same(each, ids_of(way))));
    if (!left.length) box.say(`“${isolated(text)}” is banned already.`);
    else if (ways.length === 1) add(left);
    else {
      const sentence =
        left.length === 2
          ? two_ways_text(text)
          : `“${isolated(text)}” is banned in one way already; this is the other:`;
      box.offer(sentence, likelier_first(latest, left), add, left.length === 2);
      return false;
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
    return element(
      'li',
      {},
      element('span', { class: 'dv-word' }, ...parts),
      remove_button(texts.join(''), event => {
        write(sequences.filter(each => !is_same(each, word)));
        refocus(event, box.input);
      }),
    );
  };
  return {
    node: element('div', {}, list, box.node),
    focus: () => box.input.focus(),
    update(value, state) {
      latest = state;
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
