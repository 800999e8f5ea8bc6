// The step component: its state, what a person can do, and what is drawn when. README.md shows the whole.

import * as branches from '../../parts/branches.js';
import * as cards from '../../parts/cards/cards.js';
import * as charts from '../../parts/charts/charts.js';
import * as contrastive from '../../parts/contrastive.js';
import * as draw_part from '../../parts/draw/draw.js';
import * as guidance from '../../parts/guidance.js';
import * as loop from '../../parts/loop.js';
import * as notice from '../../words/notice.js';
import * as prompt from '../../parts/prompt.js';
import * as search from '../../parts/search/search.js';
import * as strip from '../../parts/strip.js';
import * as table from '../../parts/table/table.js';
import * as transport from '../../parts/transport.js';
import { element } from '../../lib/dom.js';
import { count } from '../../words/format.js';
import { at_scale, placed } from '../../kernel/guided.js';
import { listen } from '../../lib/keys.js';
import { create_link } from '../../wire/link.js';
import { watch_for_leaving } from '../../wire/leaving.js';
import { create_settled } from '../../wire/settled.js';
import { chain_of, LARGEST_SEED } from '../../kernel/shape.js';
import { new_state, recall, remember, remember_preferences, usual_settings } from './state.js';
import { make_view, unlabelled } from '../../view/view.js';
import { create_walk } from './walk.js';
import { read_message, take_in } from '../../wire/message.js';

// The strip scrolls to its end, which forces a layout: after all others, so that there is one.
const PARTS = {
  prompt,
  transport,
  branches,
  loop,
  guidance,
  contrastive,
  table,
  search,
  notice,
  cards,
  draw: draw_part,
  strip,
  charts,
};
const SESSION_KEY = 'decoding-visualiser-session';
const REASONS = ['slide', 'step', 'resize', 'theme']; // why the page is drawn, by how much must be drawn anew
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
  let frame = 0;
  let why = null;

  const link = create_link(describe, send);
  const settled = create_settled(state, () => link.post('settings'));
  const walk = create_walk(state, link, { redraw, tell_now: settled.tell_now });
  const actions = make_actions();
  const parts = {};
  for (const [name, part] of Object.entries(PARTS)) {
    parts[name] = part.create(root.querySelector(`[data-part=${name}]`), actions);
  }
  const stop_listening = listen(root, actions, () => state.keys);
  const resize = new ResizeObserver(() => redraw('resize'));
  resize.observe(root);
  window.addEventListener('online', link.again);
  const stop_watching = watch_for_leaving(root, { released: settled.tell_soon, leaving: settled.leave });
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
    settled.described();
    return {
      at: { run: state.run, branch: state.branch, length: state.steps.length },
      have: { run: state.run, branch: state.branch, length: state.steps.length, row: state.row_key },
      settings: state.settings,
      guidance_scale: state.guidance_scale,
      strategy: strategy_sent(),
      limits: state.limits,
      manual: state.manual,
      playing: state.mode !== 'paused',
    };
  }

  // --- settings on their way --------------------------------------------------------------------

  /** What was refused must not stay on screen: back to what the server goes on with. */
  function go_back_to({ settings, limits, guidance_scale, strategy }) {
    state.settings = { ...usual_settings(), ...settings };
    state.limits = { ...limits };
    if (guidance_scale !== null) actions.guide(guidance_scale);
    if (strategy) state.wanted = { ...state.wanted, ...strategy };
    settled.described();
  }

  /** What contrastive search is asked to do; null for sampling. */
  function strategy_sent() {
    const { is_search, top_k, penalty_alpha } = state.wanted;
    return is_search ? { top_k, penalty_alpha } : null;
  }

  // --- what is drawn when -----------------------------------------------------------------------

  function draw(reason) {
    view = state.row ? make_view(state) : null;
    for (const part of Object.values(parts)) part.update(state, view, reason);
    root.classList.toggle('dv-enlarging', state.enlarged !== null);
    root.classList.toggle('dv-searching', state.strategy !== null);
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
    if (is_new_run) take_beginning(message.text);
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
    if (link.is_answer(message)) {
      // before the next event goes
      if (message.in_force) go_back_to(message.in_force);
      settled.confirmed();
    }
    state.error_at = link.received(message) ?? state.error_at;
    state.said = '';
    if (state.error) stop_playing();
    redraw('step');
  }

  /** Before its row is made: the scale and the strategy that a text came back with, as after a reload. */
  function take_beginning(text) {
    if (!text || is_starting) return;
    if (text.negative_prompt !== null) state.guidance_scale = text.guidance_scale;
    state.wanted = { ...state.wanted, is_search: text.strategy !== null, ...text.strategy };
  }

  /** A text that this page has not seen: after Start, another model, or a reload. */
  function begin_run() {
    stop_playing();
    state.point = null;
    if (state.strategy) state.manual = state.slow = false;
    if (is_starting) return; // begun here: what is on the sliders holds, also what has moved meanwhile
    state.settings = { ...usual_settings(), ...state.first_settings }; // charts read them, card or not
    state.limits = { ...state.first_limits };
    settled.described();
    const left = settled.left_behind();
    if (!left) return settled.confirmed();
    state.settings = left.settings;
    state.wanted = left.wanted;
    actions.guide(left.guidance_scale);
    settled.tell_now();
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
    /** Any way to another place in the text ends Play first, and clicks that still wait. */
    function move(kind, fields) {
      stop_playing();
      state.point = null;
      redraw('step');
      return link.post(kind, fields);
    }

    return {
      start(text, chat, settings = {}, negative_prompt = null) {
        stop_playing();
        state.settings = { ...state.settings, ...settings };
        redraw('step');
        is_starting = true;
        const guided = negative_prompt !== null;
        const fields = { prompt: text, chat, guided, negative_prompt: negative_prompt ?? '' };
        return link.post('start', fields).finally(() => {
          is_starting = false;
        });
      },
      step() {
        if (state.mode !== 'paused') this.pause();
        return walk.step();
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
        state.said = `Seed ${count(seed)}: ${drawn_again(state, index)} \u2068${step.label}\u2069 again.`;
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
      want(changes) {
        state.wanted = { ...state.wanted, ...changes };
        redraw('slide');
      },
      guide(scale) {
        state.guidance_scale = scale;
        if (state.row?.guidance) state.row = at_scale(state.row, scale);
        redraw('slide');
      },
      settle: settled.settle,
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
        if (state.strategy && on) return; // nothing is proposed, and there are no stages
        if (stop_playing()) after_playing();
        state[name] = on;
        state.point = null;
        if (on) state[name === 'manual' ? 'slow' : 'manual'] = false;
        redraw('step');
        if (on && name === 'manual' && !state.stop?.is_over) link.post('propose');
        else if (!on && state.steps.length) link.post('inspect', { index: state.steps.length - 1 });
      },
      next_stage: walk.next_stage,
      skip_stages: walk.skip_stages,
      proceed() {
        if (state.manual || state.slow) this.step();
      },
      leave() {
        if (state.enlarged) this.show({ enlarged: null });
        else if (state.slow && state.point !== null && walk.is_at_end()) this.skip_stages();
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
        return message?.found?.map(token => placed(state.row, token)) ?? null; // null: no scores at this place
      },
      async tokenize(text) {
        const message = await link.post('tokenize', { query: text });
        const tokens = (message?.tokenized ?? []).map(token => placed(state.row, token));
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
      settled.destroy();
      stop_watching();
      link.close();
      stop_listening();
      resize.disconnect();
      window.removeEventListener('online', link.again);
      cancelAnimationFrame(frame);
      for (const part of Object.values(parts)) part.destroy?.();
    },
  };
}

/** "u = 0.5118 draws"; where XTC is on, with the number that it acts by. */
function drawn_again({ steps, settings, row }, index) {
  const u = steps[index].u.toFixed(4);
  const is_shown = row?.index === index && typeof row.xtc_u === 'number';
  const has_xtc = chain_of(settings).some(({ name }) => name === 'xtc');
  if (!has_xtc || !is_shown) return `u = ${u} draws`;
  return `u = ${u}, and ${row.xtc_u.toFixed(4)} for XTC, draw`;
}
