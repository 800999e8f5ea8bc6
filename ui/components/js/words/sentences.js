// Sentences from the table's templates. `{figure:format}` is a figure of a sampler's result, in one of the formats of
// engine/stages/info.py.

import { sampler_of } from '../kernel/table.js';
import { nothing_left } from './chain.js';
import { formats, names_text } from './format.js';
import { say } from './say.js';

/**
 * @import { Digits, Figure, SamplerView, Table, View } from '../types.js'
 */

const PLACE = /\{(\w+):(\w+)\}/g;

/**
 * Fill a template with its figures.
 *
 * @param {string} template
 * @param {Record<string, Figure>} figures
 * @param {Digits} [digits]
 */
export function render(template, figures, digits) {
  /** @type {Record<string, (figure: number) => string>} */
  const { ...by_name } = formats(digits);
  return template.replace(PLACE, (_, name, format) => {
    const figure = figures[name];
    return Array.isArray(figure) ? names_text(figure) : by_name[format](figure);
  });
}

/**
 * A sampler's template for the given case; that of the case '' if the given one has none.
 *
 * @param {Record<string, string> | undefined} templates
 * @param {string} which
 */
const template_of = (templates, which) => templates?.[which] ?? templates?.[''] ?? '';

/**
 * The effect of an active sampler on this row, as one or two sentences.
 *
 * @param {SamplerView} sampler
 * @param {View} view
 * @param {Table} table
 * @param {Digits} [digits]
 */
export function sampler_sentence(sampler, view, table, digits) {
  const nothing = nothing_left(view, table);
  if (nothing && sampler.before === 0) return say('No token was left to act on: {reason}.', { reason: nothing.reason });
  if (sampler.no_effect) return say('No effect here: {reason}.', { reason: sampler.no_effect });
  const sentence = render(template_of(sampler_of(table, sampler.name)?.says, sampler.case), sampler.figures, digits);
  return nothing && sampler.after === 0
    ? say('{sentence} No token is left. {remedy}', { sentence, remedy: nothing.remedy })
    : sentence;
}

/**
 * A few words on a sampler's effect, for its own line; may be empty.
 *
 * @param {SamplerView} sampler
 * @param {Table} table
 * @param {Digits} [digits]
 */
export function sampler_note(sampler, table, digits) {
  if (!sampler.on || sampler.before === 0) return '';
  return render(template_of(sampler_of(table, sampler.name)?.note, sampler.case), sampler.figures, digits);
}
