// Transport: the buttons that extend the text and take it back, the speed of Play, slow motion.

import { element, set_attribute, set_text } from '../lib/dom.js';
import { say } from '../words/say.js';
import { primary_of } from './primary.js';

/** @import { State, Actions } from '../types.js' */
/** @typedef {State} Properties */

const SPEEDS = [1, 2, 4, 8, 16, 0]; // tokens per second; 0: as fast as possible

/**
 * Tell if there is a draw to repeat.
 * @param {Pick<State, 'steps' | 'strategy' | 'read_only' | 'greedy' | 'manual' | 'row'>} state
 */
export const can_reroll = ({ steps, strategy, read_only, greedy, manual, row }) =>
  steps.length > 0 && !strategy && !read_only && !greedy && !(manual && row?.is_pending);

/**
 * @param {HTMLElement} root
 * @param {Actions} actions
 */
export function create(root, actions) {
  /**
   * @param {string} name
   * @param {string} title
   * @param {string} key
   * @param {() => void} run
   * @param {string} [look]
   */
  const button = (name, title, key, run, look = '') =>
    element('button', {
      type: 'button',
      text: name,
      title: `${title} (${key})`,
      'aria-keyshortcuts': key,
      class: look,
      onclick: run,
    });
  const rewind = button(say('Rewind'), say('Back to the prompt'), '0', () => actions.rewind());
  const back = button(say('Back'), say('Undo the last token'), 'B', () => actions.back(), 'dv-back');
  const step = button(say('Step'), say('Generate one token'), 'S', () => actions.step(), 'dv-go');
  const play = button(say('Play'), say('Generate token after token'), 'P', () => actions.toggle_play(), 'dv-play');
  const run = button(say('Run to end'), say('Generate until a stop rule ends the text'), 'E', () =>
    actions.run_to_end(),
  );
  const reroll = button(say('Re-roll'), say('Draw this token again with the next seed, or the one typed'), 'D', () =>
    actions.reroll(),
  );
  const slow = button(say('Slow motion'), say('Each step stops at every stage'), 'L', () => actions.toggle('slow'));
  const speed = element(
    'select',
    { 'aria-label': say('Speed'), title: say('Speed of Play'), class: 'dv-speed' },
    ...SPEEDS.map(value => element('option', { value, text: value ? `${value}/s` : say('fastest') })),
  );
  speed.addEventListener('change', () => actions.show({ speed: Number(speed.value) }));
  root.append(
    element(
      'div',
      { class: 'dv-buttons', role: 'group', 'aria-label': say('Transport') },
      ...[rewind, back, step, play, speed, run, reroll, slow],
    ),
  );

  return {
    /** @param {Properties} state */
    update(state) {
      const is_busy = state.mode !== 'paused';
      const is_over = Boolean(state.stop?.is_over) && !state.drafted;
      const is_at_limit = is_over || Boolean(state.stop?.at_limit);
      const waits = state.manual || state.slow;
      const is_empty = state.steps.length === 0;
      step.disabled = is_over;
      set_attribute(
        step,
        'title',
        state.drafted ? say('Begin with the new prompt and take one step (S)') : say('Generate one token (S)'),
      );
      back.disabled = rewind.disabled = is_empty || Boolean(state.read_only);
      reroll.disabled = !can_reroll(state);
      run.disabled = is_busy || is_at_limit || waits;
      play.disabled = !is_busy && (is_at_limit || waits);
      set_text(play, is_busy ? say('Pause') : say('Play'));
      if (document.activeElement !== speed) speed.value = String(nearest(state.speed));
      slow.disabled = state.strategy !== null || Boolean(state.read_only);
      set_attribute(slow, 'aria-pressed', String(state.slow));
      const primary = primary_of(state);
      step.classList.toggle('dv-primary', primary === 'step');
      play.classList.toggle('dv-primary', primary === 'play');
    },
  };
}

/**
 * The listed speed nearest to a remembered one.
 * @param {number} speed
 */
function nearest(speed) {
  if (SPEEDS.includes(speed)) return speed;
  return speed > 16
    ? 0
    : [...SPEEDS.slice(0, -1)].sort((one, other) => Math.abs(one - speed) - Math.abs(other - speed))[0];
}
