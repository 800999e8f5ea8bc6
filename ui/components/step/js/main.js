// The step component: its state, what a person can do, and what is drawn when. README.md shows the whole.

import * as branches from './branches.js';
import * as cards from './cards.js';
import * as charts from './charts.js';
import * as draw_part from './draw.js';
import * as loop from './loop.js';
import * as notice from './notice.js';
import * as prompt from './prompt.js';
import * as search from './search.js';
import * as strip from './strip.js';
import * as table from './table.js';
import * as transport from './transport.js';
import { element } from './dom.js';
import { count } from './format.js';
import { listen } from './keys.js';
import { create_link } from './link.js';
import { LARGEST_SEED } from './shape.js';
import { new_state, recall, remember, remember_preferences, usual_settings } from './state.js';
import { make_view, unlabelled } from './view.js';
import { read_message, take_in } from './wire.js';

// The strip scrolls to its end, which forces a layout: after all others, so that there is one.
const PARTS = {
  prompt, transport, branches, loop, table, search, notice, cards, draw: draw_part, strip, charts,
};
const SESSION_KEY = 'decoding-visualiser-session';
const REASONS = ['slide', 'step', 'resize', 'theme']; // why the page is drawn, by how much must be drawn anew
const SETTLE_MS = 400;
const MOST_LABELS = 256; // asked for at once

/**
 * Mount the component into its markup.
 *
 * @param {HTMLElement} root the element with class `dv`
 * @param {(event: object) => void} send hands an event to the server
 * @returns {{receive(bytes: Uint8Array): void, restyle(): void, destroy(): void}}
 */
export function mount(root, send) {
  const state = new_state();
  let view = null;
  let asked_for_all = false;
  let is_asking = false;
  let wanted_index = null;
  let is_starting = false;
  let asked_to_resume = false;
  let plays = 0;
  let play_timer = 0;
  let settle_timer = 0;
  let frame = 0;
  let why = null;

  const link = create_link(describe, send);
  const actions = make_actions();
  const parts = {};
  for (const [name, part] of Object.entries(PARTS)) {
    parts[name] = part.create(root.querySelector(`[data-part=${name}]`), actions);
  }
  const stop_listening = listen(root, actions, () => state.keys);
  const resize = new ResizeObserver(() => redraw('resize'));
  resize.observe(root);
  window.addEventListener('online', link.again);
  // For tests and benchmarks: what is on screen, as data.
  let draws = 0;
  root.decoding = {
    state,
    actions,
    get view() {
      return view;
    },
    get draws() {
      return draws;
    },
    get charts_drawn() {
      return parts.charts.drawn;
    },
  };

  function describe() {
    return {
      at: { run: state.run, branch: state.branch, length: state.steps.length },
      have: { run: state.run, branch: state.branch, length: state.steps.length, row: state.row_key },
      settings: state.settings,
      limits: state.limits,
      manual: state.manual,
      playing: state.mode !== 'paused',
    };
  }

  // --- what is drawn when -----------------------------------------------------------------------

  function draw(reason) {
    view = state.row ? make_view(state) : null;
    for (const part of Object.values(parts)) part.update(state, view, reason);
    root.classList.toggle('dv-enlarging', state.enlarged !== null);
    if (view && state.mode === 'paused') ask_for_labels();
    draws += 1;
    root.dataset.length = String(state.steps.length);
  }

  /** Only the leading tokens come with their labels; another one may rise or be drawn as sliders move. */
  async function ask_for_labels() {
    const ids = unlabelled(state, view).slice(0, MOST_LABELS);
    if (!ids.length || is_asking) return;
    is_asking = true;
    const { row } = state;
    const message = await link.post('labels', { ids });
    is_asking = false;
    for (const [id, label] of message?.labels ?? []) row.labels.set(id, label);
    if (message) redraw('step');
  }

  /** Draw at once; what is asked for before the next frame is drawn with that frame, once. */
  function redraw(reason) {
    if (!state.model) return;
    if (frame) {
      if (REASONS.indexOf(reason) > REASONS.indexOf(why)) why = reason;
      return;
    }
    frame = requestAnimationFrame(() => {
      frame = 0;
      if (why === null) return;
      const waiting = why;
      why = null;
      redraw(waiting);
    });
    draw(reason);
  }

  // --- messages ---------------------------------------------------------------------------------

  function receive(bytes) {
    const message = read_message(bytes);
    // After a reload, or where the server has lost the connection for good, a message comes from a new
    // session: ask for the one that this tab had. The answer is taken as it is.
    const held = state.session || recall(SESSION_KEY);
    if (held && message.session !== held && message.client !== link.client) {
      link.received(message);
      if (!asked_to_resume) {
        asked_to_resume = true;
        link.post('resume', { token: held }).finally(() => {
          asked_to_resume = false;
        });
      }
      return;
    }
    const is_new_run = message.run !== state.run;
    if (!take_in(state, message)) {
      link.received(message);
      if (!asked_for_all) {
        asked_for_all = true;
        const nothing = { run: '', branch: 0, length: 0, row: '' };
        link.post('sync', { have: nothing }).finally(() => {
          asked_for_all = false;
        });
      }
      return;
    }
    if (is_new_run) begin_run();
    remember('sessionStorage', SESSION_KEY, state.session);
    state.error_at = link.received(message) ?? state.error_at;
    state.said = '';
    if (state.error) stop_playing();
    redraw('step');
  }

  /** A text that this page has not seen: after Start, another model, or a reload. */
  function begin_run() {
    stop_playing();
    state.point = null;
    if (is_starting) return; // begun here: what is on the sliders holds, also what has moved meanwhile
    state.settings = { ...usual_settings(), ...state.first_settings }; // charts read them, card or not
    state.limits = { ...state.first_limits };
  }

  // --- Play -------------------------------------------------------------------------------------

  function stop_playing() {
    const was_playing = state.mode !== 'paused';
    state.mode = 'paused';
    clearTimeout(play_timer);
    link.drop(['step', 'run']);
    return was_playing;
  }

  /** One round of Play or Run to end, and the next; `play` tells it from a Play begun after a Pause. */
  async function keep_playing(mode, play) {
    const kind = mode === 'playing' ? 'step' : 'run';
    const started = performance.now();
    const message = await link.post(kind);
    if (play !== plays || state.mode !== mode) return after_playing();
    if (!message || state.error || state.stop?.at_limit) {
      stop_playing();
      redraw('step');
      return after_playing();
    }
    const gap = mode === 'running' || state.speed === 0 ? 0 : 1000 / state.speed;
    const wait = gap - (performance.now() - started);
    // The next token is asked for before this one is drawn: the server works while the browser paints.
    if (wait > 4) play_timer = setTimeout(() => keep_playing(mode, play), wait);
    else keep_playing(mode, play);
  }

  /** What Play leaves to do: a large row came in bins while it ran. An event under way brings its own. */
  function after_playing() {
    if (state.row && !state.row.exact && !link.is_busy) link.post('inspect', { index: state.index });
  }

  // --- what a person can do ---------------------------------------------------------------------

  function make_actions() {
    const at_end = () => state.row?.is_pending && state.index === state.steps.length;

    async function one_step() {
      // What is on its way must be seen before it is agreed to.
      if ((state.manual || state.slow) && link.is_busy) return null;
      if (state.slow) return next_stage();
      if (state.manual && !at_end()) return link.post('propose');
      return link.post('step');
    }

    /** Slow motion: the scores of the next token, then stage after stage, then the token is appended. */
    async function next_stage() {
      if (link.is_busy) return;
      if (!at_end() || state.point === null) {
        if (!at_end()) await link.post('propose');
        if (!at_end()) return; // the text is over, or a failure has said so
        state.point = 0;
      } else if (state.point < view.points.length - 1) {
        state.point += 1;
      } else {
        return end_walk();
      }
      redraw('step');
    }

    async function end_walk() {
      state.point = null;
      await link.post('step');
    }

    /** Any way to another place in the text ends Play first, and clicks that still wait. */
    function move(kind, fields) {
      stop_playing();
      state.point = null;
      redraw('step');
      return link.post(kind, fields);
    }

    return {
      start(text, chat, settings = {}) {
        stop_playing();
        state.settings = { ...state.settings, ...settings };
        redraw('step');
        is_starting = true;
        return link.post('start', { prompt: text, chat }).finally(() => {
          is_starting = false;
        });
      },
      step() {
        if (state.mode !== 'paused') this.pause();
        return one_step();
      },
      back: () => state.steps.length && move('back'),
      rewind: () => state.steps.length && move('rewind'),
      async reroll() {
        if (!transport.can_reroll(state, view)) return;
        const seed = (state.settings.seed + 1) % LARGEST_SEED;
        const index = Math.min(state.index, state.steps.length - 1);
        const before = state.steps[index].id;
        state.settings = { ...state.settings, seed };
        await move('reroll', { index });
        const step = state.steps[index];
        if (step?.id !== before || state.error || step.u === null) return;
        state.said = `Seed ${count(seed)}: u = ${step.u.toFixed(4)} draws \u2068${step.label}\u2069 again.`;
        redraw('step');
      },
      play: () => play('playing'),
      pause() {
        stop_playing();
        redraw('step');
        after_playing();
      },
      toggle_play() {
        if (state.mode !== 'paused') this.pause();
        else this.play();
      },
      run_to_end: () => play('running'),
      inspect(index) {
        if (index < 0 || index > state.steps.length) return;
        wanted_index = index;
        return move('inspect', { index }).finally(() => {
          if (wanted_index === index) wanted_index = null;
        });
      },
      inspect_by(offset) {
        this.inspect((wanted_index ?? state.index) + offset); // keys come faster than answers
      },
      force(token_id) {
        // An answer is due that may change what stands in the row.
        if (link.is_busy && state.mode === 'paused') return;
        const index = state.index;
        stop_playing();
        state.point = null;
        return link.post('force', { token_id, index });
      },
      switch_branch: number => move('branch', { branch: number }),
      set(changes) {
        state.settings = { ...state.settings, ...changes };
        redraw('slide');
      },
      settle() {
        clearTimeout(settle_timer); // keys move a slider in many small steps, and each of them ends
        settle_timer = setTimeout(() => state.mode === 'paused' && link.post('settings'), SETTLE_MS);
      },
      limit(changes) {
        state.limits = { ...state.limits, ...changes };
        redraw('step');
        return link.post('settings');
      },
      show(changes) {
        Object.assign(state, changes);
        if ('speed' in changes || 'row_count' in changes || 'keys' in changes) remember_preferences(state);
        redraw('step');
      },
      toggle(name, on = !state[name]) {
        if (stop_playing()) after_playing();
        state[name] = on;
        state.point = null;
        if (on) state[name === 'manual' ? 'slow' : 'manual'] = false;
        redraw('step');
        if (on && name === 'manual' && !state.stop?.is_over) link.post('propose');
        else if (!on && state.steps.length) link.post('inspect', { index: state.steps.length - 1 });
      },
      next_stage,
      skip_stages: end_walk,
      proceed() {
        if (state.manual || state.slow) this.step();
      },
      leave() {
        if (state.enlarged) this.show({ enlarged: null });
        else if (state.slow && state.point !== null && at_end()) this.skip_stages();
        else if (state.point !== null) this.show({ point: null });
      },
      focus_search() {
        root.querySelector('[data-part=search] input')?.focus();
      },
      async save_trace() {
        const message = await link.post('trace');
        if (!message?.trace) return;
        const address = URL.createObjectURL(new Blob([message.trace], { type: 'application/json' }));
        element('a', { href: address, download: 'run.json' }).click();
        setTimeout(() => URL.revokeObjectURL(address), 60_000);
      },
      is_busy: () => link.is_busy,
      async find(query) {
        const message = await link.post('find', { query });
        return message?.found ?? null; // null: no scores at this place
      },
      async tokenize(text) {
        const message = await link.post('tokenize', { query: text });
        const tokens = message?.tokenized ?? [];
        for (const { id, label } of tokens) state.row?.labels.set(id, label);
        return tokens;
      },
      async snippets() {
        const message = await link.post('snippets');
        return message?.snippets ?? [];
      },
    };

    function play(mode) {
      if (state.mode !== 'paused' || state.manual || state.slow || state.stop?.at_limit) return;
      state.mode = mode;
      state.point = null;
      redraw('step');
      plays += 1;
      keep_playing(mode, plays);
    }
  }

  return {
    receive,
    restyle() {
      redraw('theme');
    },
    destroy() {
      stop_playing();
      clearTimeout(settle_timer);
      link.close();
      stop_listening();
      resize.disconnect();
      window.removeEventListener('online', link.again);
      cancelAnimationFrame(frame);
      for (const part of Object.values(parts)) part.destroy?.();
    },
  };
}
