// What every stage did to the row on show, for the loop band: two or three words for its box, and a sentence.
// All figures are the view's own.

import { nothing_left } from '../view/emptied.js';
import { bits, count, percent, quoted, score_text, tokens } from './format.js';
import { BANS } from '../kernel/rules_edit.js';

const MOST_NAMED = 2; // tokens that a sentence names
const LONGEST_NAME = 14;

/** A setting as it was set; commas where it is large. */
export const plain = value => (value >= 1000 ? count(value) : String(value));

/** A share as it was set: "0.09 %", "90 %". */
const set_share = value => `${Number((value * 100).toFixed(4))} %`;

/** Of what a stage has removed its share: the whole mass, or what earlier cuts had left of it. */
export function whole_of(view, stage) {
  const earlier = view.stages.slice(0, view.stages.indexOf(stage));
  return earlier.some(each => each.after < each.before) ? 'what was left' : 'the mass';
}

// --- the boxes -------------------------------------------------------------------------------

const left_over = stage => `${count(stage.after)} left`;

function moved_number({ figures: { edited_count, rose } }) {
  if (!edited_count) return 'none here';
  return `${count(edited_count)} ${rose === 0 ? 'fell' : rose === edited_count ? 'rose' : 'moved'}`;
}

const banned_number = ({ figures }) => (figures.banned ? `${count(figures.banned)} banned` : 'none here');

const FIGURES = {
  logit_bias: moved_number,
  repetition_penalty: moved_number,
  presence_penalty: moved_number,
  frequency_penalty: moved_number,
  dry: moved_number,
  no_repeat_ngram: banned_number,
  banned: banned_number,
  min_new_tokens: banned_number,
  temperature: stage => (stage.value === 0 ? 'greedy' : `scores ÷ ${plain(stage.value)}`),
  dynamic_temperature: stage => `T = ${stage.figures.temperature.toFixed(3)}`,
  xtc: stage => (stage.figures.acts ? left_over(stage) : 'sits out'),
};

/** What a stage that is on did, in the few words that its box has room for. */
export function stage_figure(stage) {
  if (stage.before === 0 || stage.after === 0) return 'none left';
  if (stage.switched_off) return 'no effect';
  return (FIGURES[stage.name] ?? left_over)(stage);
}

// --- the sentences: edits --------------------------------------------------------------------

/** "“x” 1.00 → 0.50 and 3 more; their share went from 9.00 % to 5.00 %". */
function moves({ figures: { edited, edited_count, share_before, share_after } }) {
  const one = ({ label, from, to }) =>
    `${quoted(label, LONGEST_NAME)} ${score_text(from)} → ${score_text(to)}`;
  const named = edited.slice(0, MOST_NAMED);
  const more = edited_count > named.length ? ` and ${count(edited_count - named.length)} more` : '';
  const whose = edited_count === 1 ? 'its' : 'their';
  const share = `${whose} share went from ${percent(share_before)} to ${percent(share_after)}`;
  return `${named.map(one).join(', ')}${more}; ${share}.`;
}

/** "3 tokens with 9.00 % of the mass went: “x”, “y” and 1 more." */
function bans(stage, view) {
  const { edited, banned } = stage.figures;
  const named = edited
    .slice(0, MOST_NAMED)
    .map(({ label }) => quoted(label, LONGEST_NAME))
    .join(', ');
  const more = banned > MOST_NAMED ? ` and ${count(banned - MOST_NAMED)} more` : '';
  const gone = `${tokens(banned)} with ${percent(stage.mass_removed)} of ${whole_of(view, stage)} went`;
  return `${gone}: ${named}${more}.`;
}

const is_idle = stage => stage.figures.edited_count === 0;

function logit_bias(stage) {
  if (is_idle(stage)) return 'No token that is left has a bias other than 0, so no score moved.';
  return `Your biases were added to ${tokens(stage.figures.edited_count)}: ${moves(stage)}`;
}

function repetition_penalty(stage) {
  if (is_idle(stage)) return 'No token of the text is left to be moved.';
  const how = `positive scores were divided by ${plain(stage.value)}, negative ones multiplied`;
  const result = stage.value > 1 ? 'fell' : 'rose';
  return `${tokens(stage.figures.edited_count)} of the text so far ${result} (${how}): ${moves(stage)}`;
}

/** The two penalties that look at generated tokens only. */
const generated_penalty = how => (stage, view) => {
  if (view.index === 0)
    return 'Nothing has been generated yet, and the prompt does not count: no score moved.';
  if (is_idle(stage)) return 'No generated token is left to be moved.';
  const verb = stage.value > 0 ? 'lost' : 'gained';
  const number = `${tokens(stage.figures.edited_count)} generated before`;
  return `${number} ${verb} ${plain(Math.abs(stage.value))} ${how}: ${moves(stage)}`;
};

function dry(stage) {
  const passage = `a passage of ${tokens(stage.value.allowed_length)} or more that came before`;
  if (is_idle(stage)) return `No token that is left would continue ${passage}, so no score moved.`;
  const number = stage.figures.edited_count;
  return `${tokens(number)} would continue ${passage}, and fell: ${moves(stage)}`;
}

function no_repeat_ngram(stage, view) {
  const [no_token, every_token] =
    stage.value === 1
      ? ['No token that is left is in the text', 'Every token that is in the text']
      : [
          `No token that is left would repeat a run of ${tokens(stage.value)} of the text`,
          `What would repeat a run of ${tokens(stage.value)} of the text`,
        ];
  if (is_idle(stage)) return `${no_token}, so nothing is banned here.`;
  return `${every_token} is banned; ${bans(stage, view)}`;
}

function banned(stage, view) {
  if (is_idle(stage)) return 'No token that is left would complete a banned word here, so nothing went.';
  return `What would complete a banned word is ruled out; ${bans(stage, view)}`;
}

function min_new_tokens(stage, view) {
  const so_far = `${tokens(view.index)} of at least ${count(stage.value)} generated so far`;
  if (view.index >= stage.value) return `With ${so_far} the text may end: nothing is ruled out.`;
  if (is_idle(stage)) return `With ${so_far} the text may not end, but no end token was left anyway.`;
  return `With ${so_far} the text may not end yet; ${bans(stage, view)}`;
}

// --- the sentences: temperatures -------------------------------------------------------------

function scaled(stage, temperature) {
  const change = `entropy ${stage.entropy_before.toFixed(2)} → ${bits(stage.entropy_after)}`;
  if (temperature === 1) return `nothing changes (${change})`;
  return `${temperature < 1 ? 'gaps grow, the leader gains' : 'gaps shrink, the tail gains'} (${change})`;
}

function temperature(stage, view) {
  if (stage.value === 0) {
    const rule = 'Temperature 0 is greedy: the highest score alone stays, nothing is divided';
    return `${rule}${removal(stage, view)}.`;
  }
  const divided = `Scores were divided by ${plain(stage.value)}`;
  if (stage.before === 1) return `${divided}: with a single token left nothing changes.`;
  return `${divided}: ${scaled(stage, stage.value)}.`;
}

function dynamic_temperature(stage) {
  if (stage.before === 1) return 'A single token was left, and stays as it is.';
  const { temperature: own, entropy_share } = stage.figures;
  const { low, high } = stage.value;
  const share = `The entropy is ${percent(entropy_share)} of what ${tokens(stage.before)} could have`;
  return `${share}, so between ${plain(low)} and ${plain(high)} T is ${own.toFixed(3)}: ${scaled(stage, own)}.`;
}

// --- the sentences: cuts ---------------------------------------------------------------------

/** What a cut changed, to follow its rule: ": 40 → 12; 28 tokens with 9.00 % of the mass went". */
function removal(stage, view) {
  const { before, after, figures } = stage;
  const removed = before - after;
  if (removed === 0 && after === 1) return ': a single token was left anyway';
  if (removed === 0) return `: here that is all ${count(after)}, so nothing changes`;
  const tied = stage.tied > 0 ? `, ${count(stage.tied)} of them tied with the last` : '';
  const went = `${tokens(removed)} with ${percent(stage.mass_removed)} of ${whole_of(view, stage)} went`;
  return `: ${count(before)} → ${count(after)}${tied}; ${went}${from_the_top(figures.above, removed)}`;
}

function from_the_top(above, removed) {
  if (!above) return '';
  const leaders = above === 1 ? 'the most likely one' : `the ${count(above)} most likely`;
  return above === removed ? `, ${leaders}` : `, ${leaders} among them`;
}

/** A cut that keeps what is likely enough; where nothing is, the most likely stays. */
function threshold_rule({ figures: { threshold, leader_prob } }, what) {
  return leader_prob < threshold
    ? `${what} would stay, but none is that likely: the most likely one does`
    : `${what} stay`;
}

const RULES = {
  top_h: ({ value, figures: { considered, limit, entropy } }) =>
    `The leading tokens stay that make up at most ${set_share(value)} of the entropy of the ` +
    `${count(considered)} most likely (${limit.toFixed(2)} of ${bits(entropy)})`,
  top_k: ({ value }) =>
    value === 1 ? 'Only the highest score stays' : `The ${count(value)} highest scores stay`,
  top_p: ({ value }) => `The fewest tokens that together hold ${set_share(value)} stay`,
  min_p: ({ value, figures: { threshold } }) =>
    `Tokens stay that are at least ${set_share(value)} as likely ` +
    `as the leader, here from ${percent(threshold)} on`,
  typical_p: ({ value, figures: { entropy } }) =>
    'Tokens stay whose surprise is nearest to the entropy ' +
    `(${bits(entropy)}), until they hold ${set_share(value)}`,
  epsilon_cutoff: stage => threshold_rule(stage, `Tokens of at least ${set_share(stage.value)}`),
  eta_cutoff: stage => {
    const { threshold, entropy } = stage.figures;
    const limit = `the lower of ε = ${set_share(stage.value)} and √ε · exp(−H) at H = ${bits(entropy)}`;
    return threshold_rule(stage, `Tokens of at least η = ${percent(threshold)} (${limit})`);
  },
  top_n_sigma: ({ value, figures: { highest, sigma, threshold } }) =>
    `Scores from ${score_text(threshold)} on ` +
    `stay: the highest, ${score_text(highest)}, less ${plain(value)} × σ, which is ${sigma.toFixed(2)} here`,
  tail_free: ({ value }) =>
    `Tokens stay in front of the tail: up to where ${set_share(value)} of the bending ` +
    'of the curve of probabilities lies behind',
  mirostat: stage => {
    const { surprise_limit, threshold } = stage.figures;
    const what = `Tokens with a surprise of at most μ = ${bits(surprise_limit)} (from ${percent(threshold)} on)`;
    return `${threshold_rule(stage, what)}, to hold the text near τ = ${plain(stage.value.tau)}`;
  },
};

function xtc(stage, view) {
  const { acts, u, above } = stage.figures;
  const { probability, threshold } = stage.value;
  const coin =
    `its own number for this step is ${u.toFixed(3)}, ${u < probability ? '' : 'not '}below ` +
    `${plain(probability)}`;
  if (!acts) return `XTC sits this step out: ${coin}.`;
  const reach = `of the tokens that reach ${set_share(threshold)}`;
  if (!above)
    return `XTC acts (${coin}), but ${reach} only the last would stay, and there are fewer than two.`;
  return `XTC acts (${coin}): ${reach} only the last stays${removal(stage, view)}.`;
}

const SENTENCES = {
  logit_bias,
  repetition_penalty,
  presence_penalty: generated_penalty('each, however often they came'),
  frequency_penalty: generated_penalty('for each time they came'),
  dry,
  no_repeat_ngram,
  banned,
  min_new_tokens,
  temperature,
  dynamic_temperature,
  xtc,
};

/** What a stage that is on did to this row, as one or two sentences. */
export function stage_sentence(stage, view) {
  if (stage.before === 0) return `Nothing was left to act on: ${nothing_left(view).reason}.`;
  if (stage.switched_off) return `No effect here: ${stage.switched_off}.`;
  const rule = RULES[stage.name];
  const sentence = rule
    ? `${rule(stage)}${removal(stage, view)}.`
    : (SENTENCES[stage.name]?.(stage, view) ?? '');
  if (stage.after > 0) return sentence;
  return `${sentence} Nothing is left to draw. ${nothing_left(view).remedy}`;
}
