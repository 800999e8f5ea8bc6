// The step page in the browser: its state, the channel to the server, and the parts that draw it. README.md gives an
// overview.

import { listen } from '../../lib/keys.js';
import { is_on_stage, watch_stage } from '../../lib/stage.js';
import { forget, recall, remember } from '../../lib/storage.js';
import * as costs from '../../parts/costs.js';
import * as line from '../../parts/line.js';
import * as loop from '../../parts/loop.js';
import { mount_part } from '../../parts/mount.js';
import * as picture from '../../parts/picture.js';
import * as prompt from '../../parts/prompt.js';
import * as samplers from '../../parts/samplers/samplers.js';
import * as search from '../../parts/search/search.js';
import * as settings from '../../parts/settings.js';
import * as stage from '../../parts/stage/stage.js';
import * as strip from '../../parts/strip/strip.js';
import * as table from '../../parts/table/table.js';
import * as transport from '../../parts/transport.js';
import { unlabelled } from '../../view/view.js';
import { watch_for_leaving } from '../../wire/leaving.js';
import { create_link } from '../../wire/link.js';
import { take_link } from '../../wire/linked.js';
import { read_message, take_in, take_row } from '../../wire/message.js';
import { create_settled } from '../../wire/settled.js';
import { create_socket } from '../../wire/socket.js';
import { here, keep, secret } from '../../wire/visit.js';
import { say } from '../../words/say.js';
import { tour_stop } from '../../words/tour.js';
import { create_actions } from './actions.js';
import { create_busy } from './busy.js';
import { lay_out, ON_STAGE, PLACES } from './layout.js';
import { Player } from './play.js';
import { Screen } from './screen.js';
import { create_spotlight } from './spotlight.js';
import { new_state, told_settings } from './state.js';
import { create_walk } from './walk.js';

/**
 * @import { Message } from '../../wire/message.js'
 * @import { State } from '../../types.js'
 * @import { Place } from './layout.js'
 */

const PARTS = { prompt, transport, settings, loop, line, table, search, samplers, picture, costs, stage, strip };
const LEFT_PLAYING = 'decoding-visualiser-left-playing';
const WHOLE_RETRY_MS = 100;
const WHOLE_ROW_MS = 600; // of quiet before the rest of a row is requested

/** A row's place at any guidance scale: a slider may have moved while the row was under way. @param {string} key */
const place_of = key => key.replace(/ at [^/]*/, '');
const MOST_LABELS = 256; // per request
const TOLD_MS = 250; // between two signals to Streamlit that something was done: each redraws the surrounding page

/**
 * Mount the page.
 *
 * @param {HTMLElement & {decoding?: object}} root the element with class `dv`
 * @param {object} page
 * @param {string} page.live address of the live channel
 * @param {object} [page.hello] further content of the first frame: the page, and the data by which the server finds its
 *   session
 * @param {readonly Place[]} [page.parts] the parts shown
 * @param {boolean} [page.guided] whether the surrounding page gives instructions and is told 'changed' after each
 *   action
 * @param {State['lessons']} [page.lessons] addresses that the tour leads to
 * @param {string} [page.language] the page's language
 * @param {boolean} [page.waits_for_text] whether the surrounding page was drawn before there was a text, and is then
 *   told 'model'
 * @param {(name: string, value: unknown) => void} tell passes a value to Streamlit: 'model', with a new model's name
 * @returns {{update(data: {waits_for_text?: boolean}): void, restyle(): void, destroy(): void}}
 */
export function mount(
  root,
  {
    live,
    hello: own = { page: 'step' },
    parts: shown = PLACES,
    guided = false,
    lessons = null,
    language,
    waits_for_text = false,
  },
  tell,
) {
  const state = new_state();
  state.guided = guided;
  state.lessons = lessons;
  const client = secret();
  let link_text = 'page' in own && own.page === 'step' ? take_link() : '';
  const places = lay_out(root, shown);
  const point_at = create_spotlight(root);
  let is_asking = false;
  let wants_whole = false;
  let told_what_if = false;
  let model_name = '';
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let whole_timer;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let told_timer;
  let changes = 0;

  const socket = create_socket({
    address: live,
    hello,
    received: bytes => receive(read_message(bytes)),
    presence({ online }) {
      state.offline = !online;
      if (!online) busy.end(); // its progress is no longer received
      root.classList.toggle('dv-offline', !online);
      screen.redraw('step');
    },
  });
  const link = create_link({ client, describe, send: socket.send });
  const settled = create_settled(
    state,
    () => link.post('settings'),
    () => screen.redraw('step'),
  );
  const player = new Player(state, {
    post: (kind, answered) => link.post(kind, {}, answered),
    drop: () => link.drop(['step', 'run']),
    stopped: () => ask_for_whole_row(),
  });
  /** @type {Map<string, ReturnType<typeof mount_part>>} */
  const parts = new Map();
  const screen = new Screen(root, state, parts, is_on_show, ask_to_shape, after_drawing);
  const walk = create_walk(state, link, {
    redraw: () => screen.redraw('step'),
    tell_now: settled.tell_now,
    refresh: () => screen.refresh(),
  });
  const busy = create_busy(state, { since: () => link.since, redraw: () => screen.redraw('step') });
  const actions = create_actions({ root, state, link, screen, player, walk, settled, busy, want_whole_row });
  root.classList.add('dv-opening'); // until there is something to show
  for (const name of PLACES)
    if (shown.includes(name) || ON_STAGE.includes(name))
      parts.set(name, mount_part(places[name], name, /** @type {any} */ (PARTS[name]), actions, report));

  const stops = [
    listen(root, actions, () => state.keys),
    watch_stage(() => {
      state.stage = is_on_stage();
      screen.redraw('theme'); // the theme may have changed while a part was out of sight
    }),
    watch_for_leaving(root, { released: settled.tell_soon, leaving: settled.leave }),
  ];
  const resize = new ResizeObserver(() => screen.redraw('resize'));
  resize.observe(root);
  // A person near a slider will need the rest of the row.
  places.samplers.addEventListener('pointerenter', want_whole_row);
  places.samplers.addEventListener('focusin', want_whole_row);

  // For tests and benchmarks: the content on screen, as data.
  root.decoding = {
    state,
    actions,
    get view() {
      return state.view;
    },
    get draws() {
      return screen.draws;
    },
    get charts_drawn() {
      return /** @type {any} */ (parts.get('picture')?.own)?.drawn ?? 0;
    },
  };

  /**
   * Tell if a part is in sight. A search and a read-only text have their candidates in the picture.
   *
   * @param {string} name
   */
  function is_on_show(name) {
    const place = /** @type {Place} */ (name);
    if (!state.stage) return name !== 'stage' && shown.includes(place);
    return ON_STAGE.includes(place) || (name === 'picture' && (state.strategy !== null || Boolean(state.read_only)));
  }

  // --- out ----------------------------------------------------------------------------------------

  /** The identity of this page, and the data it already has. */
  function hello() {
    const { token, tab } = here();
    const forced = state.steps.flatMap((step, index) => (step.forced ? [index] : []));
    return {
      visit: token,
      tab,
      ...own,
      client,
      language,
      link: link_text,
      have: {
        run: state.run,
        branch: state.branch,
        ids: state.steps.map(step => step.id),
        forced,
        prompt: state.strategy === null && state.negative_prompt === null ? state.prompt : null,
        chat: state.chat,
        before: state.before,
      },
      settings: state.run ? state.settings : null,
    };
  }

  function describe() {
    settled.described();
    told_what_if = state.is_what_if;
    return {
      at: { run: state.run, branch: state.branch, length: state.steps.length },
      ...told_settings(state),
      manual: state.manual,
      playing: player.is_playing,
      what_if: state.is_what_if,
    };
  }

  /** Report a failed part to the server's log. @param {string} part @param {Error} error */
  function report(part, error) {
    console.error(`The part ${part} has failed.`, error);
    link.post('failed', { part, message: error.message.slice(0, 300), stack: (error.stack ?? '').slice(0, 3000) });
  }

  // --- further requests --------------------------------------------------------------------------

  function ask_to_shape() {
    if (player.is_playing) return;
    if (told_what_if !== state.is_what_if || settled.has_news()) link.post('settings');
  }

  function after_drawing() {
    point_at(tour_stop(state)?.target ?? '');
    if (!state.view || player.is_playing) return;
    ask_for_labels();
    ask_for_whole_row();
  }

  /** Only the leading tokens come with their labels; others may rise or be drawn as sliders move. */
  async function ask_for_labels() {
    const { row, view } = state;
    if (!row || !view || is_asking) return;
    const ids = unlabelled(state, view).slice(0, MOST_LABELS);
    if (!ids.length) return;
    is_asking = true;
    const message = await link.post('labels', { ids });
    is_asking = false;
    for (const [id, label] of message?.labels ?? []) row.labels.set(id, label);
    if (message) screen.redraw('step');
  }

  /** A step sends only the content of the screen. The rest comes once the page is quiet, or at once on demand. */
  function ask_for_whole_row() {
    clearTimeout(whole_timer);
    if (!state.row?.light || player.is_playing) return;
    whole_timer = setTimeout(fetch_whole_row, wants_whole ? 0 : WHOLE_ROW_MS);
  }

  function want_whole_row() {
    wants_whole = true;
    ask_for_whole_row();
  }

  async function fetch_whole_row() {
    if (player.is_playing || !state.row?.light) return;
    if (!link.is_idle) {
      whole_timer = setTimeout(fetch_whole_row, WHOLE_RETRY_MS); // the event under way need not draw anything
      return;
    }
    wants_whole = false;
    const message = await link.post('row', { what_if: state.is_what_if });
    // A request that was cancelled because a Start overtook it brings no row.
    if (!message?.row_key || place_of(message.row_key) !== place_of(state.row_key)) return;
    take_row(state, message);
    screen.redraw('step');
  }

  // --- in -----------------------------------------------------------------------------------------

  /** @param {Message & Record<string, any>} message */
  function receive(message) {
    if (message.kind === 'busy') {
      if (message.what) socket.expect();
      return busy.tell(message);
    }
    if (message.kind === 'failed') {
      state.error = message.error;
      state.cancelled = false;
      screen.redraw('step');
      return;
    }
    if (message.kind === 'answer') {
      // Who asked a question shows its error. An action gets an answer, and no state, if it has failed unexpectedly.
      const is_said = message.cancelled || (message.error && link.is_answer(message));
      if (is_said) state.error = message.error; // before the next step is requested
      const kind = link.received(message);
      if (!is_said) return;
      state.error_at = kind ?? state.error_at;
      state.cancelled = Boolean(message.cancelled);
      player.stop();
      busy.end();
      screen.redraw('step');
      return;
    }
    if (message.visit) {
      keep(message.visit);
      state.visit = message.visit;
    }
    const is_new_run = message.run !== state.run;
    if (is_new_run && message.text) take_beginning(message.text);
    const was = `${place_of(state.row_key)} ${state.steps.length}`;
    const was_missing = Boolean(state.view?.missing);
    if (!take_in(state, message)) {
      link.received(message);
      link.post('sync');
      return;
    }
    if (is_new_run) begin_run();
    if (message.draft) state.draft = { ...state.draft, ...message.draft };
    if (message.kind === 'state' && message.number === 0) link_text = ''; // it has been opened
    if (message.linked) actions.follow_link(message.linked);
    if (was !== `${place_of(state.row_key)} ${state.steps.length}`) state.is_what_if = false;
    if (message.text && (waits_for_text || (model_name && model_name !== state.model?.name))) {
      waits_for_text = false;
      tell('model', state.model?.name);
    }
    model_name = state.model?.name ?? '';
    if (link.is_answer(message)) {
      if (message.in_force) go_back_to(message.in_force); // before the next event is sent
      settled.confirmed();
    }
    if (message.remarks) {
      const list = message.remarks.map(([name, reason, has_effect]) => ({ name, reason, has_effect }));
      state.remarks = { settings: /** @type {any} */ (settled.heard ?? state.settings), list };
    }
    if (is_new_run && recall('sessionStorage', LEFT_PLAYING)) {
      forget('sessionStorage', LEFT_PLAYING);
      state.visit_notice = say('Play stopped when you left this page.');
    }
    if (message.notices?.length) state.visit_notice = message.notices.join(' ');
    state.error_at = link.received(message) ?? state.error_at; // the next event is on its way before this one is drawn
    if (message.number === 0) {
      socket.ready();
      link.again();
    }
    if (state.error) player.stop();
    busy.end();
    root.classList.remove('dv-opening');
    screen.redraw(was_missing && !state.error ? 'slide' : 'step');
    if (guided) tell_changed();
  }

  function tell_changed() {
    told_timer ??= setTimeout(
      () => {
        told_timer = undefined;
        changes += 1;
        tell('changed', changes);
      },
      player.is_playing ? TOLD_MS : 0,
    );
  }

  /**
   * Return to the settings that the server continues with: refused ones must not stay on screen.
   *
   * @param {NonNullable<Message['in_force']>} in_force
   */
  function go_back_to({ settings: own, limits, guidance_scale, strategy }) {
    state.settings = own;
    state.limits = { ...limits };
    if (guidance_scale !== null) state.guidance_scale = guidance_scale;
    if (strategy) state.draft = { ...state.draft, ...strategy };
    settled.described();
  }

  /**
   * Restore the guidance scale of a text, for example after a reload, before its row is made.
   *
   * @param {Record<string, any>} text
   */
  function take_beginning(text) {
    if (text.negative_prompt !== null) state.guidance_scale = text.guidance_scale;
  }

  /** Begin a text that is new to this page: after Start, another model, or a reload. */
  function begin_run() {
    player.stop();
    state.point = null;
    const { prompt: text, chat, before, negative_prompt, strategy } = state;
    state.draft = {
      ...state.draft,
      prompt: text,
      chat,
      before,
      negative_prompt,
      is_search: strategy !== null,
      ...strategy,
    };
    if (strategy) state.manual = state.slow = false;
    if (state.example && !state.examples.list.some(each => each.prompt === text)) state.example = '';
    if (state.starting) return; // begun here: the sliders' values hold, even those moved since Start
    state.settings = state.first_settings;
    state.limits = { ...state.first_limits };
    settled.described();
    const left = settled.left_behind();
    if (!left) return settled.confirmed();
    state.settings = left.settings;
    state.draft.penalty_alpha = left.penalty_alpha;
    state.guidance_scale = left.guidance_scale;
    settled.tell_now();
  }

  return {
    update(data) {
      waits_for_text = Boolean(data.waits_for_text);
    },
    restyle() {
      screen.redraw('theme');
    },
    destroy() {
      if (player.is_playing) remember('sessionStorage', LEFT_PLAYING, 'yes');
      player.stop();
      settled.destroy();
      clearTimeout(whole_timer);
      clearTimeout(told_timer);
      busy.end();
      for (const stop of stops) stop();
      socket.close();
      link.close();
      resize.disconnect();
      screen.destroy();
      for (const part of parts.values()) part.destroy?.();
    },
  };
}
