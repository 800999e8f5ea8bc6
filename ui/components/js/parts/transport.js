// Transport: Step, Back, Play, Rewind, Run to end, Re-roll, speed, manual mode, slow motion, stop rules; and
// the status line.

import { element, set_attribute, set_text } from '../lib/dom.js';
import { nothing_left } from '../view/emptied.js';
import { bits, count, ms, size, tokens } from '../words/format.js';
import { KEYS } from '../lib/keys.js';
import { create_menu } from '../lib/menu.js';

const EMPTIED = 'Every token was removed before the draw'; // as engine/stages/base.py begins it
const MOST_TOKENS = 1_000_000; // as in engine/stopping.py

/** The right end of the speed slider: no waiting between tokens. */
const FASTEST = 21;

function parameters_text(parameters) {
  if (parameters >= 1e9) return `${(parameters / 1e9).toFixed(2)} B`;
  return parameters >= 1e5 ? `${(parameters / 1e6).toFixed(1)} M` : count(parameters);
}

/** The engine's refusal of an emptied row names settings; the page says it with the cards' names. */
function error_text({ error }, view) {
  const found = error.startsWith(EMPTIED) ? nothing_left(view) : null;
  return found ? `${EMPTIED}: ${found.reason}. ${found.remedy}` : error;
}

/** Whether there is a draw to be drawn again. */
export const can_reroll = (state, view) =>
  state.steps.length > 0 && !state.strategy && !view?.greedy && !(state.manual && state.row?.is_pending);

/** Mounts into `root`; see README.md for what a part is. */
export function create(root, actions) {
  const button = (name, title, key, run, extra = {}) =>
    element('button', {
      type: 'button',
      text: name,
      title: `${title} (${key})`,
      'aria-keyshortcuts': key,
      onclick: run,
      ...extra,
    });
  const step = button('Step', 'Generate one token', 'S', () => actions.step(), {
    class: 'dv-primary dv-step',
  });
  const back = button('Back', 'Take the last token back', 'B', () => actions.back());
  const play = button('Play', 'Generate token after token', 'P', () => actions.toggle_play(), {
    class: 'dv-play',
  });
  const rewind = button('Rewind', 'Back to the prompt', '0', () => actions.rewind());
  const run = button('Run to end', 'Generate until a stop rule fires', 'E', () => actions.run_to_end());
  const reroll = button('Re-roll', 'Draw this token again with the next seed', 'D', () => actions.reroll());

  const speed = element('input', { type: 'range', min: 1, max: FASTEST, step: 1, 'aria-label': 'Speed' });
  const speed_text = element('span', { class: 'dv-speed-text dv-muted' });
  const manual = element('input', { type: 'checkbox' });
  const slow = element('input', { type: 'checkbox' });
  const keys_on = element('input', { type: 'checkbox' });
  const check = (box, text, title) => {
    const label = element('label', { class: 'dv-check', title });
    label.append(box, ` ${text}`);
    return label;
  };

  const most = element('input', { type: 'number', min: 1, step: 1, 'aria-label': 'Max tokens' });
  const most_error = element('p', { class: 'dv-error', role: 'alert' });
  let last_most = 64;
  const stops = element('textarea', {
    rows: 2,
    'aria-label': 'Stop strings',
    placeholder: 'one in each line',
  });
  const help = element('dl', { class: 'dv-keys' });
  for (const [key, what] of KEYS) {
    help.append(
      element('dt', {}, element('kbd', { text: key.replace('Arrow', '') })),
      element('dd', { text: what }),
    );
  }
  const menu = create_menu(
    'Stop rules, trace, keys',
    element('button', {
      type: 'button',
      text: 'Download the trace (JSON)',
      title: 'Every step with all its figures',
      onclick: () => actions.save_trace(),
    }),
    element('label', {}, 'Max tokens', most),
    most_error,
    element('label', {}, 'Stop strings', stops),
    check(keys_on, 'single keys', 'Switch them off where they get in the way of other software'),
    help,
  );

  const status = element('p', { class: 'dv-status' });
  const chip = element('p', { class: 'dv-chip' });
  const notices = element('p', { class: 'dv-notices dv-muted' });
  const stop = element('p', { class: 'dv-stop', role: 'status' });
  const error = element('p', { class: 'dv-error', role: 'alert' });
  root.append(
    element(
      'div',
      { class: 'dv-transport-row' },
      element(
        'div',
        { class: 'dv-buttons', role: 'group', 'aria-label': 'Transport' },
        rewind,
        back,
        step,
        play,
        run,
        reroll,
      ),
      element(
        'div',
        { class: 'dv-options' },
        element('label', { class: 'dv-speed' }, 'speed', speed, speed_text),
        check(manual, 'manual', 'Each token is proposed first and waits for Enter or another choice'),
        check(slow, 'slow motion', 'A step stops at every stage of the chain'),
        menu.node,
      ),
    ),
    element('div', { class: 'dv-status-row' }, status, chip),
    notices,
    error,
    stop,
  );

  speed.addEventListener('input', () =>
    actions.show({ speed: Number(speed.value) === FASTEST ? 0 : Number(speed.value) }),
  );
  manual.addEventListener('change', () => actions.toggle('manual', manual.checked));
  slow.addEventListener('change', () => actions.toggle('slow', slow.checked));
  keys_on.addEventListener('change', () => actions.show({ keys: keys_on.checked }));
  most.addEventListener('change', () => {
    const value = Math.round(most.valueAsNumber);
    if (value >= 1 && value <= MOST_TOKENS) {
      actions.limit({ max_tokens: value });
      set_text(most_error, '');
    } else {
      const got = most.value || 'nothing';
      set_text(
        most_error,
        `max_tokens must be a whole number from 1 to ${count(MOST_TOKENS)}, got ${got}; ` +
          `${count(last_most)} stays in force.`,
      );
    }
  });
  stops.addEventListener('change', () =>
    actions.limit({ stop_strings: stops.value.split('\n').filter(Boolean) }),
  );

  return {
    destroy: menu.destroy,
    update(state, view) {
      const length = state.steps.length;
      const busy = state.mode !== 'paused';
      const over = Boolean(state.stop?.is_over);
      const at_limit = over || Boolean(state.stop?.at_limit);
      step.disabled = over;
      back.disabled = length === 0;
      rewind.disabled = length === 0;
      reroll.disabled = !can_reroll(state, view);
      run.disabled = busy || at_limit || state.manual || state.slow;
      play.disabled = !busy && (at_limit || state.manual || state.slow);
      set_text(play, busy ? 'Pause' : 'Play');
      if (document.activeElement !== speed) speed.value = String(state.speed || FASTEST);
      const pace = state.speed === 0 ? 'as fast as it goes' : `${state.speed} / s`;
      set_text(speed_text, pace);
      set_attribute(speed, 'aria-valuetext', state.speed === 0 ? pace : `${tokens(state.speed)} a second`);
      manual.checked = state.manual;
      slow.checked = state.slow;
      manual.disabled = slow.disabled = Boolean(state.strategy); // nothing is drawn, stage by stage or at all
      keys_on.checked = state.keys;
      last_most = state.limits.max_tokens;
      if (document.activeElement !== most && !most_error.textContent) most.value = String(last_most);
      if (document.activeElement !== stops) stops.value = state.limits.stop_strings.join('\n');
      show_status(state, view);
      show_chip(state);
      set_text(error, state.error_at === 'start' ? '' : error_text(state, view)); // the prompt shows that one
      set_text(stop, busy ? '' : state.said || (state.stop?.sentence ?? ''));
    },
  };

  function show_status(state, view) {
    const length = state.steps.length;
    const parts = [];
    if (view) {
      const taken = state.steps[view.index];
      parts.push([
        'step',
        view.is_pending
          ? `${count(view.index + 1)}, not drawn yet`
          : `${count(view.index + 1)} of ${count(length)}`,
      ]);
      const is_at_end = view.point === view.points.length - 1;
      const shown = view.kept ? bits(view.entropy.shown) : 'none';
      const name = `entropy, model → ${is_at_end ? 'draw' : 'here'}`;
      parts.push([name, `${view.entropy.raw.toFixed(2)} → ${shown}`]);
      const kept = view.kept
        ? `${count(view.kept)} of ${count(view.vocab)}`
        : `none: ${nothing_left(view).reason}`;
      parts.push(['kept', kept]);
      if (taken && !view.is_pending) {
        parts.push([taken.reused ? 'logits from the record,' : 'this step', ms(taken.total_ms)]);
        parts.push(['cache', size(taken.cache_bytes)]);
      }
      if (!view.exact) parts.push(['tail', 'binned while playing (estimate)']);
    } else if (length) {
      const taken = state.strategy ? state.steps[state.index] : null;
      if (!taken) parts.push(['steps', count(length)]);
      else {
        parts.push(['step', `${count(state.index + 1)} of ${count(length)}`]);
        parts.push(['this step', ms(taken.total_ms)], ['cache', size(taken.cache_bytes)]);
      }
    }
    if (state.pending_bytes) parts.push(['unfinished character', state.pending_bytes]);
    while (status.children.length > parts.length) status.lastChild.remove();
    parts.forEach(([name, value], place) => {
      const part =
        status.children[place] ?? status.appendChild(element('span', {}, element('span'), ' ', element('b')));
      set_text(part.children[0], name);
      set_text(part.children[1], value);
    });
  }

  function show_chip(state) {
    const { model } = state;
    const used = state.prompt_tokens.length + state.steps.length;
    const limit = model.context_length === null ? 'no limit' : count(model.context_length);
    const size_text = parameters_text(model.parameters);
    set_text(
      chip,
      `${model.name} · ${model.device} ${model.dtype} · ${size_text} parameters · ` +
        `vocabulary ${count(model.vocab_size)} · context ${count(used)} / ${limit}`,
    );
    set_attribute(chip, 'title', model.source);
    set_text(notices, model.notices.join(' '));
  }
}
