// The Notice line: the one thing about this step that is most worth a look, computed from its figures.

import { element, set_attribute, set_live, set_text } from './dom.js';
import { bits, count, percent, quoted, stage_name, tokens } from './format.js';

const CUTS = ['top_k', 'top_p', 'min_p'];
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

/** A setting as it was set; commas where it is large. */
const plain = value => (value >= 1000 ? count(value) : String(value));

/** The whole chain is on screen, not a stage of it. */
const is_at_end = view => view.point === view.points.length - 1;

/** The point has this stage behind it. */
const has_applied = (view, name) => {
  const place = view.points.findIndex(point => point.name === name);
  return place >= 0 && place <= view.point;
};

/** "1 in 240", for a probability well below one half. */
const odds = probability => `1 in ${count(Math.round(1 / probability))}`;

const recorded_step = (state, view) => (view.is_pending ? null : state.steps[view.index]) ?? null;

function looping(state, view) {
  const end = view.is_pending ? view.index : view.index + 1;
  const loop = find_loop(state.steps.slice(0, end).map(step => step.id));
  if (!loop) return '';
  const what = loop.length === 1 ? 'the same token' : `the last ${tokens(loop.length)}`;
  return `the text is looping: ${what} came ${count(loop.times)} times in a row. ` +
    'A repetition penalty or a higher temperature can break such a loop.';
}

function unlikely_draw(state, view) {
  const step = recorded_step(state, view);
  if (!is_at_end(view) || !step || step.forced || !(step.probability > 0)) return '';
  const own = step.model_probability;
  const rank = `${quoted(step.label)} (rank ${count(step.rank)})`;
  if (step.probability < 0.02) {
    const leader = view.as_recorded ? view.rows.find(row => row.final_prob > 0) : null;
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
  const cut = row.removed_by === 'temperature' ? 'temperature 0' : stage_name(row.removed_by);
  const removed = `${cut} removes it (rank ${count(row.rank)})`;
  return `${quoted(step.label)} was chosen by hand; ${removed}, so no draw could have hit it.`;
}

function greedy_choice(state, view) {
  const leader = view.rows[0];
  const second = view.rows[1];
  if (!view.greedy || !has_applied(view, 'temperature') || !leader || !second) return '';
  const gap = leader.raw_prob - second.raw_prob;
  if (gap >= 0 && gap < 0.03) {
    const [one, other] = [leader, second].map(row => `${quoted(row.label)} ${percent(row.raw_prob)}`);
    return `greedy hides a near tie: ${one} against ${other} before any setting; the first wins every time.`;
  }
  return `greedy takes ${quoted(leader.label)} every time; drawn from the model’s own odds ` +
    `it would come in ${percent(leader.raw_prob)} of cases.`;
}

const active_cuts = view => view.stages.filter(stage => stage.on && CUTS.includes(stage.name));

function much_cut(state, view) {
  const cut = view.cut;
  if (!cut || !active_cuts(view).length || !(1 - cut.mass > 0.1)) return '';
  const others = view.vocab - cut.kept;
  return `${tokens(cut.kept)} held ${percent(cut.mass)} before the cut-offs; ` +
    `without them, ${percent(1 - cut.mass)} of draws would come from the other ${count(others)}.`;
}

function nothing_cut(state, view) {
  const cuts = active_cuts(view);
  if (!is_at_end(view) || !cuts.length) return '';
  const names = cuts.map(stage => stage_name(stage.name)).join(', ');
  const change = cuts.length === 1 ? 'changes' : 'change';
  if (!view.cut) return `${names} ${change} nothing here: all ${tokens(view.kept)} stay.`;
  const removed = 1 - view.cut.mass;
  if (removed >= 0.001) return '';
  const held = percent(Math.max(0, removed));
  return `${names} ${change} next to nothing here: what is cut held ${held} of the mass.`;
}

/** The model's own leaders, or null where a penalty has moved them out of the rows. */
function own_leaders(view) {
  const leaders = view.rows.toSorted((one, other) => other.raw_prob - one.raw_prob).slice(0, 2);
  const penalty = view.stages.find(stage => stage.name === 'repetition_penalty');
  return leaders.length === 2 && !penalty?.on ? leaders : null;
}

/** A word about the model's own distribution is in place at the logits, and about the step as a whole. */
const is_about_model = view => view.point === 0 || is_at_end(view);

function sure(state, view) {
  if (!is_about_model(view)) return '';
  const leader = own_leaders(view)?.[0];
  if (!leader || leader.raw_prob <= 0.95) return '';
  return `before any setting the model is sure: ${quoted(leader.label)} has ${percent(leader.raw_prob)}.`;
}

function torn(state, view) {
  if (!is_about_model(view)) return '';
  if (view.entropy.raw > 4) {
    const choices = count(Math.round(2 ** view.entropy.raw));
    return `before any setting the model is torn: ${bits(view.entropy.raw)} of entropy, ` +
      `as undecided as a fair choice among ${choices} tokens.`;
  }
  const [first, second] = own_leaders(view) ?? [];
  if (!first || first.raw_prob - second.raw_prob >= 0.03) return '';
  const [one, other] = [first, second].map(row => `${quoted(row.label)} ${percent(row.raw_prob)}`);
  return `before any setting the model is torn between two: ${one} against ${other}.`;
}

function leader_moved(state, view) {
  const leader = view.rows[0];
  const { name } = view.points[view.point];
  if (CUTS.includes(name) || name === 'renormalised') return ''; // these moved nothing
  if (!leader || Math.abs(leader.prob - leader.raw_prob) < 0.03) return '';
  const moved = view.stages.filter(stage =>
    stage.on && !CUTS.includes(stage.name) && has_applied(view, stage.name));
  if (!moved.length) return '';
  const one = `${stage_name(moved[0].name)} ${plain(moved[0].value)}`;
  const what = moved.length > 1 ? 'penalty and temperature together' : one;
  const verb = leader.prob > leader.raw_prob ? 'raised' : 'lowered';
  const change = `from ${percent(leader.raw_prob)} to ${percent(leader.prob)}`;
  const is_scaled = leader.final_prob > 0 && percent(leader.final_prob) !== percent(leader.prob);
  const drawn = is_scaled ? `; in the draw it has ${percent(leader.final_prob)}` : '';
  return `${what} ${verb} the share of ${quoted(leader.label)} ${change}${drawn}.`;
}

/** Whose entropy it is that is on screen at the point. */
function entropy_words(view) {
  const { name } = view.points[view.point];
  const entropy = bits(view.entropy.shown ?? view.entropy.tempered);
  if (name === 'raw') return `the model’s own entropy is ${entropy}`;
  if (name === 'renormalised' || name === 'drawn') return `the entropy in the draw is ${entropy}`;
  const left = view.kept === 1 ? 'one token' : tokens(view.kept);
  if (CUTS.includes(name)) return `the entropy of the ${left} left is ${entropy}`;
  return `the entropy after ${stage_name(name)} is ${entropy}`;
}

/** The shares of the point: in the draw once they are scaled to 1, before the cuts until then. */
function summary(state, view) {
  const [first, second] = view.rows;
  if (!first) return '';
  const share = row => row.final_prob ?? row.prob;
  const where = first.final_prob === null && view.cut ? ' before the cut' : '';
  const leads = `${quoted(first.label)} leads with ${percent(share(first))}`;
  const follows = second && share(second) > 0
    ? `, ${quoted(second.label)} follows with ${percent(share(second))}` : '';
  return `${leads}${follows}${where}; ${entropy_words(view)}.`;
}

// The first that has something to say is shown.
const NOTICES = [
  looping, unlikely_draw, forced_against_settings, greedy_choice, much_cut,
  nothing_cut, sure, torn, leader_moved, summary,
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
