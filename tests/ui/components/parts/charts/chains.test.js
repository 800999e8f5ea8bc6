// The charts of a step over random chains of all samplers: every bar, hover, line and caption matches the engine.

import { make_view } from '../../../../../ui/components/js/view/view.js';
import '../../harness.js';
import { test } from 'node:test';
import { in_text_of } from '../../../../../ui/components/js/kernel/table.js';
import * as distribution from '../../../../../ui/components/js/parts/charts/distribution.js';
import * as ranks from '../../../../../ui/components/js/parts/charts/ranks.js';
import { lines_of } from '../../../../../ui/components/js/parts/table/lines.js';
import { count, formats, percent } from '../../../../../ui/components/js/words/format.js';
import { over_all_chains, table } from '../../chains.js';

/**
 * @import { View } from '../../../../../ui/components/js/types.js'
 * @import { Differences } from '../../near.js'
 * @import { CaseVector, LineVector } from '../../vectors.js'
 */

const BARS = 12;

/** Start of the traces in both charts' data: softmax bars before all settings and after them, hover. */
const [MODEL, REMOVED, FINAL, CHOSEN, HOVER] = [5, 6, 7, 8, 10];

/** @param {CaseVector} vector @param {View} view */
const removed_words = (vector, { greedy }) =>
  vector.candidates.slice(0, BARS).map(({ 5: name }) => {
    if (!name) return 'kept';
    return `removed by ${greedy && name === 'temperature' ? 'greedy' : in_text_of(table, name)}`;
  });

test('bars and hover texts over tokens match the engine', () => {
  over_all_chains((found, scene, vector) => {
    if (vector.emptied_by) return;
    const view = /** @type {View} */ (make_view(scene));
    const frame = { memory: {}, places: BARS, is_calm: true };
    const { data, figures } = distribution.describe({ view, slow: false, digits: 'full' }, frame);
    const rows = vector.candidates.slice(0, BARS);
    const words = removed_words(vector, view);
    for (const [place, [, , , , , removed_by, final_prob]] of rows.entries()) {
      const [model, removed, final, chosen] = [MODEL, REMOVED, FINAL, CHOSEN].map(trace => data[trace].y[place]);
      found.near(`first bar of ${place}`, removed_by ? removed : model, view.rows[place].model_prob);
      if (removed_by) found.same(`other bars of ${place}`, [model, final, chosen], [null, null, null]);
      else {
        found.near(`second bar of ${place}`, final, final_prob);
        found.same(`other bars of ${place}`, [removed, chosen], [null, null]);
      }
      const hover = data[HOVER].hovertext?.[place] ?? '';
      found.holds(`hover of ${place} ends with ${words[place]}: ${hover}`, hover.endsWith(`<br>${words[place]}`));
    }
    const kept = vector.stages.at(-1)?.count ?? scene.row.possible;
    const caption = figures.softmax.summary;
    const said = kept === view.vocab ? `all ${count(kept)} tokens` : `${count(kept)} of ${count(view.vocab)} kept`;
    found.holds(`${caption} says ${said}`, caption.includes(said));
    check_lines(
      found,
      view,
      vector,
      figures.softmax.marks.map(mark => mark.text),
    );
  });
});

/**
 * Check that every sampler that stops in the ranking has a line, and no others do.
 *
 * @param {Differences} found
 * @param {View} view
 * @param {CaseVector} vector
 * @param {string[]} marks
 */
function check_lines(found, view, vector, marks) {
  /** @param {LineVector} line */
  const is_seen = line => line.in_ranking && (line.is_lower || line.is_upper);
  const names = vector.points[1].lines.filter(is_seen).map(line => in_text_of(table, line.name));
  const text = marks.join(' | ');
  for (const name of names) found.holds(`${name} has a line: ${text}`, text.includes(name));
  found.same('a line without a sampler', names.length === 0, marks.length === 0);
  const { cut } = vector.points[1];
  const { upper, lower } = lines_of(view, 15, formats());
  const words = [upper?.words, lower?.words].filter(Boolean).join(' ');
  found.same('lines in the table', words === '', cut === null || !(cut.first_rank > 1 || cut.last_rank < total(view)));
  if (words && cut)
    found.holds(`${words} says ${percent(cut.mass)}`, words.includes(`hold`) && words.includes(percent(cut.mass)));
}

/** Return the number of tokens in the ranking that rows use. @param {View} view */
const total = view => view.curve.ranks.at(-1) ?? 0;

test('curves and hover texts over ranks match the engine', () => {
  over_all_chains((found, scene, vector) => {
    if (vector.emptied_by) return;
    const view = /** @type {View} */ (make_view(scene));
    const { data, figures } = ranks.describe({ view }, { memory: {}, is_calm: true });
    const { curve } = vector.points[1];
    const places = new Map(view.curve.ranks.map((rank, place) => [rank, place]));
    const [before, after] = data;
    for (const [place, rank] of curve.ranks.entries()) {
      const own = places.get(rank);
      if (own === undefined) continue;
      found.near(`running sum at ${rank}`, before.y[own + 1], curve.cumulative[place]);
      found.near(`running sum in the end at ${rank}`, after.y[own + 1], curve.cumulative_final[place]);
      const hover = before.hovertext?.[own + 1] ?? '';
      found.holds(`hover of ${rank}: ${hover}`, hover.endsWith(curve.kept[place] ? '<br>kept' : '<br>removed'));
    }
    const expected = vector.stages.filter(stage => stage.mass).length > 0;
    if (expected && view.mass_lines[0].level !== null) {
      const text = figures.cumulative.text;
      found.holds(`${text} says where the share is reached`, text.startsWith(view.mass_lines[0].label));
    }
  });
});
