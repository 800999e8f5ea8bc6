// The stage cards: one per stage in chain order, with slider, exact field, switch, effect and picture.
// The sliders hold the values themselves; whoever drags or types is never overwritten by an update.

import { element, set_attribute, set_class, set_text } from './dom.js';
import { bits, count, percent, quoted, shorten, stage_label, tokens } from './format.js';
import { draw_picture, stage_picture } from './geometry.js';
import { TAKEN_GREEDILY, was_greedy, whole_of } from './loop.js';
import { LARGEST_SEED, OFF, seen_count } from './shape.js';

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const MOVING_KEYS = /^(Arrow|Page|Home|End)/;
const LONGEST_TOKEN = 14;

/** Each check returns what is wrong with a finite number, or null. The wording is the engine's. */
const STAGES = [
  {
    name: 'repetition_penalty', low: 1, high: 2, step: 0.01, usual: 1.2,
    remedy: () => 'use 1 to switch it off, 1.1 to 1.3 against loops',
    idle: 'no score is changed',
    check: value => value <= 0 ? 'must be above 0'
      : value < 0.001 || value > 1000 ? 'must be between 0.001 and 1000' : null,
  },
  {
    name: 'temperature', low: 0, high: 2, step: 0.01, usual: 0.7,
    remedy: () => 'use 0 for greedy, or 0.000001 or more (1 leaves the model’s own odds)',
    idle: '1 leaves the model’s own odds',
    check: value => value < 0 ? 'must not be negative'
      : value > 0 && value < 1e-6 ? 'is too small to divide by'
        : value > 1e6 ? 'must be at most 1,000,000' : null,
  },
  {
    name: 'top_k', low: 0, high: 200, step: 1, usual: 50,
    remedy: (value, vocab) => vocab && value > vocab
      ? `use at most ${count(vocab)}, or 0 to switch it off`
      : 'use 0 to switch it off, or a whole number of tokens to keep',
    idle: 'any number of tokens',
    check: (value, vocab) => value < 0 || !Number.isInteger(value) ? 'must be 0 or a positive whole number'
      : vocab && value > vocab ? `is above the vocabulary of ${count(vocab)} tokens` : null,
  },
  {
    name: 'top_p', low: 0.01, high: 1, step: 0.01, usual: 0.9,
    remedy: () => 'use 1 to switch it off, or temperature 0 for greedy',
    idle: 'the whole mass',
    check: value => value <= 0 || value > 1 ? 'must be above 0 and at most 1' : null,
  },
  {
    name: 'min_p', low: 0, high: 1, step: 0.005, usual: 0.05,
    remedy: () => 'use 0 to switch it off, 0.05 to 0.1 with a high temperature',
    idle: 'no threshold',
    check: value => value < 0 || value > 1 ? 'must be between 0 and 1' : null,
  },
].map(stage => ({ ...stage, label: stage_label(stage.name), off: OFF[stage.name] }));

const SEED = {
  name: 'seed',
  remedy: () => `use a whole number from 0 to ${count(LARGEST_SEED)}`,
  check: value => !Number.isInteger(value) ? 'must be a whole number'
    : value < 0 || value > LARGEST_SEED ? 'is out of range' : null,
};

const PRESETS = [
  ['Greedy', { temperature: 0 }],
  ['Pure sampling', {}],
  ['Top-k 50', { top_k: 50 }],
  ['Top-p 0.9', { top_p: 0.9 }],
  ['Nucleus: p 0.9, T 0.7', { temperature: 0.7, top_p: 0.9 }],
  ['Creative', { temperature: 1.2, min_p: 0.05 }],
  ['Code', { temperature: 0.2, top_p: 0.95 }],
].map(([label, changes]) => ({ label, settings: { ...OFF, ...changes } }));

/** A typed value: `{value}`, or `{sentence}` that names the setting, what was typed and the remedy. */
function read_exact(setting, text, vocab) {
  const typed = text.trim();
  const value = NUMBER.test(typed) ? Number(typed) : NaN;
  const is_number = Number.isFinite(value);
  const problem = is_number ? setting.check(value, vocab) : 'must be a number';
  if (!problem) return { value };
  const shown = typed === '' ? 'nothing' : is_number ? shorten(typed, 24) : quoted(typed);
  return { sentence: `${setting.name} ${problem}, got ${shown}; ${setting.remedy(value, vocab)}.` };
}

/** The value as its field shows it: two decimals or as many as it has. */
function exact_text(stage, value) {
  if (stage.step === undefined || stage.step === 1) return String(value);
  const text = String(value);
  return text.includes('e') || (text.split('.')[1] ?? '').length > 2 ? text : value.toFixed(2);
}

/** The value as a screen reader says it. */
function spoken_value(stage, value) {
  if (stage.name === 'temperature' && value === 0) return 'greedy';
  if (value === stage.off) return 'off';
  return stage.step === 1 ? count(value) : exact_text(stage, value);
}

/** "50th", "21st". */
function ordinal(rank) {
  const teens = rank % 100 >= 11 && rank % 100 <= 13;
  return `${count(rank)}${teens ? 'th' : ['th', 'st', 'nd', 'rd'][rank % 10] ?? 'th'}`;
}

const entropy_change = stage => `${stage.entropy_before.toFixed(2)} → ${bits(stage.entropy_after)}`;

/** What a stage did, as two lines: a plain one and a muted one. */
function effect(state, view, stage) {
  if (stage.name === 'temperature' && stage.value === 0) {
    return [`${count(stage.before)} → ${tokens(stage.after)}`, 'greedy: the highest score alone stays'];
  }
  if (stage.name === 'temperature') {
    return [`entropy ${entropy_change(stage)}`, `all ${tokens(stage.after)} kept`];
  }
  if (stage.name === 'repetition_penalty') {
    const seen = seen_count(state, view.index);
    const moved = `${tokens(seen)} of the text ${stage.value > 1 ? 'lowered' : 'raised'}`;
    return [`entropy ${entropy_change(stage)}`, moved];
  }
  const change = `${count(stage.before)} → ${tokens(stage.after)}`;
  if (stage.after === stage.before) return [change, 'nothing removed'];
  const tied = stage.tied > 0 ? ` (${count(stage.tied)} tied with the ${ordinal(stage.value)})` : '';
  const removed = `removed ${percent(stage.mass_removed)} of ${whole_of(view, stage)}`;
  return [change + tied, `${removed} · ${entropy_change(stage)}`];
}

/** A text field for an exact value, with its sentence for nonsense; `apply` gets a valid value. */
function exact_field(setting, label, apply) {
  const input = element('input', {
    type: 'text', inputmode: setting.step < 1 ? 'decimal' : 'numeric',
    autocomplete: 'off', spellcheck: 'false', role: 'spinbutton', 'aria-label': label, class: 'dv-exact',
  });
  const alert = element('p', { class: 'dv-card-error dv-hidden', role: 'alert' });
  let current; // the value that is set
  let vocab = null;
  let is_typing = false;
  const complain = sentence => {
    set_text(alert, sentence);
    set_class(alert, sentence ? 'dv-card-error' : 'dv-card-error dv-hidden');
    set_attribute(input, 'aria-invalid', sentence ? 'true' : null);
  };
  const write = () => {
    const text = exact_text(setting, current);
    if (input.value !== text) input.value = text;
    set_attribute(input, 'aria-valuenow', current);
  };
  /** The page redraws a frame later; what follows at once, as a held arrow key, counts from here. */
  const take = value => {
    const has_changed = value !== current;
    current = value;
    write();
    if (has_changed) apply(value);
  };
  const commit = () => {
    const { value, sentence } = read_exact(setting, input.value, vocab);
    is_typing = false;
    complain(sentence ?? '');
    if (sentence) return; // what was typed stays, to be mended
    take(value);
  };
  const nudge = direction => {
    const step = setting.step ?? 1;
    const moved = Number((current + direction * step).toFixed(6));
    if (setting.check(moved, vocab)) return;
    is_typing = false;
    complain('');
    take(moved);
  };
  input.addEventListener('input', () => { is_typing = true; });
  input.addEventListener('change', commit);
  input.addEventListener('blur', () => { if (is_typing) commit(); });
  input.addEventListener('keydown', event => {
    if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
      event.preventDefault();
      nudge(event.key === 'ArrowUp' ? 1 : -1);
    } else if (event.key === 'Escape' && (is_typing || alert.textContent)) {
      event.stopPropagation();
      is_typing = false;
      complain('');
      write();
    } else if (event.key === 'Enter' && is_typing) commit();
  });
  return {
    input,
    alert,
    update(value, vocab_size) {
      vocab = vocab_size;
      if (value !== current) {
        current = value;
        if (alert.textContent) complain(''); // set elsewhere: the complaint is about nothing any more
      }
      const is_held = is_typing && input.getRootNode().activeElement === input;
      if (!is_held && !alert.textContent) {
        is_typing = false;
        write();
      }
    },
  };
}

/** The range input of a stage. Between pressing and letting go the hand owns the thumb. */
function slider_of(stage, actions) {
  const input = element('input', {
    type: 'range', min: stage.low, max: stage.high, step: stage.step,
    'aria-label': stage.label, class: 'dv-slider',
  });
  let is_held = false;
  const hold = () => { is_held = true; };
  const release = () => { is_held = false; };
  input.addEventListener('pointerdown', hold);
  input.addEventListener('keydown', event => { if (MOVING_KEYS.test(event.key)) hold(); });
  for (const end of ['pointerup', 'pointercancel', 'lostpointercapture', 'keyup', 'blur']) {
    input.addEventListener(end, release);
  }
  input.addEventListener('input', () => {
    const value = input.valueAsNumber;
    set_attribute(input, 'aria-valuetext', spoken_value(stage, value));
    actions.set({ [stage.name]: value });
  });
  input.addEventListener('change', () => {
    release();
    actions.settle();
  });
  return {
    input,
    update(value, vocab) {
      if (is_held) return;
      if (stage.name === 'top_k' && vocab) set_attribute(input, 'max', Math.min(stage.high, vocab));
      if (input.valueAsNumber !== value) input.value = value; // beyond the end it stands at the end
      set_attribute(input, 'aria-valuetext', spoken_value(stage, value));
    },
  };
}

/** Off and on again, with the value that was set last. */
function switch_of(stage, actions) {
  let remembered = stage.usual;
  let is_on = false;
  const button = element('button', {
    type: 'button', role: 'switch', class: 'dv-switch',
    'aria-label': `${stage.label} on`, 'aria-checked': 'false',
    onclick: () => {
      actions.set({ [stage.name]: is_on ? stage.off : remembered });
      actions.settle();
    },
  });
  return {
    button,
    update(value, vocab) {
      is_on = value !== stage.off;
      if (is_on) remembered = value;
      if (stage.name === 'top_k' && vocab) remembered = Math.min(remembered, vocab);
      set_attribute(button, 'aria-checked', String(is_on));
      const title = is_on ? 'Switch off' : `Switch on, with ${exact_text(stage, remembered)}`;
      set_attribute(button, 'title', title);
    },
  };
}

/** Whether a stage is on, still to come at the point that is looked at, or is that point. */
function standing(state, view, name) {
  const place = view.points.findIndex(point => point.name === name);
  return {
    is_later: place >= 0 && place > view.point,
    is_lit: state.point !== null && place === view.point,
  };
}

const card_class = (is_faded, is_lit) =>
  `dv-card${is_faded ? ' dv-card-faded' : ''}${is_lit ? ' dv-card-lit' : ''}`;

function stage_card(stage, actions) {
  const apply = value => {
    actions.set({ [stage.name]: value });
    actions.settle();
  };
  const slider = slider_of(stage, actions);
  const field = exact_field(stage, `${stage.label}, exact value`, apply);
  const toggle = switch_of(stage, actions);
  const picture = stage_picture(stage.name);
  const first = element('div', { class: 'dv-effect' });
  const second = element('div', { class: 'dv-effect dv-muted' });
  const card = element(
    'section',
    { class: 'dv-card', role: 'group', 'aria-label': `Card: ${stage.label}`, 'data-stage': stage.name },
    element('div', { class: 'dv-card-head' },
      element('span', { class: 'dv-card-name', text: stage.label }), toggle.button, field.input),
    slider.input,
    element('div', { class: 'dv-card-body' },
      picture.node, element('div', { class: 'dv-effects' }, first, second)),
    field.alert,
  );
  const say = (one, two) => {
    set_text(first, one);
    set_text(second, two);
    set_attribute(first, 'title', one);
    set_attribute(second, 'title', two);
  };
  return {
    card,
    update(state, view) {
      const value = state.settings[stage.name];
      const vocab = state.model?.vocab_size ?? view?.vocab ?? null;
      const is_on = value !== stage.off;
      slider.update(value, vocab);
      field.update(value, vocab);
      toggle.update(value, vocab);
      if (!view) {
        set_class(card, card_class(!is_on, false));
        say(is_on ? 'no scores yet' : 'off', is_on ? '' : stage.idle);
        picture.update(null);
        return;
      }
      const shape = view.stages.find(each => each.name === stage.name);
      const { is_later, is_lit } = standing(state, view, stage.name);
      const is_applied = Boolean(shape?.on) && !is_later;
      set_class(card, card_class(!is_applied, is_lit));
      if (!shape?.on) say('off', stage.idle);
      else if (is_later) say('not yet applied', '');
      else say(...effect(state, view, shape));
      picture.update(view, shape ?? { name: stage.name, on: false, value: stage.off }, is_applied);
    },
  };
}

const SEED_LATER = 'used from the next draw on'; // what was drawn is not drawn again

const stretch = draw => `[${draw.from.toFixed(6)}, ${draw.to.toFixed(6)})`;

/** What the draw card says: text around a token, a second line, what is hit, and u. */
function draw_story(state, view) {
  const step = view.is_pending ? null : state.steps[view.index];
  const hit = view.draw;
  const u = hit?.u ?? (step ?? state.row)?.u ?? null;
  if (step?.forced) return { before: 'chosen by hand, no draw', hit: { id: step.id }, u: null };
  if (view.greedy) {
    const leader = view.rows.find(row => (row.final_prob ?? 0) > 0) ?? view.rows[0];
    const second = 'the highest score is taken, no random number';
    const taken = leader && { id: leader.id };
    return { before: 'temperature 0: ', token: leader?.label, second, hit: taken, u: null };
  }
  const proposal = view.is_pending && view.chosen !== null;
  const is_walked = view.is_pending && state.point !== null; // slow motion has come as far as the draw
  if (was_greedy(state, view)) return { before: TAKEN_GREEDILY, hit: { id: step.id }, u: null };
  if (!hit || u === null) return { before: 'no random number', hit: null, u: null };
  if (view.is_pending && !proposal && !is_walked) {
    return { before: `will be drawn with u = ${u.toFixed(6)}`, hit: null, u };
  }
  const lies = `u = ${u.toFixed(6)} in ${stretch(hit)}`;
  const story = { token: hit.label, second: lies, hit, u };
  if (view.is_pending) return { ...story, before: proposal ? 'proposes ' : 'u hits ' };
  if (view.as_recorded) return { ...story, before: 'drew ', after: `, rank ${count(hit.rank)}` };
  const before = hit.same ? 'same u still draws “' : 'same u now draws “';
  return { ...story, before, after: '”' };
}

function draw_card(actions) {
  const field = exact_field(SEED, 'Seed', value => {
    actions.set({ seed: value });
    actions.settle();
  });
  const picture = draw_picture();
  let typed_at = null; // the recorded step on screen when a seed was typed
  let shown = null;
  field.input.addEventListener('input', () => {
    typed_at = shown?.place ?? null;
    if (typed_at) say(shown.story);
  });
  const before = element('span');
  const token = element('span', { class: 'dv-token dv-draw-token' });
  const after = element('span');
  const second = element('div', { class: 'dv-effect dv-muted' });
  const line = element('div', { class: 'dv-effect dv-draw-line' }, before, token, after);
  const card = element(
    'section',
    { class: 'dv-card', role: 'group', 'aria-label': 'Card: Draw', 'data-stage': 'drawn' },
    element('div', { class: 'dv-card-head' },
      element('span', { class: 'dv-card-name', text: 'Draw' }),
      element('span', { class: 'dv-muted dv-seed-label', text: 'seed', 'aria-hidden': 'true' }), field.input),
    element('div', { class: 'dv-card-body' },
      picture.node, element('div', { class: 'dv-effects' }, line, second)),
    field.alert,
  );
  const say = story => {
    const second_line = typed_at ? SEED_LATER : story.second;
    set_text(before, story.before);
    set_text(token, shorten(story.token ?? '', LONGEST_TOKEN));
    set_attribute(token, 'title', story.token ? shorten(story.token, 200) : null);
    set_text(after, story.after ?? '');
    set_text(second, second_line ?? '');
    set_attribute(second, 'title', second_line);
    set_attribute(field.input, 'aria-description', typed_at ? SEED_LATER : null);
  };
  return {
    card,
    update(state, view) {
      field.update(state.settings.seed);
      const is_recorded = view && !view.is_pending;
      const place = is_recorded ? `${state.run}/${state.branch}/${view.index}/${state.steps.length}` : null;
      if (place !== typed_at) typed_at = null;
      if (!view) {
        set_class(card, card_class(false, false));
        shown = null;
        say({ before: 'no scores yet' });
        picture.update(null);
        return;
      }
      const { is_later, is_lit } = standing(state, view, 'drawn');
      set_class(card, card_class(is_later, is_lit));
      const story = is_later ? { before: 'not yet applied', hit: null, u: null } : draw_story(state, view);
      shown = { place, story };
      say(story);
      picture.update(view, story.hit, story.u);
    },
  };
}

function preset_row(actions) {
  const buttons = PRESETS.map(preset => element('button', {
    type: 'button', class: 'dv-preset', text: preset.label, 'aria-pressed': 'false',
    onclick: () => {
      actions.set({ ...preset.settings });
      actions.settle();
    },
  }));
  return {
    row: element('div', { class: 'dv-presets', role: 'group', 'aria-label': 'Presets' }, ...buttons),
    update(settings) {
      for (const [place, preset] of PRESETS.entries()) {
        const is_set = STAGES.every(({ name }) => settings[name] === preset.settings[name]);
        set_attribute(buttons[place], 'aria-pressed', String(is_set));
      }
    },
  };
}

/** The presets and the cards of the chain. */
export function create(root, actions) {
  const presets = preset_row(actions);
  const cards = [...STAGES.map(stage => stage_card(stage, actions)), draw_card(actions)];
  root.append(presets.row, element('div', { class: 'dv-card-list' }, ...cards.map(each => each.card)));
  return {
    update(state, view) {
      presets.update(state.settings);
      for (const each of cards) each.update(state, view);
    },
  };
}
