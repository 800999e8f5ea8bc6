// A sampler's effect on this step, in two short lines: the remaining tokens, and the resulting change.

import { count, formats, listed, shorten, tokens } from '../../words/format.js';
import { say } from '../../words/say.js';
import { sampler_note } from '../../words/sentences.js';

/** @import { Digits, Sampler, SamplerView, Table } from '../../types.js' */
/** @import { Formats } from '../../words/format.js' */

/** @param {SamplerView} shown @param {Formats} in_digits */
const uncertainty = ({ entropy_before, entropy_after }, { bits }) =>
  say('uncertainty {before} → {after}', {
    before: bits(entropy_before).split(' ')[0],
    after: bits(entropy_after),
  });

/** @param {SamplerView} shown */
const left = ({ before, after }) => `${count(before)} → ${tokens(after)}`;

/** The tokens that an edit moved: by name if they are few. @param {SamplerView} shown @param {Formats} in_digits */
function moved_tokens({ moved, figures }, { score }) {
  const number = Number(figures.moved ?? moved.length);
  if (number === 0) return say('nothing to change here');
  if (number > 2) return say('{tokens} changed', { tokens: tokens(number) });
  return moved.map(({ label, from, to }) => `${shorten(label, 10)} ${score(from)} → ${score(to)}`).join(' · ');
}

/**
 * @param {Sampler} sampler
 * @param {SamplerView} shown
 * @param {Table} table
 * @param {Digits} digits
 * @returns {[string, string]} the second may be empty
 */
export function effect(sampler, shown, table, digits) {
  const in_digits = formats(digits);
  if (shown.before === 0) return [say('No tokens left to act on'), say('an earlier sampler removed them all')];
  if (shown.no_effect) return [say('No effect here'), shown.no_effect];
  const note = sampler_note(shown, table, digits);
  const with_note = (/** @type {string} */ text) => (note ? `${text} · ${note}` : text);
  const gone = shown.before - shown.after;
  if (sampler.kind === 'scale' && gone === 0) return [with_note(uncertainty(shown, in_digits)), ''];
  if (sampler.kind === 'edit' && !sampler.removes_only)
    return [with_note(moved_tokens(shown, in_digits)), uncertainty(shown, in_digits)];
  if (gone === 0)
    return [
      with_note(
        sampler.removes_only
          ? say('nothing to remove here')
          : say('{change}: nothing removed', { change: left(shown) }),
      ),
      '',
    ];
  const names = sampler.removes_only
    ? ` (${listed(shown.moved.slice(0, 3).map(({ label }) => shorten(label, 10)))}${gone > 3 ? ', …' : ''})`
    : '';
  const values = { change: left(shown), mass: formats('few').percent(shown.mass_removed), names };
  return [with_note(say('{change}, {mass} removed{names}', values)), ''];
}
