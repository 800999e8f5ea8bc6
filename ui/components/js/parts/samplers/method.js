// The decoding method's additions to the samplers: the guidance scale; alpha and k of contrastive search.

import { element, set_attribute, set_text } from '../../lib/dom.js';
import { exact_field, slider_of } from '../../lib/fields.js';
import { term } from '../../lib/term.js';
import { quoted } from '../../words/format.js';
import { marked, say } from '../../words/say.js';

/** @import { Actions, State } from '../../types.js' */
/** @typedef {Pick<State, 'draft' | 'strategy' | 'guidance_scale' | 'negative_prompt' | 'negative_tokens'>} Properties */

const SCALE = { name: marked('Guidance scale'), setting: 'guidance_scale', low: 1, high: 5, step: 0.05 };
const ALPHA = { name: marked('Penalty alpha'), setting: 'penalty_alpha', low: 0, high: 1, step: 0.05 };
const CANDIDATES = { name: marked('Candidates k'), setting: 'candidates', low: 1, high: 20, step: 1, whole: true };

/**
 * @param {string} name
 * @param {Node} title
 * @param {Node[]} head
 * @param {Node[]} contents
 */
const card = (name, title, head, contents) =>
  element(
    'section',
    { class: 'dv-sampler', role: 'group', 'aria-label': name },
    element(
      'div',
      { class: 'dv-sampler-head dv-no-grip' },
      element('span', { class: 'dv-sampler-name' }, title),
      ...head,
    ),
    ...contents,
  );

/** @param {string} text @param {{slider: {input: Node}, exact: {input: Node}}} number */
const pair = (text, { slider, exact }) =>
  element('div', { class: 'dv-pair' }, element('span', { text }), slider.input, exact.input);

/** @param {Actions} actions */
export function create_method(actions) {
  const settle = () => actions.settle();
  /** @param {import('../../lib/fields.js').Range & {setting: string}} range @param {(value: number) => void} slide */
  const number = (range, slide) => {
    const slider = slider_of(range, say(range.name), { settle });
    slider.input.addEventListener('input', () => slide(slider.input.valueAsNumber));
    const exact = exact_field(
      { ...range, name: say(range.name) },
      say('{name}, exact value', { name: say(range.name) }),
      {
        check: value => actions.check(range.setting, '', value),
        apply(value) {
          slide(value);
          settle();
        },
      },
    );
    return { slider, exact };
  };
  const scale = number(SCALE, actions.guide);
  const alpha = number(ALPHA, value => actions.draft({ penalty_alpha: value }));
  const candidates = number(CANDIDATES, value => actions.draft({ top_k: value }));
  const away = element('p', { class: 'dv-effect' });
  const how = element('p', { class: 'dv-effect' });
  const guidance = card(
    say('Guidance'),
    term('guidance', say('Guidance')),
    [scale.exact.input],
    [scale.slider.input, away, scale.exact.alert],
  );
  const search = card(
    say('Contrastive search'),
    term('contrastive search', say('Contrastive search')),
    [],
    [pair('alpha', alpha), pair('k', candidates), alpha.exact.alert, candidates.exact.alert, how],
  );

  return {
    nodes: [guidance, search],
    /** @param {Properties} state */
    update({ draft, strategy, guidance_scale, negative_prompt, negative_tokens }) {
      const is_search = draft.is_search || strategy !== null;
      set_attribute(guidance, 'hidden', is_search || draft.negative_prompt === null);
      set_attribute(search, 'hidden', !is_search);
      for (const each of [scale.slider, scale.exact]) each.update(guidance_scale);
      set_text(
        away,
        negative_tokens ? say('away from {prompt}', { prompt: quoted(negative_prompt) }) : say('begins with Start'),
      );
      for (const each of [alpha.slider, alpha.exact]) each.update(draft.penalty_alpha);
      for (const each of [candidates.slider, candidates.exact]) each.update(draft.top_k);
      const score = say(
        'Score: (1 − alpha) × probability − alpha × penalty. Nothing is random. Only samplers that edit single tokens act.',
      );
      set_text(how, strategy ? score : `${score} ${say('Press Start to begin.')}`);
    },
  };
}
