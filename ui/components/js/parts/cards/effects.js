// What a stage did to this step, in two short lines: a plain one and a muted one.

import { bits, count, isolated, percent, score_text, tokens } from '../../words/format.js';
import { whole_of } from '../loop.js';
import { seen_count } from '../../kernel/shape.js';

/** "50th", "21st". */
function ordinal(rank) {
  const teens = rank % 100 >= 11 && rank % 100 <= 13;
  return `${count(rank)}${teens ? 'th' : (['th', 'st', 'nd', 'rd'][rank % 10] ?? 'th')}`;
}

const entropy_change = stage => `${stage.entropy_before.toFixed(2)} → ${bits(stage.entropy_after)}`;
const number_left = stage => `${count(stage.before)} → ${tokens(stage.after)}`;

/** The tokens that an edit moved, by name where they are few. */
function moved_tokens({ figures }) {
  const { edited, edited_count } = figures;
  if (edited_count === 0) return 'no token is touched here';
  if (edited_count > 2) return `${tokens(edited_count)} moved`;
  const one = ({ label, from, to }) => `${isolated(label, 10)} ${score_text(from)} → ${score_text(to)}`;
  return edited.map(one).join(' · ');
}

function moved(stage) {
  return [`entropy ${entropy_change(stage)}`, moved_tokens(stage)];
}

function struck(stage) {
  const { edited } = stage.figures;
  const gone = stage.before - stage.after;
  if (gone === 0) return [number_left(stage), 'nothing to ban here'];
  const names = edited.slice(0, 3).map(({ label }) => isolated(label, 10));
  const more = gone > names.length ? ` and ${count(gone - names.length)} more` : '';
  return [number_left(stage), `banned ${names.join(', ')}${more}, ${percent(stage.mass_removed)}`];
}

function temperature(stage) {
  if (stage.value === 0) return [number_left(stage), 'greedy: the highest score alone stays'];
  return [`entropy ${entropy_change(stage)}`, `all ${tokens(stage.after)} kept`];
}

function dynamic_temperature(stage) {
  return [`T = ${stage.figures.temperature.toFixed(3)} here`, `entropy ${entropy_change(stage)}`];
}

function repetition_penalty(stage, state, view) {
  const seen = seen_count(state, view.index);
  const direction = stage.value > 1 ? 'lowered' : 'raised';
  return [`entropy ${entropy_change(stage)}`, `${tokens(seen)} of the text ${direction}`];
}

function cut(stage, state, view) {
  if (stage.after === stage.before) return [number_left(stage), 'nothing removed'];
  const tied = stage.tied > 0 ? ` (${count(stage.tied)} tied with the ${ordinal(stage.value)})` : '';
  const removed = `removed ${percent(stage.mass_removed)} of ${whole_of(view, stage)}`;
  return [number_left(stage) + tied, `${removed} · ${entropy_change(stage)}`];
}

/** A cut that depends on a number of its own, and says so. */
function xtc(stage) {
  const { acts, u } = stage.figures;
  const { probability } = stage.value;
  const coin = `own u ${u.toFixed(3)} ${u < probability ? '<' : '≥'} ${probability}`;
  if (!acts) return [number_left(stage), `sits this step out: ${coin}`];
  if (stage.after === stage.before) return [number_left(stage), `fewer than two top choices; ${coin}`];
  return [number_left(stage), `removed ${percent(stage.mass_removed)} at the top; ${coin}`];
}

/** A cut whose limit it computed itself, and what that was. */
const limited = words => (stage, state, view) => {
  const [first, second] = cut(stage, state, view);
  return [`${first} · ${words(stage.figures)}`, second];
};

const EFFECTS = {
  logit_bias: moved,
  repetition_penalty,
  presence_penalty: moved,
  frequency_penalty: moved,
  dry: moved,
  no_repeat_ngram: struck,
  banned: struck,
  min_new_tokens: struck,
  temperature,
  dynamic_temperature,
  eta_cutoff: limited(({ threshold }) => `η = ${percent(threshold)}`),
  typical_p: limited(({ entropy }) => `H = ${bits(entropy)}`),
  top_n_sigma: limited(({ sigma }) => `σ = ${sigma.toFixed(2)}`),
  mirostat: limited(({ mu }) => `μ = ${bits(mu)}`),
  xtc,
};

/**
 * @param {object} state
 * @param {object} view
 * @param {object} stage one of `view.stages` that is on
 * @returns {[string, string]}
 */
export function effect(state, view, stage) {
  if (stage.before === 0) return ['nothing left to act on', 'an earlier stage removed every token'];
  if (stage.switched_off) return ['no effect here', stage.switched_off];
  const own = EFFECTS[stage.name];
  return own ? own(stage, state, view) : cut(stage, state, view);
}
