// The Notice line: the one thing about this step that is most worth a look, computed from its figures.

import { element, set_attribute, set_live, set_text } from '../lib/dom.js';
import { nothing_left } from '../view/emptied.js';
import { bits, count, percent, quoted, stage_name, tokens } from './format.js';
import { is_guided, moves_scores } from './loop.js';
import { plain } from './stages.js';
import { is_cut_stage } from '../kernel/rules_cut.js';

const LOOP_TOKENS = 8;
const LOOP_TIMES = 3;
const LONGEST_LOOP = 64;

/**
 * The shortest run of tokens that a text ends with several times in a row.
 *
 * @param {number[]} ids generated tokens
 * @returns {{length: number, times: number} | null} null unless it came 3 times or more, over 8 tokens
 */
export function find_loop(ids) {
  const last = ids.length - 1;
  for (let length = 1; length <= Math.min(LONGEST_LOOP, Math.floor(ids.length / LOOP_TIMES)); length++) {
    let same = 0; // tokens at the end that equal the one `length` before
    while (same + length <= last && ids[last - same] === ids[last - same - length]) same++;
    const times = Math.floor(same / length) + 1;
    if (times >= LOOP_TIMES && times * length >= LOOP_TOKENS) return { length, times };
  }
  return null;
}

/** The whole chain is on screen, not a stage of it. */
const is_at_end = view => view.point === view.points.length - 1;

/** The point has this stage behind it. */
const has_applied = (view, name) => {
  const place = view.points.findIndex(point => point.name === name);
  return place >= 0 && place <= view.point;
};

/** "1 in 240", for a probability well below one half. */
const odds = probability => `1 in ${count(Math.round(1 / probability))}`;

/** The stages that are on and behind the point. */
const applied = view => view.stages.filter(stage => stage.on && has_applied(view, stage.name));

/** The cuts among them; greedy is none here, and speaks for itself. */
const applied_cuts = view =>
  applied(view).filter(stage => is_cut_stage(stage) && stage.name !== 'temperature');

const recorded_step = (state, view) => (view.is_pending ? null : state.steps[view.index]) ?? null;

/** Said before a step is refused, and while the point is looked at that has nobody left. */
function emptied(state, view) {
  const found = nothing_left(view);
  if (!found || (!is_at_end(view) && view.kept > 0)) return '';
  return `nothing is left to draw: ${found.reason}. ${found.remedy}`;
}

function looping(state, view) {
  const end = view.is_pending ? view.index : view.index + 1;
  const loop = find_loop(state.steps.slice(0, end).map(step => step.id));
  if (!loop) return '';
  const what = loop.length === 1 ? 'the same token' : `the last ${tokens(loop.length)}`;
  return (
    `the text is looping: ${what} came ${count(loop.times)} times in a row. ` +
    'A repetition penalty or a higher temperature can break such a loop.'
  );
}

function unlikely_draw(state, view) {
  const step = recorded_step(state, view);
  if (!is_at_end(view) || !step || step.forced || !(step.probability > 0)) return '';
  const own = step.model_probability;
  const rank = `${quoted(step.label)} (rank ${count(step.rank)})`;
  if (step.probability < 0.02) {
    const leader = view.as_recorded ? view.leaders[0] : null;
    const is_flat = leader && leader.final_prob < 0.1;
    const but = is_flat ? `; but even the likeliest token had only ${percent(leader.final_prob)}` : '';
    return `an unlikely draw: ${rank} had odds of ${odds(step.probability)}${but}.`;
  }
  if (own > 0 && own < 0.005) {
    const made = `the settings made that ${percent(step.probability)}`;
    return `the model itself gave ${rank} odds of ${odds(own)}; ${made}.`;
  }
  return '';
}

function forced_against_settings(state, view) {
  const step = recorded_step(state, view);
  const row = view.chosen;
  if (!step?.forced || !row?.removed_by) return '';
  const removed = `${removal_name(row.removed_by)} removes it (rank ${count(row.rank)})`;
  return `${quoted(step.label)} was chosen by hand; ${removed}, so no draw could have hit it.`;
}

function greedy_choice(state, view) {
  const is_by_chance = applied(view).some(stage => stage.name === 'xtc' && !stage.switched_off);
  if (!view.greedy || !has_applied(view, 'temperature') || view.kept !== 1 || is_by_chance) return '';
  const [taken] = view.leaders;
  const beaten = view.rows.find(row => row.removed_by === 'temperature');
  if (!taken) return '';
  const gap = beaten ? taken.raw_prob - beaten.raw_prob : 1;
  if (gap >= 0 && gap < 0.03) {
    const [one, other] = [taken, beaten].map(row => `${quoted(row.label)} ${percent(row.raw_prob)}`);
    return `greedy hides a near tie: ${one} against ${other} before any setting; the first wins every time.`;
  }
  return (
    `greedy takes ${quoted(taken.label)} every time; drawn from the model’s own odds ` +
    `it would come in ${percent(taken.raw_prob)} of cases.`
  );
}

/** From the first cut on, the stages that are no cuts. */
function behind_the_cut(view) {
  const stages = applied(view);
  const first = stages.findIndex(is_cut_stage);
  return first < 0 ? [] : stages.slice(first).filter(stage => !is_cut_stage(stage));
}

/** Whether nothing but cuts acts behind the first cut: those left then have the odds that they had before. */
const is_only_cut = view => behind_the_cut(view).every(is_idle);

/** Whether a stage that is no cut did nothing. */
const is_idle = stage => !moves_scores(stage) && stage.after === stage.before;

function much_cut(state, view) {
  const { cut } = view;
  // What is idle behind a cut might act on those that it took.
  if (!cut || view.greedy || behind_the_cut(view).length || !(1 - cut.mass > 0.1)) return '';
  const others = applied(view).find(is_cut_stage).before - cut.kept;
  const other = others === 1 ? 'one' : count(others);
  return (
    `${tokens(cut.kept)} held ${percent(cut.mass)} before the cut-offs; ` +
    `without them, ${percent(1 - cut.mass)} of draws would come from the other ${other}.`
  );
}

function nothing_cut(state, view) {
  const cuts = applied_cuts(view);
  if (!is_at_end(view) || view.greedy || !cuts.length) return '';
  const names = cuts.map(stage => stage_name(stage.name)).join(', ');
  const change = cuts.length === 1 ? 'changes' : 'change';
  if (cuts.every(stage => stage.after === stage.before)) {
    const all = view.kept === view.vocab ? `all ${tokens(view.kept)}` : 'all that came so far';
    return `${names} ${change} nothing here: ${all} stay.`;
  }
  if (!is_only_cut(view) || !view.cut || 1 - view.cut.mass >= 0.001) return '';
  const held = percent(Math.max(0, 1 - view.cut.mass));
  return `${names} ${change} next to nothing here: what is cut held ${held} of the mass.`;
}

/** A word about the model's own distribution is in place at the logits, and about the step as a whole. */
const is_about_model = view => view.point === 0 || is_at_end(view);

/** Whose logits they are. */
const who = state => (is_guided(state) ? 'the guided model' : 'the model');

function sure(state, view) {
  if (!is_about_model(view)) return '';
  const [leader] = view.model_leaders;
  if (!leader || leader.raw_prob <= 0.95) return '';
  return `before any setting ${who(state)} is sure: ${quoted(leader.label)} has ${percent(leader.raw_prob)}.`;
}

function torn(state, view) {
  if (!is_about_model(view)) return '';
  if (view.entropy.raw > 4) {
    const choices = count(Math.round(2 ** view.entropy.raw));
    return (
      `before any setting ${who(state)} is torn: ${bits(view.entropy.raw)} of entropy, ` +
      `as undecided as a fair choice among ${choices} tokens.`
    );
  }
  const [first, second] = view.model_leaders;
  if (!second || first.raw_prob - second.raw_prob >= 0.03) return '';
  const [one, other] = [first, second].map(row => `${quoted(row.label)} ${percent(row.raw_prob)}`);
  return `before any setting ${who(state)} is torn between two: ${one} against ${other}.`;
}

/** What a stage is set to, for a sentence: "temperature 0.7", "DRY". */
function set_to({ name, value, figures }) {
  if (name === 'dynamic_temperature') return `${stage_name(name)} (T = ${figures.temperature.toFixed(2)})`;
  return typeof value === 'number' ? `${stage_name(name)} ${plain(value)}` : stage_name(name);
}

/** In front of the cuts: who gained or lost by what the penalties, bans and temperatures did there. */
function leader_moved(state, view) {
  const [leader] = view.rows;
  const { name } = view.points[view.point];
  const here = view.stages.find(stage => stage.name === name);
  if ((here && is_cut_stage(here)) || name === 'renormalised') return ''; // these moved nothing
  if (!leader || Math.abs(leader.prob - leader.raw_prob) < 0.03) return '';
  const ranked = view.points.slice(1, 1 + view.ranked).map(point => point.name);
  const moving = view.stages.filter(stage => ranked.includes(stage.name) && !is_idle(stage));
  if (!moving.length) return '';
  const names = moving.map(stage => stage_name(stage.name));
  const what =
    moving.length === 1 ? set_to(moving[0]) : `${names.slice(0, -1).join(', ')} and ${names.at(-1)} together`;
  const verb = leader.prob > leader.raw_prob ? 'raised' : 'lowered';
  const change = `from ${percent(leader.raw_prob)} to ${percent(leader.prob)}`;
  const is_scaled = leader.final_prob > 0 && percent(leader.final_prob) !== percent(leader.prob);
  const drawn = is_scaled ? `; in the draw it has ${percent(leader.final_prob)}` : '';
  const gone = leader.removed_by ? `; then ${removal_name(leader.removed_by)} removed it` : '';
  return `${what} ${verb} the share of ${quoted(leader.label)} ${change}${gone || drawn}.`;
}

const removal_name = name => (name === 'temperature' ? 'temperature 0' : stage_name(name));

/** Whose entropy it is that is on screen at the point. */
function entropy_words(view) {
  const { name } = view.points[view.point];
  const entropy = bits(view.entropy.shown ?? view.entropy.tempered);
  if (name === 'raw') return `the model’s own entropy is ${entropy}`;
  if (name === 'renormalised' || name === 'drawn') return `the entropy in the draw is ${entropy}`;
  const left = view.kept === 1 ? 'one token' : tokens(view.kept);
  if (is_cut_stage(view.stages.find(stage => stage.name === name))) {
    return `the entropy of the ${left} left is ${entropy}`;
  }
  return `the entropy after ${stage_name(name)} is ${entropy}`;
}

/** Of those left at the point: in the draw once they are scaled to 1, before the cuts until then. */
function summary(state, view) {
  const [first, second] = view.leaders;
  if (!first) return '';
  const is_scaled = first.final_prob !== null;
  const is_cut = !is_scaled && view.cut !== null;
  const is_as_before = is_cut && is_only_cut(view);
  const share = row => (is_as_before ? row.prob : row.share);
  const where = !is_cut ? '' : is_as_before ? ' before the cut' : ' of what is left';
  const leads = `${quoted(first.label)} leads with ${percent(share(first))}`;
  const follows =
    second && share(second) > 0 ? `, ${quoted(second.label)} follows with ${percent(share(second))}` : '';
  return `${leads}${follows}${where}; ${entropy_words(view)}.`;
}

// The first that has something to say is shown.
const NOTICES = [
  emptied,
  looping,
  unlikely_draw,
  forced_against_settings,
  greedy_choice,
  much_cut,
  nothing_cut,
  sure,
  torn,
  leader_moved,
  summary,
];

/** One sentence about the inspected step, '' while there is nothing to look at. */
function notice(state, view) {
  if (!view) return '';
  for (const sentence_of of NOTICES) {
    const sentence = sentence_of(state, view);
    if (sentence) return sentence[0].toUpperCase() + sentence.slice(1);
  }
  return '';
}

/** "Notice: …", spoken only where it stands still: not while steps run by or a slider moves. */
export function create(root) {
  const text = element('span');
  const line = element('p', { class: 'dv-notice-line' }, element('strong', { text: 'Notice:' }), ' ', text);
  root.append(line);
  return {
    update(state, view, reason) {
      set_live(line, state, reason);
      const sentence = notice(state, view);
      set_text(text, sentence);
      set_attribute(line, 'title', sentence); // a wide page shows one line of it
    },
  };
}
