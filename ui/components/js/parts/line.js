// One line below the loop: the step on screen, and its most important message at the moment. That is a long operation,
// a mistake, a stop of the tour, a what-if, the inspected stage, or something notable.

import { element, set_attribute, set_class, set_live, set_text } from '../lib/dom.js';
import { stay_in_app } from '../lib/in_app.js';
import { count } from '../words/format.js';
import { what_to_say } from '../words/line.js';
import { say } from '../words/say.js';
import { create_busy } from './busy.js';
import { primary_of } from './primary.js';

/** @import { Actions, Reason, State } from '../types.js' */
/** @typedef {State} Properties */

/**
 * @param {HTMLElement} root
 * @param {Pick<Actions, 'show_recorded' | 'reveal' | 'forget' | 'cancel' | 'tour'>} actions
 */
export function create(root, actions) {
  const chip = element('span', { class: 'dv-chip' });
  const title = element('strong');
  const text = element('span');
  const sentence = element('p', { class: 'dv-said' }, title, ' ', text);
  const recorded = element('button', {
    type: 'button',
    class: 'dv-hidden',
    text: say('Show as recorded'),
    onclick: () => actions.show_recorded(),
  });
  const close = element('button', {
    type: 'button',
    class: 'dv-quiet dv-hidden',
    text: '×',
    'aria-label': say('Dismiss'),
    onclick: () => actions.forget(),
  });
  const next = element('button', {
    type: 'button',
    class: 'dv-hidden',
    onclick: () => actions.tour('next'),
  });
  const skip = element('button', {
    type: 'button',
    class: 'dv-quiet dv-hidden',
    text: say('Skip the tour'),
    onclick: () => actions.tour('skip'),
  });
  const lesson = stay_in_app(element('a', { class: 'dv-hidden', text: say('Lesson 1') }));
  const lessons = stay_in_app(element('a', { class: 'dv-hidden', text: say('A first hour of lessons') }));
  const busy = create_busy(() => actions.cancel());
  const reveal = element('button', {
    type: 'button',
    class: 'dv-hidden',
    text: say('Reveal'),
    title: say('Show the candidates (H)'),
    'aria-keyshortcuts': 'H',
    onclick: () => actions.reveal(),
  });
  root.append(chip, sentence, busy.node, reveal, recorded, lesson, lessons, next, skip, close);

  /** Keep the line's height during a long operation, so that nothing below it moves. @param {boolean} is_busy */
  function keep_height(is_busy) {
    const height = is_busy ? root.style.minHeight || `${root.getBoundingClientRect().height}px` : '';
    if (root.style.minHeight !== height) root.style.minHeight = height;
  }

  return {
    /** @param {Properties} state @param {Reason} reason */
    update(state, reason) {
      const { view, steps, index } = state;
      const place =
        index >= steps.length
          ? say('Next: step {step}', { step: count(steps.length + 1) })
          : say('Step {step} of {all}', { step: count(index + 1), all: count(steps.length) });
      set_text(chip, place);
      const said = what_to_say(state);
      const is_busy = said.kind === 'busy';
      keep_height(is_busy);
      busy.update(is_busy ? state.busy : null);
      set_class(root, `dv-line-of-words dv-says-${said.kind}`);
      set_attribute(sentence, 'role', said.kind === 'error' ? 'alert' : null);
      if (is_busy) set_attribute(sentence, 'aria-live', 'polite');
      else if (said.kind !== 'error') set_live(sentence, state, reason);
      set_text(title, said.title);
      set_text(text, said.text);
      set_attribute(sentence, 'title', said.text);
      reveal.classList.toggle('dv-hidden', !state.covered || is_busy);
      recorded.classList.toggle('dv-hidden', !view?.what_if || is_busy);
      const is_tour = said.kind === 'tour';
      const is_over = state.tour === 'moved';
      set_text(next, said.next ?? '');
      next.classList.toggle('dv-hidden', !said.next);
      next.classList.toggle('dv-primary', primary_of(state) === 'tour');
      skip.classList.toggle('dv-hidden', !is_tour || is_over);
      lesson.classList.toggle('dv-hidden', !is_tour || !is_over || !state.lessons);
      lessons.classList.toggle('dv-hidden', !is_tour || !state.lessons);
      if (state.lessons) {
        set_attribute(lesson, 'href', state.lessons.first);
        set_attribute(lessons, 'href', state.lessons.all);
      }
      const can_close = state.error || state.visit_notice;
      close.classList.toggle('dv-hidden', !can_close || is_busy);
    },
  };
}
