// The lines in the table between kept and removed tokens: one above the kept tokens if the most likely are removed, one
// below.

import { element, set_class, set_text } from '../../lib/dom.js';
import { name_in } from '../../words/chain.js';
import { count, listed, tokens } from '../../words/format.js';
import { say } from '../../words/say.js';

/** @import { View } from '../../types.js' */
/** @import { Formats } from '../../words/format.js' */
/** @typedef {{after: number, words: string, is_beyond: boolean}} TableLine the number of rows above it, and its text */

/** @param {'upper' | 'lower'} look */
function create_line(look) {
  const text = element('span');
  const node = element('div', { class: 'dv-rule dv-hidden', 'aria-hidden': 'true' }, text);
  return {
    node,
    /** @param {TableLine|null} line @param {number} rooms number of lines above it, each with space for its words */
    update(line, rooms) {
      const is_dashed = look === 'upper' || line?.is_beyond;
      set_class(node, line ? `dv-rule${is_dashed ? ' dv-dashed' : ''}` : 'dv-rule dv-hidden');
      if (!line) return;
      set_text(text, line.words);
      node.style.setProperty('--after', String(line.after));
      node.style.setProperty('--rooms', String(rooms));
    },
  };
}

/**
 * The lines: `nodes` for the table's box, and `update(view, rows)`, which returns the places of rows that must leave
 * space.
 */
export function create_lines() {
  const upper = create_line('upper');
  const lower = create_line('lower');
  const spoken = element('p', { class: 'dv-spoken' });
  return {
    nodes: [upper.node, lower.node, spoken],
    /**
     * @param {View} view
     * @param {number} rows
     * @param {Formats} in_digits
     * @returns {number[]} `rows` means the row below all
     */
    update(view, rows, in_digits) {
      const found = lines_of(view, rows, in_digits);
      upper.update(found.upper, 0);
      lower.update(found.lower, found.upper ? 1 : 0);
      set_text(
        spoken,
        [found.upper?.words, found.lower?.words].filter(Boolean).join('. ') || say('Nothing is removed.'),
      );
      return [found.upper, found.lower].filter(line => line !== null).map(line => line.after);
    },
  };
}

/**
 * @param {View} view
 * @param {number} rows
 * @param {Formats} in_digits
 * @returns {{upper: TableLine|null, lower: TableLine|null}}
 */
export function lines_of(view, rows, { percent }) {
  const { cut } = view;
  if (!cut) return { upper: null, lower: null };
  const name_of = (/** @type {string} */ name) => name_in(view.samplers, name);
  if (cut.kept === 0) {
    const words = view.emptied_by
      ? say('{sampler} removed the last token', { sampler: name_of(view.emptied_by) })
      : say('No tokens left');
    return { upper: null, lower: { after: 0, words, is_beyond: false } };
  }
  const values = { tokens: tokens(cut.kept), all: count(view.vocab), mass: percent(cut.mass) };
  const hold =
    cut.kept === 1 ? say('{tokens} of {all} holds {mass}', values) : say('{tokens} of {all} hold {mass}', values);
  const among = cut.is_contiguous ? '' : say(', with gaps between them');
  const above = cut.first_rank - 1;
  const gone = say('{samplers} removed the {count} above', {
    samplers: listed(cut.above.map(name_of)),
    count: count(above),
  });
  if (above >= rows) {
    // No kept token is in sight: one line below all rows tells where they are.
    const places = {
      gone,
      hold,
      first: count(above + 1),
      last: count(cut.last_rank),
      sampler: cut.below ? name_of(cut.below) : '',
    };
    const words = cut.below
      ? say('{gone}: kept from rank {first} to {last}, where {sampler} stops · {hold}', places)
      : say('{gone}: kept from rank {first} onwards · {hold}', places);
    return { upper: null, lower: { after: rows, words, is_beyond: true } };
  }
  const is_beyond = cut.last_rank > rows;
  const end =
    cut.below &&
    (view.samplers.find(({ name }) => name === cut.below)?.case === 'greedy'
      ? say('greedy: only the highest')
      : is_beyond
        ? say('{sampler} stops at rank {rank}', { sampler: name_of(cut.below), rank: count(cut.last_rank) })
        : say('{sampler} stops here', { sampler: name_of(cut.below) }));
  const lower = end ? { after: Math.min(cut.last_rank, rows), words: `${end}${among} · ${hold}`, is_beyond } : null;
  const upper = above > 0 ? { after: above, words: lower ? gone : `${gone} · ${hold}`, is_beyond: false } : null;
  return { upper, lower };
}
