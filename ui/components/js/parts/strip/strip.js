// The token strip: prompt and generated tokens as one list, the place of the next token, and the text in plain form.

import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { bits, count, percent, tokens } from '../../words/format.js';
import { say, with_figures } from '../../words/say.js';
import { name_of } from '../chat.js';
import { create_branches } from './branches.js';
import { create_items } from './items.js';
import { create_legend, shade_of } from './legend.js';
import { create_lines } from './lines.js';
import { perplexity, thinking_steps } from './thinking.js';

/** @import { State, Actions, Step } from '../../types.js' */
/** @import { Item, Token } from './items.js' */
/**
 * @typedef {Pick<State, 'prompt' | 'chat' | 'before' | 'prompt_tokens' | 'steps' | 'index' | 'stop' | 'manual' | 'branches' | 'colouring' | 'view'
 *   | 'pending_bytes' | 'stage' | 'strategy' | 'read_only'>} Properties
 */

// A byte that is not a character alone. A prompt token has no flag for it, but its label spells it out.
const BYTE_LABEL = /<0x[89A-F][0-9A-F]>/;
const LINE_EDGE_PX = 2; // between the top of a line and that of its tokens
const NEAR_END_PX = 12; // this close to the end counts as "at the end"
const LONG_PROMPT = 80; // tokens; a longer prompt shows only its two ends until it is unfolded
const SHOWN_AT_START = 16;
const SHOWN_AT_END = 40;
const COPIED_MS = 1500;

/**
 * @param {HTMLElement} root
 * @param {Pick<Actions, 'inspect' | 'switch_branch' | 'edit'>} actions
 */
export function create(root, actions) {
  let shown_index = -1;
  /** @type {State['colouring']|null} */
  let shown_colouring = null;
  let is_on_stage = false;
  let is_following = true; // false once the person has scrolled up
  let own_scroll_top = 0; // the scroll position set by this module, to tell its scrolling from the person's
  let own_size = ''; // of the box: a new size scrolls by itself
  let is_plain = false;
  let is_unfolded = false;
  let folds_thoughts = false;
  /** @type {Set<number>} */
  let thoughts = new Set();
  /** @type {unknown[]} */
  let thought_of = []; // what `thoughts` was found in
  let prompt = '';
  /** @type {Properties} */
  let state;

  const list = element('div', { class: 'dv-tokens', role: 'list', 'aria-label': say('Tokens') });
  const slot = element('button', { class: 'dv-slot dv-token', type: 'button', tabindex: '-1' });
  const plain = element('p', { class: 'dv-plain', tabindex: '0', 'aria-label': say('Text'), dir: 'auto' });
  const box = element('div', { class: 'dv-strip-box' }, list, slot, plain);
  const unfold = element('button', { class: 'dv-quiet dv-unfold', type: 'button', onclick: toggle_fold });
  const to_newest = element('button', {
    class: 'dv-to-newest dv-hidden',
    type: 'button',
    text: say('Jump to latest ↓'),
    onclick: follow,
  });
  const as_text = element('button', {
    class: 'dv-quiet',
    type: 'button',
    text: say('Text'),
    title: say('Show plain text instead of tokens'),
    onclick: toggle_plain,
  });
  const whole = element('button', {
    class: 'dv-quiet',
    type: 'button',
    text: say('All'),
    title: say('Show all of the text'),
    'aria-pressed': 'false',
    onclick: toggle_whole,
  });
  const copy = element('button', {
    class: 'dv-quiet',
    type: 'button',
    text: say('Copy'),
    'aria-label': say('Copy text'),
    onclick: copy_text,
  });
  const editor = element('textarea', {
    class: 'dv-editor dv-away',
    'aria-label': say('Generated text'),
    spellcheck: 'false',
    dir: 'auto',
  });
  const edit = element('button', { class: 'dv-quiet', type: 'button', text: say('Edit'), onclick: toggle_editor });
  editor.addEventListener('keydown', event => {
    if (event.key === 'Escape') close_editor();
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) toggle_editor();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const thinking = element('button', { class: 'dv-quiet dv-hidden', type: 'button', onclick: fold_thoughts });
  const legend = create_legend();
  const colours = element('button', {
    class: 'dv-quiet',
    type: 'button',
    text: say('Colours'),
    title: say('What the colours mean'),
    'aria-expanded': 'false',
    onclick: () => {
      legend.node.classList.toggle('dv-hidden');
      set_attribute(colours, 'aria-expanded', String(!legend.node.classList.contains('dv-hidden')));
    },
  });
  legend.node.classList.add('dv-hidden');
  const branches = create_branches(actions);
  root.append(
    element(
      'div',
      { class: 'dv-strip-frame' },
      box,
      editor,
      to_newest,
      element('div', { class: 'dv-strip-tools' }, whole, as_text, edit, copy, colours, thinking),
    ),
    legend.node,
    branches.node,
  );
  // From afar a text is read by its spaces; from near, by its tokens.
  const written = (/** @type {string} */ label) => (state.stage ? label.replaceAll('␣', '\u00a0') : label);
  const lines = create_lines(list);
  const before = create_items(lines, dress_prompt, written);
  const is_folded = (/** @type {number} */ index) =>
    folds_thoughts && thoughts.has(index) && thoughts.has(index - 1) && thoughts.has(index + 1);
  const steps = create_items(lines, dress_step, written, is_folded);

  /** @param {Item} item @param {number} number */
  function dress_prompt({ li, token }, number) {
    if (token.folded) return dress_fold(li, token.folded);
    const is_partial = !token.special && BYTE_LABEL.test(token.label);
    set_class(li, `dv-token prompt${token.special ? ' special' : is_partial ? ' partial' : ''}`);
    const words = [say('prompt token {place}', { place: count((token.place ?? number) + 1) }), `id ${token.id}`];
    if (token.special) words.push(say('special'));
    if (is_partial) words.push(say('part of a character'));
    set_attribute(li, 'title', words.join(', '));
  }

  /** @param {HTMLElement} li @param {number} number */
  function dress_fold(li, number) {
    set_class(li, 'dv-fold');
    set_text(unfold, say('… {count} more tokens of the prompt …', { count: count(number) }));
    li.replaceChildren(unfold);
  }

  /** @param {Item} item @param {number} index */
  function dress_step({ li, token }, index) {
    if (!li.hasAttribute('tabindex')) li.setAttribute('tabindex', '-1');
    const step = /** @type {Step} */ (token);
    set_attribute(li, 'title', describe(step, index));
    let names = `dv-token generated dv-shade-${shade_of(state.colouring, step[state.colouring])}`;
    for (const mark of /** @type {const} */ (['forced', 'special', 'partial'])) if (step[mark]) names += ` ${mark}`;
    if (thoughts.has(index)) names += is_folded(index) ? ' dv-away' : ' thought';
    set_class(li, names);
  }

  // --- plain text ------------------------------------------------------------------------------

  const generated_text = () => state.steps.map(step => step.text).join('');
  /** The prompt as plain text; in chat, an answer begins a new paragraph. */
  function prompt_text() {
    if (!state.chat) return state.prompt;
    if (!state.before.length) return `${state.prompt}\n\n`;
    const messages = [...state.before, { role: 'user', content: state.prompt }];
    return messages.map(({ role, content }) => `${name_of(role)}: ${content}\n\n`).join('');
  }
  const whole_text = () => prompt_text() + generated_text();

  function toggle_plain() {
    is_plain = !is_plain;
    set_attribute(as_text, 'aria-pressed', String(is_plain));
    for (const node of [list, slot]) node.classList.toggle('dv-away', is_plain);
    plain.classList.toggle('dv-away', !is_plain);
    write_plain();
    follow();
  }

  function write_plain() {
    if (!is_plain) return;
    // The blank line between a message and its answer is not part of the text.
    const words = prompt_text();
    const end = state.chat ? words.length - 2 : words.length;
    const prompt_words = element('span', { class: 'dv-muted' }, ...with_breaks(words.slice(0, end)), words.slice(end));
    plain.replaceChildren(prompt_words, ...with_breaks(generated_text()));
  }

  function toggle_whole() {
    const is_whole = root.classList.toggle('dv-whole');
    set_attribute(whole, 'aria-pressed', String(is_whole));
    follow();
  }

  function fold_thoughts() {
    folds_thoughts = !folds_thoughts;
    steps.redress();
    update_thinking();
    follow();
  }

  function update_thinking() {
    show(thinking, thoughts.size > 0);
    if (!thoughts.size) return;
    const parts = [0, 1].map(other => state.steps.filter((_, index) => thoughts.has(index) === (other === 0)));
    const [thought, answer] = parts.map(some => ({
      tokens: tokens(some.length),
      perplexity: some.length ? with_figures(perplexity(some).toFixed(2)) : '–',
    }));
    set_text(thinking, folds_thoughts ? say('Unfold thinking') : say('Fold thinking'));
    set_attribute(thinking, 'aria-pressed', String(folds_thoughts));
    const values = {
      thought: thought.tokens,
      of_thought: thought.perplexity,
      answer: answer.tokens,
      of_answer: answer.perplexity,
    };
    const said = say('Thinking: {thought}, perplexity {of_thought}; answer: {answer}, perplexity {of_answer}', values);
    set_attribute(thinking, 'title', said);
  }

  const is_editing = () => !editor.classList.contains('dv-away');

  /** Open the editor, or apply what was typed. */
  function toggle_editor() {
    if (is_editing()) {
      const typed = editor.value;
      close_editor();
      if (typed !== generated_text()) actions.edit(typed);
      return;
    }
    editor.value = generated_text();
    box.classList.add('dv-away');
    editor.classList.remove('dv-away');
    set_text(edit, say('Apply'));
    editor.focus();
    editor.setSelectionRange(editor.value.length, editor.value.length);
  }

  function close_editor() {
    editor.classList.add('dv-away');
    box.classList.remove('dv-away');
    set_text(edit, say('Edit'));
    edit.focus();
  }

  async function copy_text() {
    set_text(copy, (await to_clipboard(whole_text())) ? say('Copied') : say('Press Ctrl+C'));
    setTimeout(() => set_text(copy, say('Copy')), COPIED_MS);
  }

  /** @param {string} text */
  async function to_clipboard(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // An app served without TLS has only the old clipboard API, which copies the selection.
      if (!is_plain) toggle_plain();
      getSelection()?.selectAllChildren(plain);
      return document.execCommand('copy');
    }
  }

  // Selected tokens are copied as their text.
  box.addEventListener('copy', event => {
    const selection = getSelection();
    if (is_plain || !selection || selection.isCollapsed) return;
    /** @param {{at(place: number): Item|undefined, length: number}} items @param {(token: Token) => string} text_of */
    const selected = (items, text_of) =>
      Array.from({ length: items.length }, (_, place) => /** @type {Item} */ (items.at(place)))
        .filter(({ li }) => selection.containsNode(li, true))
        .map(({ token }) => text_of(token));
    const [from_prompt, from_steps] = [
      selected(before, token => token.text ?? token.label),
      selected(steps, token => token.text ?? ''),
    ];
    event.clipboardData?.setData('text/plain', [...from_prompt, ...from_steps].join(''));
    event.preventDefault();
  });

  function toggle_fold() {
    is_unfolded = true;
    update(state);
  }

  /** The prompt's tokens, or both ends of a long prompt. @param {Token[]} tokens */
  function folded(tokens) {
    if (is_unfolded || tokens.length <= LONG_PROMPT) return tokens;
    const number = tokens.length - SHOWN_AT_START - SHOWN_AT_END;
    const tail = tokens
      .slice(-SHOWN_AT_END)
      .map((token, place) => ({ ...token, place: tokens.length - SHOWN_AT_END + place }));
    return [...tokens.slice(0, SHOWN_AT_START), { id: -1, label: '', special: false, folded: number }, ...tail];
  }

  // --- the inspected token -------------------------------------------------------------------

  /** @param {number} index @returns {HTMLElement} */
  const place_of = index => steps.at(index)?.li ?? slot;

  /** @param {number} index */
  function mark_inspected(index) {
    for (const place of list.querySelectorAll('[aria-current]')) place.removeAttribute('aria-current');
    for (const place of list.querySelectorAll('[tabindex="0"]')) place.setAttribute('tabindex', '-1');
    set_attribute(slot, 'aria-current', null);
    slot.setAttribute('tabindex', '-1');
    const place = place_of(index);
    place.setAttribute('aria-current', 'true');
    place.setAttribute('tabindex', '0'); // the strip's one tab stop
  }

  /** @param {Element} place */
  function inspect_at(place) {
    const index = place === slot ? steps.length : steps.index_of(place);
    if (index >= 0) actions.inspect(index);
  }

  /** @param {EventTarget|null} target */
  const place_at = target => (target instanceof Element ? target.closest('.dv-slot, li.generated') : null);

  box.addEventListener('click', event => {
    const place = place_at(event.target);
    if (place && getSelection()?.isCollapsed !== false) inspect_at(place);
  });

  box.addEventListener('keydown', event => {
    const place = place_at(event.target);
    if (!place || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const last = is_shown(slot) ? steps.length : steps.length - 1;
    const index = place === slot ? steps.length : steps.index_of(place);
    /** @type {Record<string, number>} */
    const moves = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: last, Enter: index, ' ': index };
    const wanted = moves[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    event.stopPropagation(); // an arrow key in the strip is not also a page shortcut
    const next = place_of(Math.min(Math.max(wanted, 0), last));
    next.focus({ preventScroll: true });
    reveal(next);
    inspect_at(next);
  });

  // --- scrolling, of the box only ------------------------------------------------------------

  /** The scroll position of the newest token: if the slot has a line to itself, that of the line before. */
  function end() {
    const bottom = box.scrollHeight - box.clientHeight;
    const last = is_plain ? null : steps.at(-1)?.li;
    return last ? Math.min(bottom, last.offsetTop - LINE_EDGE_PX) : bottom;
  }

  const size = () => `${box.clientWidth} ${box.clientHeight}`;
  const is_at_end = () => box.scrollTop >= end() - NEAR_END_PX;

  /** @param {number} top */
  function scroll_to(top) {
    box.scrollTop = top;
    own_scroll_top = box.scrollTop;
  }

  function follow() {
    is_following = true;
    scroll_to(end());
    show(to_newest, false);
  }

  /** @param {HTMLElement} place */
  function reveal(place) {
    const [{ top, bottom }, frame] = [place, box].map(each => each.getBoundingClientRect());
    if (top < frame.top) scroll_to(box.scrollTop + top - frame.top - 4);
    else if (bottom > frame.bottom) scroll_to(box.scrollTop + bottom - frame.bottom + 4);
  }

  box.addEventListener(
    'scroll',
    () => {
      const at_end = is_at_end();
      if (at_end) is_following = true;
      else if (own_size === size() && Math.abs(box.scrollTop - own_scroll_top) > 1) is_following = false;
      show(to_newest, !at_end && !is_following);
    },
    { passive: true },
  );

  // Line breaks move after a change of width, and a hidden strip could not scroll.
  const resize = new ResizeObserver(() => {
    if (own_size !== size()) lines.reopen();
    else if (!folds_thoughts) lines.close();
    own_size = size();
    if (is_following && state && state.index >= steps.length - 1) scroll_to(end());
  });
  resize.observe(box);

  /** Scroll to the end once the frame is laid out: to read a size now would force a second layout. */
  function follow_after_layout() {
    resize.unobserve(box);
    resize.observe(box); // an observer calls back for each new observation
  }

  // --- update ----------------------------------------------------------------------------------

  function update_slot() {
    const { view, manual, stop, prompt_tokens, steps: taken, index } = state;
    const label = manual && view?.is_pending ? (view.chosen?.label ?? null) : null;
    set_text(slot, label === null ? '?' : written(label));
    set_class(slot, `dv-slot dv-token${label === null ? '' : ' proposed'}${is_plain ? ' dv-away' : ''}`);
    set_attribute(
      slot,
      'aria-label',
      label === null ? say('the token to come') : say('proposed token {token}', { token: label }),
    );
    set_attribute(slot, 'title', label === null ? say('not drawn yet') : say('proposed, not taken yet'));
    const has_tokens = prompt_tokens.length + taken.length > 0;
    show(slot, has_tokens && (!stop?.is_over || index >= taken.length));
  }

  /** @param {Properties} now */
  function update(now) {
    state = now;
    const focused = document.activeElement;
    const had_focus = box.contains(focused);
    const was_inspected = had_focus && Boolean(focused?.hasAttribute('aria-current'));
    if (prompt !== now.prompt) {
      prompt = now.prompt;
      is_unfolded = false;
    }
    const first_step = steps.at(0)?.li ?? null;
    const has_prompt_changed = before.update(folded(now.prompt_tokens), first_step);
    const had = thoughts;
    const known = steps.length;
    const key = [now.prompt_tokens, now.steps.at(-1), now.steps.length];
    if (key.some((part, place) => part !== thought_of[place])) thoughts = thinking_steps(now.prompt_tokens, now.steps);
    thought_of = key;
    const have_steps_changed = steps.update(now.steps, null);
    const is_other = (/** @type {number} */ index) => folds_thoughts || (index < known && !had.has(index));
    if ([...thoughts].some(is_other) || had.size > thoughts.size) steps.redress();
    update_thinking();
    if (is_on_stage !== now.stage) before.redress();
    if (is_on_stage !== now.stage || shown_colouring !== now.colouring) steps.redress();
    shown_colouring = now.colouring;
    is_on_stage = now.stage;
    update_slot();
    edit.disabled = now.steps.length === 0 || now.strategy !== null || Boolean(now.read_only);
    set_attribute(edit, 'title', say('Edit the generated text: it is read again from the change on, as a branch'));
    if (is_editing() && (have_steps_changed || edit.disabled)) close_editor();
    if (has_prompt_changed || have_steps_changed) write_plain();
    legend.update(now.colouring);
    branches.update(now.branches);

    const is_moved = now.index !== shown_index;
    if (is_moved || have_steps_changed) mark_inspected(now.index);
    shown_index = now.index;
    if (had_focus && (was_inspected || !box.contains(document.activeElement))) {
      place_of(now.index).focus({ preventScroll: true });
    }
    if (has_prompt_changed) is_following = true; // a new text
    const is_newest = now.index >= now.steps.length - 1;
    if (is_newest && (is_moved || have_steps_changed || has_prompt_changed)) {
      if (is_following) follow_after_layout();
    } else if (is_moved) {
      reveal(place_of(now.index));
    }
  }

  plain.classList.add('dv-away');
  return { update, destroy: () => resize.disconnect() };
}

/**
 * A text with a visible mark at each line end; copied text has no marks.
 *
 * @param {string} text
 * @returns {(Node|string)[]}
 */
const with_breaks = text =>
  text
    .split(/(?<=\n)/)
    .flatMap(part =>
      part.endsWith('\n') ? [part.slice(0, -1), element('span', { class: 'dv-break', text: '⏎' }), '\n'] : [part],
    );

/** @param {Element} target */
const is_shown = target => !target.classList.contains('dv-hidden');
/** @param {Element} target @param {boolean} on */
const show = (target, on) => target.classList.toggle('dv-hidden', !on);

/**
 * A step in words: "token 5, id 262, 12.30 %, rank 3, forced".
 * @param {Step} step
 * @param {number} index
 */
function describe(step, index) {
  const [drawn, own] = [step.probability, step.model_probability].map(percent);
  const words = [
    say('token {place}', { place: count(index + 1) }),
    `id ${step.id}`,
    ...(drawn === own ? [] : [drawn]),
    say('rank {rank}', { rank: count(step.rank) }),
  ];
  if (step.forced) words.push(say('forced'));
  if (step.special) words.push(say('special'));
  if (step.partial) words.push(say('part of a character'));
  words.push(
    say('model’s probability {probability}', { probability: own }),
    say('model’s uncertainty {entropy}', { entropy: bits(step.model_entropy) }),
  );
  return words.join(', ');
}
