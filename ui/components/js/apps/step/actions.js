// The actions available to a person on the step page. Parts call these and change nothing themselves.

import { chain_of } from '../../kernel/chain.js';
import { element } from '../../lib/dom.js';
import { set_stage } from '../../lib/stage.js';
import { read_packed_trace } from '../../lib/trace_file.js';
import { wants_reply } from '../../parts/chat.js';
import { can_reroll } from '../../parts/transport.js';
import { count, isolated } from '../../words/format.js';
import { say, with_figures } from '../../words/say.js';
import { tour_after, tour_stop } from '../../words/tour.js';
import { is_drafted, place_of, remember_preferences, told_settings } from './state.js';

/** @import { Actions, FoundToken, Linked, State, TourEvent } from '../../types.js' */
/** @import { Player } from './play.js' */
/** @import { Screen } from './screen.js' */

const LARGEST_SEED = Number.MAX_SAFE_INTEGER; // above it, whole numbers are no longer exact in a browser
const LONGEST_TRACE = 350_000; // characters, packed: one message holds them with the longest settings
const MOST_PRESSES = 64; // of Step in one event
const URL_MS = 60_000; // time for a download to begin

/**
 * @param {object} page
 * @param {HTMLElement} page.root
 * @param {State} page.state
 * @param {any} page.link see wire/link.js
 * @param {Screen} page.screen
 * @param {Player} page.player
 * @param {any} page.walk
 * @param {any} page.settled see wire/settled.js
 * @param {{cancelling: () => void}} page.busy
 * @param {() => void} page.want_whole_row
 * @returns {Actions}
 */
export function create_actions({ root, state, link, screen, player, walk, settled, busy, want_whole_row }) {
  /** @type {number|null} */
  let wanted_index = null;
  /** @type {Promise<any>|null} Start was pressed, and its text has not arrived */
  let begun = null;
  /**
   * @type {{name: string, prompt: string, samplers: string}|null} the example whose samplers are in force, if it
   *   changed them
   */
  let set_by = null;
  /** @type {(Pick<Linked, 'settings' | 'steps' | 'forced'> & {draft: string})|null} a link that Start has yet to repeat */
  let linked = null;
  const samplers_now = () => JSON.stringify({ ...state.settings, seed: 0 });

  /**
   * Move to another place in the text. This first ends Play and drops waiting clicks.
   *
   * @param {string} kind
   * @param {object} [fields]
   */
  function move(kind, fields) {
    player.stop();
    state.point = null;
    if (kind === 'back' || kind === 'rewind') state.revealed = ''; // the token there is guessed again
    screen.redraw('step');
    return link.post(kind, fields);
  }

  /**
   * Resolve once a typed prompt has begun. A person who types a prompt and continues means that prompt. If it is
   * refused, the old text stays.
   */
  async function has_begun() {
    await begun;
    if (!is_drafted(state)) return true; // typed text may not be drawn yet
    const message = await (wants_reply(state) ? actions.reply() : actions.start());
    return Boolean(message) && !state.error;
  }

  /**
   * Begin a text from the drafted prompt.
   *
   * @param {'start' | 'reply'} kind reply: as the next turn of the conversation on screen
   */
  function begin(kind) {
    player.stop();
    if (kind === 'start') tell_of_example();
    state.example = '';
    const { prompt, chat, before, negative_prompt, is_search } = state.draft;
    const guided = negative_prompt !== null && !is_search;
    state.starting = true;
    const posted = link
      .post(kind, { prompt, chat, before, guided, negative_prompt: guided ? negative_prompt : '' })
      .finally(() => {
        state.starting = false;
        begun = null;
        if (state.error) state.example = ''; // it belonged to a text that has not begun
      });
    begun = posted;
    const repeats = kind === 'start' && linked?.draft === JSON.stringify(state.draft) ? linked : null;
    linked = null;
    if (!repeats) return posted;
    return posted.then(async (/** @type {any} */ message) => {
      if (!state.error) await repeat(repeats);
      return message;
    });
  }

  /**
   * Take steps again, with their own settings, some of them with the token that a person chose.
   *
   * @param {Pick<Linked, 'settings' | 'steps' | 'forced'>} linked
   */
  async function repeat({ settings, steps, forced }) {
    const { run } = state;
    /** @param {number} end */
    const step_to = async end => {
      for (let before = -1; before < state.steps.length && state.steps.length < end; ) {
        before = state.steps.length;
        await link.post('step', { count: Math.min(end - before, MOST_PRESSES) });
        if (state.run !== run || state.error) return false;
      }
      return state.steps.length === end;
    };
    for (const [place, [first, values]] of settings.entries()) {
      if (!(await step_to(first))) return;
      state.settings = values;
      const end = settings[place + 1]?.[0] ?? steps;
      for (const [index, token_id] of forced.filter(([at]) => at >= first && at < end)) {
        if (!(await step_to(index))) return;
        await link.post('force', { token_id, index });
      }
      if (!(await step_to(end))) return;
    }
  }

  /** Say that a prompt typed after an example still has the example's settings. */
  function tell_of_example() {
    if (set_by === null || state.draft.prompt === set_by.prompt) return;
    if (samplers_now() === set_by.samplers)
      state.visit_notice = say('The settings are still those of the example {name}.', { name: set_by.name });
    set_by = null;
  }

  /** Advance the tour with a person's action. @param {TourEvent} event */
  function toured(event) {
    const tour = tour_after(state, event);
    if (tour === state.tour) return;
    state.tour = tour;
    remember_preferences(state, { tour });
  }

  /** Go to the place of the next token: hidden candidates are guessed before the draw. */
  function to_be_guessed() {
    if (!state.hiding || state.manual || state.slow || state.strategy || state.stop?.is_over) return;
    if (state.steps.length && !player.is_playing) return link.post('propose');
  }

  /** @param {Partial<State>} changes */
  function change(changes) {
    Object.assign(state, changes);
    remember_preferences(state, changes);
    screen.redraw('step');
  }

  /** @type {Actions} */
  const actions = {
    draft(changes) {
      state.draft = { ...state.draft, ...changes };
      if ('penalty_alpha' in changes) screen.redraw('slide');
      else screen.redraw('step');
    },
    start: () => begin('start'),
    reply: () => begin('reply'),
    async try_example(example) {
      player.stop();
      const search = example.strategy;
      state.draft = {
        ...state.draft,
        prompt: example.prompt,
        chat: example.chat,
        before: example.before,
        negative_prompt: example.negative_prompt,
        is_search: search !== null,
        ...search,
      };
      if (example.negative_prompt !== null) state.guidance_scale = example.guidance_scale;
      const before = samplers_now();
      state.settings = { ...state.settings, ...example.settings };
      const samplers = samplers_now();
      const are_its_own = samplers !== before || samplers === set_by?.samplers; // it may be pressed twice
      set_by = are_its_own ? { name: example.name, prompt: example.prompt, samplers } : null;
      const started = actions.start();
      state.example = example.look_at;
      await started;
      if (!state.error) return repeat({ settings: [[0, state.settings]], steps: example.steps, forced: [] });
    },
    follow_link({ settings, limits, guidance_scale, steps, forced, strategy, ...draft }) {
      state.draft = { ...state.draft, ...draft, is_search: strategy !== null, ...strategy };
      state.settings = settings[settings.length - 1][1];
      state.limits = limits;
      state.guidance_scale = guidance_scale;
      linked = { draft: JSON.stringify(state.draft), settings, steps, forced };
      settled.settle();
      screen.redraw('step');
    },
    reopen: number => move('reopen', { text_number: number }),
    async step() {
      if (player.is_playing) actions.pause();
      if (!(await has_begun())) return;
      toured('step');
      await walk.step();
      if (!state.error) return to_be_guessed();
    },
    back: () => state.steps.length && move('back'),
    rewind: () => state.steps.length && move('rewind'),
    async reroll() {
      if (!can_reroll(state)) return;
      const index = Math.min(state.index, state.steps.length - 1);
      const typed = Number(state.settings.seed);
      const is_new = state.row?.index === index && state.row.recorded_settings?.seed !== typed;
      const seed = is_new ? typed : (typed + 1) % LARGEST_SEED;
      const before = state.steps[index].id;
      state.settings = { ...state.settings, seed };
      await move('reroll', { index });
      const step = state.steps[index];
      if (step?.id !== before || state.error || step.u === null) return;
      state.said = drawn_again(state, index, seed);
      screen.redraw('step');
    },
    async play() {
      if (!(await has_begun())) return;
      toured('step');
      player.play('playing');
      screen.redraw('step');
    },
    pause() {
      player.stop();
      screen.redraw('step');
    },
    toggle_play() {
      if (player.is_playing) actions.pause();
      else actions.play();
    },
    async run_to_end() {
      if (!(await has_begun())) return;
      toured('step');
      player.play('running');
      screen.redraw('step');
    },
    inspect(index) {
      if (index < 0 || index > state.steps.length) return;
      wanted_index = index;
      return move('inspect', { index }).finally(() => {
        if (wanted_index === index) wanted_index = null;
      });
    },
    inspect_by(offset) {
      actions.inspect((wanted_index ?? state.index) + offset); // keys come faster than answers
    },
    fetch_row() {
      if (!link.is_busy) return move('fetch_row');
    },
    force(token_id) {
      // An answer is due that may change the row.
      if (link.is_busy && !player.is_playing) return;
      const index = state.index;
      player.stop();
      state.point = null;
      return link.post('force', { token_id, index });
    },
    edit(text) {
      player.stop();
      state.point = null;
      return link.post('edit', { prompt: text });
    },
    switch_branch: number => move('branch', { branch: number }),
    set(changes) {
      state.settings = { ...state.settings, ...changes };
      if (!player.is_playing) state.is_what_if = true;
      want_whole_row();
      toured('set');
      screen.redraw('slide');
    },
    guide(scale) {
      state.guidance_scale = scale;
      if (state.negative_tokens && !player.is_playing) state.is_what_if = true;
      want_whole_row();
      screen.redraw('slide');
    },
    show_recorded() {
      state.is_what_if = false;
      screen.redraw('step');
    },
    settle: settled.settle,
    limit(changes) {
      state.limits = { ...state.limits, ...changes };
      screen.redraw('step');
      return link.post('settings');
    },
    show(changes) {
      if (changes.picture === 'ranks' || changes.picture === 'draw') want_whole_row();
      change(changes);
    },
    stage(on = !state.stage) {
      set_stage(on);
    },
    hide(on = !state.hiding) {
      change({ hiding: on, revealed: '' });
      return to_be_guessed();
    },
    reveal() {
      if (state.hiding) change({ revealed: state.covered ? place_of(state) : '' });
      else return actions.hide(true);
    },
    toggle_column(name, on) {
      const columns = state.columns.filter(each => each !== name);
      change({ columns: on ? [...columns, name] : columns });
    },
    fit_rows(rows) {
      if (rows !== state.fitted_rows) change({ fitted_rows: rows });
    },
    forget() {
      if (state.error) state.error = '';
      else state.visit_notice = '';
      screen.redraw('step');
    },
    tour(event) {
      if (event === 'begin') {
        player.stop();
        Object.assign(state, { is_what_if: false, point: null, slow: false, manual: false });
      }
      toured(event);
      screen.redraw('step');
    },
    toggle(name, on = !state[name]) {
      if ((state.strategy || state.read_only) && on) return; // neither has proposals or stages
      player.stop();
      state[name] = on;
      state.point = null;
      if (on) state[name === 'manual' ? 'slow' : 'manual'] = false;
      screen.redraw('step');
      if (on && name === 'manual' && !state.stop?.is_over) link.post('propose');
      else if (!on && state.steps.length) link.post('inspect', { index: state.steps.length - 1 });
    },
    next_stage: walk.next_stage,
    skip_stages: walk.skip_stages,
    proceed() {
      if (state.manual || state.slow) actions.step();
    },
    leave() {
      if (state.stage) set_stage(false);
      else if (state.enlarged) change({ enlarged: false });
      else if (state.slow && state.point !== null && walk.is_at_end()) actions.skip_stages();
      else if (state.point !== null) change({ point: null });
      else if (tour_stop(state)) actions.tour('skip');
      else if (state.view?.what_if) actions.show_recorded();
    },
    focus_search() {
      const field = root.querySelector('[data-part=search] input');
      if (field instanceof HTMLElement) field.focus();
    },
    async save_trace() {
      const message = await link.post('trace');
      if (!message?.trace) return;
      const address = URL.createObjectURL(new Blob([message.trace], { type: 'application/json' }));
      element('a', { href: address, download: 'run.json' }).click();
      setTimeout(() => URL.revokeObjectURL(address), URL_MS);
    },
    async open_trace(file) {
      const read = await read_packed_trace(file, LONGEST_TRACE);
      if ('text' in read) return move('open', { trace: read.text });
      player.stop();
      state.error = read.sentence;
      state.cancelled = false;
      screen.redraw('step');
    },
    is_busy: () => link.is_busy,
    cancel() {
      if (!state.busy?.can_cancel) return false;
      if (state.busy.is_cancelling) return true;
      player.stop();
      walk.forget();
      link.cancel();
      busy.cancelling();
      screen.redraw('step');
      return true;
    },
    async find(query) {
      const message = await link.post('find', { query });
      return message?.found ?? null; // null: no scores here
    },
    async tokenize(text) {
      const message = await link.post('tokenize', { query: text });
      /** @type {FoundToken[]} */
      const tokens = message?.tokenized ?? [];
      for (const { id, label } of tokens) state.row?.labels.set(id, label);
      return tokens;
    },
    async snippets() {
      const message = await link.post('snippets', told_settings(state));
      return message?.snippets ?? [];
    },
    async admit(token_id) {
      const message = await link.post('admit', { ...told_settings(state), token_id });
      return message?.admission ?? null;
    },
    async check(setting, field, value) {
      const message = await link.post('check', { ...told_settings(state), setting, field, value });
      if (!message) return { sentence: say('The server could not be reached; try again.') };
      return message.error ? { sentence: message.error } : { value: message.value };
    },
  };
  return actions;
}

/**
 * Say that Re-roll drew the same token; with XTC's number, if it has one.
 *
 * @param {State} state
 * @param {number} index
 * @param {number} seed
 */
function drawn_again({ steps, settings, row, table }, index, seed) {
  const [u, xtc_u] = [steps[index].u, row?.xtc_u].map(number => with_figures(Number(number).toFixed(4)));
  const values = { seed: count(seed), u, xtc_u, token: isolated(steps[index].label) };
  const is_shown = row?.index === index && typeof row.xtc_u === 'number';
  const has_own = chain_of(table, settings).some(({ name }) => name === 'xtc');
  return has_own && is_shown
    ? say('Seed {seed}: u = {u}, and {xtc_u} for XTC, draw {token} again.', values)
    : say('Seed {seed}: u = {u} draws {token} again.', values);
}
