// The menu `Settings`: the decoding method, the end of a text, the look of the page, downloads, keys.

import { element, set_text } from '../lib/dom.js';
import { exact_field } from '../lib/fields.js';
import { KEYS } from '../lib/keys.js';
import { create_menu } from '../lib/menu.js';
import { marked, say } from '../words/say.js';

/** @import { Actions, Colouring, State } from '../types.js' */
/**
 * @typedef {Pick<State, 'draft' | 'limits' | 'manual' | 'keys' | 'stage' | 'hiding' | 'row_count' | 'columns' | 'colouring' | 'model'
 *   | 'strategy' | 'read_only' | 'negative_tokens'>} Properties
 */

const ROW_COUNTS = [0, 8, 12, 20, 30, 50, 100, 200]; // 0: as many as fit
const MOST_TOKENS = 10_000; // the server checks larger values

/** @type {[string, string][]} */
const COLOURINGS = [
  ['model_probability', marked('model’s probability')],
  ['probability', marked('probability after settings')],
  ['model_entropy', marked('model’s uncertainty')],
  ['entropy', marked('uncertainty after temperature')],
];
/** @type {[string, string][]} */
const COLUMNS = [
  ['id', marked('token id')],
  ['prob', marked('after score changes')],
  ['cumulative', marked('cumulative')],
];

/**
 * @param {HTMLElement} root
 * @param {Actions} actions
 */
export function create(root, actions) {
  // --- the method ---
  const strategy = choice(say('Strategy'), [
    ['sampling', say('Sampling')],
    ['search', say('Contrastive search')],
  ]);
  strategy.input.addEventListener('change', () => actions.draft({ is_search: strategy.input.value === 'search' }));
  const guided = check(
    say('Guidance'),
    on => actions.draft({ negative_prompt: on ? '' : null }),
    say('Lead the text away from another prompt'),
  );
  const negative = element('textarea', {
    'aria-label': say('Negative prompt'),
    rows: 2,
    spellcheck: 'false',
    placeholder: say('Prompt to lead away from'),
  });
  negative.addEventListener('input', () => actions.draft({ negative_prompt: negative.value }));
  const method_note = element('p', { class: 'dv-muted' });

  // --- the end of a text ---
  const range = { name: say('Max tokens'), low: 1, high: MOST_TOKENS, step: 1, whole: true };
  const most = exact_field(range, range.name, {
    check: value => actions.check('max_tokens', '', value),
    apply: value => actions.limit({ max_tokens: value }),
  });
  const thought = { name: say('Thinking budget'), low: 0, high: MOST_TOKENS, step: 1, whole: true, words: { 0: '–' } };
  const budget = exact_field(thought, thought.name, {
    check: value => actions.check('thinking_budget', '', value),
    apply: value => actions.limit({ thinking_budget: value || null }),
  });
  const budget_title = say('Tokens between <think> and </think>; then the end is forced. 0: no limit');
  const budget_node = element('label', { class: 'dv-whole', title: budget_title }, thought.name, budget.input);
  const stops = element('textarea', {
    rows: 2,
    'aria-label': say('Stop strings'),
    placeholder: say('one per line'),
  });
  stops.addEventListener('change', () => actions.limit({ stop_strings: stops.value.split('\n').filter(Boolean) }));

  // --- the look of the page ---
  const stage = check(
    say('Stage view'),
    on => actions.stage(on),
    say('Text and candidates alone, readable from the back of a room'),
  );
  const hiding = check(
    say('Hide and reveal'),
    on => actions.hide(on),
    say('Cover the candidates of each step until they are revealed'),
  );
  const manual = check(
    say('Manual mode'),
    on => actions.toggle('manual', on),
    say('Each token is proposed and waits for Enter or another choice'),
  );
  const keys = check(
    say('Key shortcuts'),
    on => actions.show({ keys: on }),
    say('Switch them off if they clash with other software'),
  );
  const rows = choice(
    say('Rows of the table'),
    ROW_COUNTS.map(value => [String(value), value ? String(value) : say('as many as fit')]),
  );
  rows.input.addEventListener('change', () => actions.show({ row_count: Number(rows.input.value) }));
  const colouring = choice(
    say('Colour of tokens'),
    COLOURINGS.map(([value, text]) => [value, say(text)]),
  );
  colouring.input.addEventListener('change', () =>
    actions.show({ colouring: /** @type {Colouring} */ (colouring.input.value) }),
  );
  const columns = COLUMNS.map(([name, text]) => ({
    name,
    ...check(say('Column: {name}', { name: say(text) }), on => actions.toggle_column(name, on)),
  }));

  const trace_file = element('input', { type: 'file', accept: '.json,application/json', hidden: true });
  trace_file.addEventListener('change', () => {
    const [file] = trace_file.files ?? [];
    if (!file) return;
    menu.close(); // the page shows the progress
    actions.open_trace(file);
    trace_file.value = ''; // lets the same file be chosen again
  });

  /**
   * @param {string} text
   * @param {() => void} run
   * @param {string} title
   */
  const button = (text, run, title) => element('button', { type: 'button', text, title, onclick: run });
  const begin_tour = () => {
    menu.close();
    actions.tour('begin');
  };
  const help = element('dl', { class: 'dv-keys' });
  for (const [key, what] of KEYS) {
    help.append(
      element('dt', {}, element('kbd', { text: key.replace('Arrow', '') })),
      element('dd', { text: say(what) }),
    );
  }
  /**
   * @param {string} title
   * @param {...Node} contents
   */
  const section = (title, ...contents) => element('section', {}, element('h3', { text: title }), ...contents);
  const tour = button(say('Tour'), begin_tour, say('Four stops from the prompt to a first drawn token'));
  const menu = create_menu(
    say('Settings'),
    section(say('How the next token is found'), strategy.node, guided.node, negative, method_note),
    section(
      say('When to stop'),
      element('label', { class: 'dv-whole' }, range.name, most.input),
      most.alert,
      element('label', {}, say('Stop strings'), stops),
      budget_node,
      budget.alert,
      manual.node,
    ),
    section(say('View'), stage.node, hiding.node, rows.node, colouring.node, ...columns.map(({ node }) => node)),
    section(
      say('Trace: every step with all its figures'),
      button(
        say('Save trace (JSON)'),
        () => actions.save_trace(),
        say('Download this text, to inspect or to regenerate'),
      ),
      button(
        say('Open a trace (JSON)'),
        () => trace_file.click(),
        say('Its text is generated again here, and every figure is compared with the file'),
      ),
      trace_file,
    ),
    section(say('Help'), tour),
    section(say('Keyboard'), keys.node, help),
  );
  menu.node.classList.add('dv-settings');
  root.append(menu.node);

  return {
    destroy: menu.destroy,
    /** @param {Properties} state */
    update(state) {
      const { draft } = state;
      strategy.set(draft.is_search ? 'search' : 'sampling');
      const has_guidance = draft.negative_prompt !== null && !draft.is_search;
      show(guided.node, !draft.is_search);
      guided.input.checked = has_guidance;
      show(negative, has_guidance);
      if (negative.value !== (draft.negative_prompt ?? '')) negative.value = draft.negative_prompt ?? '';
      set_text(method_note, method_text(state, has_guidance));
      most.update(state.limits.max_tokens);
      budget.update(state.limits.thinking_budget ?? 0);
      show(budget_node, Boolean(state.model?.has_chat_template));
      if (document.activeElement !== stops) stops.value = state.limits.stop_strings.join('\n');
      stage.input.checked = state.stage;
      hiding.input.checked = state.hiding;
      manual.input.checked = state.manual;
      manual.input.disabled = tour.disabled = state.strategy !== null || Boolean(state.read_only);
      keys.input.checked = state.keys;
      rows.set(String(state.row_count));
      colouring.set(state.colouring);
      for (const { name, input } of columns) input.checked = state.columns.includes(name);
    },
  };
}

/**
 * @param {Properties} state
 * @param {boolean} has_guidance
 */
function method_text({ draft, strategy, negative_tokens }, has_guidance) {
  if (draft.is_search) return strategy ? '' : say('Press Start to begin.');
  if (!has_guidance || negative_tokens) return '';
  return say('Guidance runs the model on both prompts: two passes per step, two caches. Press Start to begin.');
}

/**
 * @param {HTMLElement} node
 * @param {boolean} is_shown
 */
const show = (node, is_shown) => node.classList.toggle('dv-hidden', !is_shown);

/**
 * @param {string} label
 * @param {[string, string][]} options
 */
function choice(label, options) {
  const input = element(
    'select',
    { 'aria-label': label },
    ...options.map(([value, text]) => element('option', { value, text })),
  );
  return {
    input,
    node: element('label', {}, label, input),
    /** @param {string} value */
    set(value) {
      if (input.value !== value) input.value = value;
    },
  };
}

/**
 * @param {string} text
 * @param {(on: boolean) => void} turn
 * @param {string} [title]
 */
function check(text, turn, title = '') {
  const input = element('input', { type: 'checkbox' });
  input.addEventListener('change', () => turn(input.checked));
  return { input, node: element('label', { class: 'dv-check', title }, input, text) };
}
