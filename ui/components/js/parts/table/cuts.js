// The lines in the table between kept tokens and removed ones: one above the kept where a stage has removed the
// most likely, one below them. Each says which stage removed what lies next to it.

import { element, set_class, set_text } from '../../lib/dom.js';
import { nothing_left } from '../../view/emptied.js';
import { count, percent, stage_name, tokens } from '../../words/format.js';
import { BANS } from '../../kernel/rules_edit.js';

const LOWER_ENDS = {
  temperature: 'greedy keeps the highest only',
  top_p: 'nucleus ends here',
};
/** Stages that can remove the most likely tokens: where one is on, there is room for two lines. */
const FROM_THE_TOP = ['typical_p', 'xtc', ...BANS];

function create_line(look) {
  const text = element('span');
  const node = element('div', { class: 'dv-cut dv-hidden', 'aria-hidden': 'true' }, text);
  function update(after, shift, words, is_dashed = look === 'upper') {
    set_class(node, words ? `dv-cut dv-cut-${look}${is_dashed ? ' dv-cut-dashed' : ''}` : 'dv-cut dv-hidden');
    if (!words) return;
    set_text(text, words);
    node.style.setProperty('--after', after); // rows above the line
    node.style.setProperty('--shift', shift); // lines above it, whose words have a room each
  }
  return { node, update };
}

/** The lines: `nodes` for the table's box, `update(view, rows)`, and how much room for words is left over. */
export function create_cuts() {
  const upper = create_line('upper');
  const lower = create_line('lower');
  const spoken = element('p', { class: 'dv-spoken' });
  let rooms_left = 1;

  /** Draw the lines; returns the places of the rows that must leave room for words, `rows` for the one below. */
  function update(view, rows) {
    const found = lines_of(view, rows);
    const is_two = found.upper !== null && found.lower !== null;
    upper.update(found.upper?.after, 0, found.upper?.words);
    lower.update(found.lower?.after, is_two ? 1 : 0, found.lower?.words, found.lower?.is_beyond);
    set_text(spoken, spoken_text(found, view.cut));
    const places = [found.upper, found.lower].filter(Boolean).map(line => line.after);
    const filled = places.filter(place => place < rows || view.others.count > 0);
    const may_be_two = view.points.some(({ name }) => FROM_THE_TOP.includes(name));
    rooms_left = Math.max(0, Math.max(places.length, may_be_two ? 2 : 1) - filled.length);
    return filled;
  }

  return {
    nodes: [upper.node, lower.node, spoken],
    update,
    get rooms_left() {
      return rooms_left;
    },
  };
}

/** {upper, lower}, each null or {after, words, is_beyond}: below how many rows it lies, and what it says. */
function lines_of(view, rows) {
  const { cut } = view;
  if (!cut) return { upper: null, lower: null };
  if (cut.kept === 0)
    return { upper: null, lower: { after: 0, words: emptied_words(view), is_beyond: false } };
  const above = cut.first_rank - 1;
  const verb = cut.kept === 1 ? 'holds' : 'hold';
  const hold = `${count(cut.kept)} of ${tokens(view.vocab)} ${verb} ${percent(cut.mass)}`;
  const gone = above ? `${names_of(cut.above)} removed the ${count(above)} above` : '';
  if (above >= rows) {
    // Nothing kept is in sight: one line below all rows says where it lies.
    const end = cut.stage ? ` to ${count(cut.after_rank)}, where ${stage_name(cut.stage)} ends` : ' on';
    const words = `${gone}: kept from rank ${count(above + 1)}${end} · ${hold}`;
    return { upper: null, lower: { after: rows, words: `cut-off: ${words}`, is_beyond: true } };
  }
  const is_beyond = cut.after_rank > rows;
  const lower = cut.stage && {
    after: Math.min(cut.after_rank, rows),
    words: `cut-off: ${lower_end(cut, is_beyond)} · ${hold}`,
    is_beyond,
  };
  const upper = above ? { after: above, words: `cut-off: ${gone}${lower ? '' : ` · ${hold}`}` } : null;
  return { upper, lower };
}

function lower_end({ stage, after_rank }, is_beyond) {
  if (is_beyond) return `${stage_name(stage)} ends at rank ${count(after_rank)}`;
  return LOWER_ENDS[stage] ?? `${stage_name(stage)} ends here`;
}

/** "XTC", "XTC and banned words". */
function names_of(stages) {
  const names = stages.map(stage_name);
  return names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names[0];
}

function emptied_words(view) {
  const { reason, remedy } = nothing_left(view);
  return `nothing is left: ${reason}. ${remedy}`;
}

function spoken_text({ upper, lower }, cut) {
  if (!cut || (!upper && !lower)) return 'no cut-off';
  const said = [];
  if (upper) said.push(`cut-off before rank ${count(cut.first_rank)}: ${bare(upper.words)}`);
  if (lower) said.push(`cut-off after rank ${count(cut.after_rank)}: ${bare(lower.words)}`);
  return said.join('. ');
}

const bare = words => words.replace(/^cut-off: /, '');
