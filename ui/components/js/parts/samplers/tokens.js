// Lists of tokens that a sampler acts on: biases of single tokens, banned words. A text box adds to them.

import { element, set_attribute, set_text } from '../../lib/dom.js';
import { exact_field } from '../../lib/fields.js';
import { isolated, percent, quoted, shorten, tokens } from '../../words/format.js';
import { say } from '../../words/say.js';

/** @import { Actions, Fields, FoundToken, Sampler, State, Value } from '../../types.js' */
/** @typedef {Pick<State, 'row' | 'view' | 'labels'>} Properties */
/** @typedef {{found: FoundToken[], prob: number|null}} Choice */

const LONGEST_LABEL = 18;
const LONGEST_TEXT = 199; // with a leading space, the longest text that the server splits at once
const WORD = /^[\p{L}\p{N}]/u;

/** Labels by id: those that came with a message, and those requested here. */
function create_labels() {
  /** @type {Map<number, string>} */
  const asked = new Map();
  /** @type {Map<number, string>} */
  let known = new Map();
  return {
    /** @param {FoundToken[]} found */
    remember: found => {
      for (const { id, label } of found) asked.set(id, label);
    },
    /** @param {Properties} state */
    update: ({ labels }) => {
      known = labels;
    },
    /** @param {number} id */
    of: id => asked.get(id) ?? known.get(id) ?? `id ${id}`,
  };
}

/**
 * A token as a chip: its label alone, with all facts in the title.
 *
 * @param {HTMLElement} target
 * @param {string} label
 * @param {number} id
 */
function write_token(target, label, id) {
  set_text(target, shorten(label, LONGEST_LABEL));
  set_attribute(target, 'title', `${shorten(label, 200)} (id ${id})`);
}

/** @param {number[]} one @param {number[]} other */
const is_same = (one, other) => one.join() === other.join();
/** @param {FoundToken[]} found */
const ids_of = found => found.map(({ id }) => id);

/**
 * The tokens of a text and, for a word, also those of the word after a space: inside a text it mostly comes in that
 * form. The result has one or two ways, or none without a tokenizer.
 * @param {Pick<Actions, 'tokenize'>} actions
 * @param {string} text
 */
async function ways_to_split(actions, text) {
  const texts = WORD.test(text) ? [text, ` ${text}`] : [text];
  const [own, spaced] = await Promise.all(texts.map(each => actions.tokenize(each)));
  if (!own.length) return [];
  return spaced?.length && !is_same(ids_of(own), ids_of(spaced)) ? [spaced, own] : [own];
}

/**
 * Probability that a token comes next by the model alone; null without scores.
 *
 * @param {Properties|null} state
 * @param {FoundToken} token
 */
function next_prob(state, { logit }) {
  const row = state?.view?.rows.find(each => Number.isFinite(each.logit));
  return row && Number.isFinite(logit) ? row.model_prob * Math.exp(Number(logit) - row.logit) : null;
}

/**
 * The choices with likelier ones first, by the next token; unchanged without scores.
 *
 * @param {Properties|null} state
 * @param {FoundToken[][]} choices
 * @returns {Choice[]}
 */
const likelier_first = (state, choices) =>
  choices
    .map(found => ({ found, prob: next_prob(state, found[0]) }))
    .sort((one, other) => (other.prob ?? 0) - (one.prob ?? 0));

let boxes_so_far = 0; // hints are found by id

/**
 * The text box, and the message about an ambiguous text.
 * @param {Sampler} sampler
 * @param {string} button_text
 * @param {Pick<Actions, 'tokenize'>} actions
 * @param {(ways: FoundToken[][], text: string) => boolean} take receives the ways; returns whether the text is handled
 */
function add_box(sampler, button_text, actions, take) {
  const hint = element('p', {
    class: 'dv-muted',
    id: `dv-add-hint-${boxes_so_far++}`,
    text: say('A leading space counts.'),
  });
  const input = element('input', {
    type: 'text',
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: LONGEST_TEXT,
    'aria-label': say('{action} to {sampler}', { action: button_text, sampler: sampler.label }),
    'aria-describedby': hint.id,
    placeholder: button_text.toLowerCase(),
  });
  const said = element('p', { class: 'dv-muted', role: 'status' });
  const choices = element('div', { class: 'dv-choices' });
  let asked = 0;
  /** @param {string} text */
  function tell(text) {
    set_text(said, text);
    choices.replaceChildren();
  }
  async function submit() {
    const text = input.value;
    if (!text) return tell(say('Type a word first.'));
    const turn = ++asked;
    tell('');
    const ways = await ways_to_split(actions, text);
    if (turn !== asked) return;
    if (!ways.length) return tell(say('No token came back for this text.'));
    if (take(ways, text)) input.value = '';
  }
  const form = element(
    'form',
    {
      class: 'dv-add',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        submit();
      },
    },
    input,
    element('button', { type: 'submit', text: say('Add'), 'aria-label': button_text }),
  );
  /** @param {Node[]} content @param {() => void} choose */
  const chip = (content, choose) => {
    const onclick = () => {
      tell('');
      input.value = '';
      input.focus();
      choose();
    };
    return element('button', { type: 'button', onclick }, ...content);
  };
  return {
    node: element('div', { class: 'dv-adder' }, form, hint, said, choices),
    input,
    tell,
    /**
     * Let a person choose one of several options, each one or more tokens in a row, or both of two.
     * @param {string} sentence
     * @param {Choice[]} options
     * @param {(chosen: FoundToken[][]) => void} choose
     * @param {boolean} with_both
     */
    offer(sentence, options, choose, with_both) {
      tell(sentence);
      const chips = options.map(({ found, prob }) => {
        const label = found.map(token => token.label).join('');
        const figures = [found.length > 1 ? tokens(found.length) : '', prob === null ? '' : percent(prob)].filter(
          Boolean,
        );
        const name = element('span', {
          class: 'dv-token',
          text: shorten(label, LONGEST_LABEL),
          title: shorten(label, 200),
        });
        return chip(
          [name, element('span', { class: 'dv-muted', text: figures.map(each => ` ${each}`).join(',') })],
          () => choose([found]),
        );
      });
      const both = with_both ? [chip([new Text(say('Both'))], () => choose(options.map(({ found }) => found)))] : [];
      choices.replaceChildren(...chips, ...both);
    },
  };
}

/** The reason for the choice if a word is split in two ways. @param {string} text */
const two_ways_text = text =>
  say('{text} is a different token after a space. Choose one, or both:', { text: quoted(text, 16) });

/** @param {string} label @param {(event: MouseEvent) => void} onclick */
const remove_button = (label, onclick) =>
  element('button', {
    type: 'button',
    class: 'dv-quiet',
    text: '×',
    'aria-label': say('Remove {name}', { name: isolated(label) }),
    onclick,
  });

/**
 * Move the keyboard's focus from a removed row; a finger needs no focus and no on-screen keyboard.
 *
 * @param {MouseEvent} event
 * @param {HTMLElement} input
 */
function refocus(event, input) {
  if (event.detail === 0) input.focus();
}

/**
 * Rows of a token and its bias, in the order of their ids, as the engine keeps them.
 *
 * @param {Sampler} sampler
 * @param {Actions} actions
 * @param {(value: Value) => void} set
 */
function bias_editor(sampler, actions, set) {
  const [number] = sampler.numbers;
  const labels = create_labels();
  /** @type {Map<number, ReturnType<typeof make_row>>} */
  const rows = new Map();
  const list = element('ul', { class: 'dv-token-list', 'aria-label': say('Biased tokens') });
  /** @type {[number, number][]} */
  let pairs = [];
  /** @type {Properties|null} */
  let latest = null;
  /** @param {[number, number][]} changed */
  function write(changed) {
    pairs = changed.sort(([one], [other]) => one - other);
    set(pairs.length ? { bias: pairs } : null);
  }
  /** @param {number[]} ids @param {number} bias */
  const put = (ids, bias) =>
    write([
      ...pairs.filter(([own]) => !ids.includes(own)),
      ...ids.map(id => /** @type {[number, number]} */ ([id, bias])),
    ]);
  const box = add_box(sampler, say('Add token'), actions, (ways, text) => {
    labels.remember(ways.flat());
    const single = new Map(ways.flat().map(token => [token.id, [token]])); // each token, once
    if (single.size === 1) {
      put([...single.keys()], number.usual);
      return true;
    }
    const is_pair = ways.length === 2 && ways.every(way => way.length === 1);
    const values = { text: quoted(text, 16), count: ways.at(-1)?.length ?? 0, tokens: tokens(ways[0].length) };
    const several =
      ways.length === 2
        ? say('{text} is {count}, after a space {tokens}. Choose one:', values)
        : say('{text} is {tokens}. Choose one:', { text: values.text, tokens: values.tokens });
    const sentence = is_pair ? two_ways_text(text) : several;
    const options = is_pair
      ? likelier_first(latest, [...single.values()])
      : [...single.values()].map(found => ({ found, prob: next_prob(latest, found[0]) }));
    box.offer(sentence, options, chosen => put(ids_of(chosen.flat()), number.usual), is_pair);
    return false;
  });

  /** @param {number} id */
  function make_row(id) {
    const label = labels.of(id);
    const token = element('span', { class: 'dv-token' });
    const exact = exact_field(
      { ...number, name: sampler.label, step: 0.5 },
      say('Bias of {token}', { token: isolated(label) }),
      {
        check: value => actions.check(sampler.name, number.name, value),
        apply: bias => put([id], bias),
      },
    );
    const remove = remove_button(label, event => {
      write(pairs.filter(([own]) => own !== id));
      refocus(event, box.input);
    });
    return { node: element('li', {}, token, exact.input, remove, exact.alert), token, exact };
  }

  return {
    node: element('div', {}, list, box.node),
    focus: () => box.input.focus(),
    /** @param {Value} value @param {Properties} state */
    update(value, state) {
      latest = state;
      labels.update(state);
      pairs = /** @type {[number, number][]} */ (/** @type {Fields|null} */ (value)?.bias ?? []);
      for (const [id, { node }] of rows) {
        if (pairs.some(([own]) => own === id)) continue;
        node.remove();
        rows.delete(id);
      }
      for (const [place, [id, bias]] of pairs.entries()) {
        const row = rows.get(id) ?? make_row(id);
        rows.set(id, row);
        write_token(row.token, labels.of(id), id);
        row.exact.update(bias);
        if (list.children[place] !== row.node) list.insertBefore(row.node, list.children[place] ?? null);
      }
    },
  };
}

/**
 * Banned words, each as its tokens.
 *
 * @param {Sampler} sampler
 * @param {Actions} actions
 * @param {(value: Value) => void} set
 */
function word_editor(sampler, actions, set) {
  const labels = create_labels();
  const list = element('ul', { class: 'dv-token-list', 'aria-label': sampler.label });
  /** @type {number[][]} */
  let sequences = [];
  /** @type {Properties|null} */
  let latest = null;
  let shown = '';
  /** @param {number[][]} changed */
  function write(changed) {
    sequences = changed;
    set(changed.length ? { sequences } : null);
  }
  /** @param {FoundToken[][]} words */
  function add(words) {
    write([...sequences, ...words.map(ids_of)]);
    const long = words.find(word => word.length > 1);
    const name = long?.map(token => token.label).join('') ?? '';
    box.tell(
      long
        ? say('{text} is {tokens}: the last is banned after the others.', {
            text: quoted(name, 16),
            tokens: tokens(long.length),
          })
        : '',
    );
  }
  const box = add_box(sampler, say('Add word'), actions, (ways, text) => {
    labels.remember(ways.flat());
    const left = ways.filter(way => !sequences.some(each => is_same(each, ids_of(way))));
    if (!left.length) box.tell(say('{text} is banned already.', { text: quoted(text, 16) }));
    else if (ways.length === 1) add(left);
    else {
      const sentence =
        left.length === 2
          ? two_ways_text(text)
          : say('{text} is banned in one way already. This is the other:', { text: quoted(text, 16) });
      box.offer(sentence, likelier_first(latest, left), add, left.length === 2);
      return false;
    }
    return true;
  });
  /** @param {number[]} word */
  function word_chip(word) {
    const texts = word.map(id => labels.of(id));
    const parts = word.map((id, place) => {
      const token = element('span', { class: 'dv-token' });
      write_token(token, texts[place], id);
      return token;
    });
    const remove = remove_button(texts.join(''), event => {
      write(sequences.filter(each => !is_same(each, word)));
      refocus(event, box.input);
    });
    return element('li', {}, element('span', {}, ...parts), remove);
  }
  return {
    node: element('div', {}, list, box.node),
    focus: () => box.input.focus(),
    /** @param {Value} value @param {Properties} state */
    update(value, state) {
      latest = state;
      labels.update(state);
      sequences = /** @type {number[][]} */ (/** @type {Fields|null} */ (value)?.sequences ?? []);
      const wanted = JSON.stringify(sequences.map(word => word.map(id => labels.of(id))));
      if (wanted === shown) return;
      shown = wanted;
      list.replaceChildren(...sequences.map(word_chip));
    },
  };
}

/**
 * The editor of a sampler whose value is a list of tokens.
 * @param {Sampler} sampler
 * @param {Actions} actions
 * @param {(value: Value) => void} set
 */
export const token_editor = (sampler, actions, set) =>
  (sampler.value === 'biases' ? bias_editor : word_editor)(sampler, actions, set);
