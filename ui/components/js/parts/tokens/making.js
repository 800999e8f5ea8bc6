// The making of tokens from the chosen token's pre-token: a slider over its merges or matches, or its best cuts.

import { element, set_attribute, set_text } from '../../lib/dom.js';
import { count } from '../../words/format.js';
import { frame, nats, pair, step_count } from '../../words/making.js';
import { marked, say } from '../../words/say.js';

/** @import { Cuts, Making, Matches, Merges, TokensState } from '../../types.js' */

const CONTROL = marked('A control token is one token, whatever its name contains.');

/** @param {string[]} head @param {string} name @param {(string | Node)[][]} rows */
function table(name, head, rows) {
  const cells = (/** @type {'td' | 'th'} */ tag, /** @type {(string | Node)[]} */ row) =>
    row.map(cell => element(tag, {}, cell));
  const body = rows.map(row => element('tr', {}, ...cells('td', row)));
  return element(
    'div',
    { class: 'dv-making-table', role: 'region', 'aria-label': name, tabindex: 0 },
    element('table', {}, element('thead', {}, element('tr', {}, ...cells('th', head))), element('tbody', {}, ...body)),
  );
}

const chip = (/** @type {string} */ label, look = '') =>
  element('span', { class: `dv-token dv-symbol ${look}`.trim(), text: label });

/** @param {Merges} making */
const merge_table = ({ symbols, merges }) =>
  table(
    say('Merges'),
    ['', say('left'), say('right'), say('token'), say('in the file'), 'id'],
    merges.map(([, , , rank, label, id], place) => [
      count(place + 1),
      ...pair(symbols, merges, place + 1).map(one => chip(one)),
      chip(label),
      count(rank + 1),
      count(id),
    ]),
  );

/** @param {Cuts} making */
const cut_table = ({ cuts }) =>
  table(
    say('Best splits'),
    ['', say('tokens, each with its score in nats'), say('sum')],
    cuts.map(({ score, tokens }, place) => {
      const chips = tokens.flatMap(([label, each]) => [chip(label), ` ${nats(each)}  `]);
      return [count(place + 1), element('span', {}, ...chips), nats(score)];
    }),
  );

/** @param {HTMLElement} root */
export function create(root) {
  const name = element('span', { class: 'dv-token' });
  const [before, after] = say('How {name} is split').split('{name}');
  const title = element('h4', {}, before, name, after);
  const chips = element('p', { class: 'dv-symbols' });
  const said = element('p', { class: 'dv-muted', 'aria-live': 'polite' });
  const slider = element('input', { type: 'range', min: 0, step: 1, 'aria-label': say('Step of the split') });
  const back = element('button', { type: 'button', text: say('Back'), onclick: () => go(step - 1) });
  const next = element('button', { type: 'button', text: say('Step'), onclick: () => go(step + 1) });
  const steps = element('div', { class: 'dv-making-steps' }, back, next, slider);
  const below = element('div');
  root.append(title, steps, chips, said, below);
  slider.addEventListener('input', () => go(Number(slider.value)));
  /** @type {Making | null} */
  let making = null;
  let step = 0;

  /** @param {number} to */
  function go(to) {
    if (making?.kind !== 'merges' && making?.kind !== 'matches') return;
    step = Math.min(Math.max(to, 0), step_count(making));
    const now = frame(/** @type {Merges | Matches} */ (making), step);
    chips.replaceChildren(...now.chips.map(({ label, look }) => chip(label, look)));
    set_text(said, now.sentence);
    slider.value = String(step);
    back.disabled = step === 0;
    next.disabled = step === step_count(making);
    for (const [place, row] of below.querySelectorAll('tbody tr').entries())
      set_attribute(row, 'aria-current', place === step - 1 && 'step');
  }

  /** @param {Making} now */
  function show(now) {
    making = now;
    const has_steps = step_count(now) > 0;
    steps.classList.toggle('dv-hidden', !has_steps);
    slider.max = String(step_count(now));
    chips.replaceChildren();
    below.replaceChildren();
    if (now.kind === 'merges' && has_steps) below.append(merge_table(now));
    if (now.kind === 'cuts') below.append(cut_table(now));
    if (now.kind === 'none') set_text(said, now.reason);
    if (now.kind === 'cuts') set_text(said, say('The split with the highest sum of scores wins.'));
    go(0);
  }

  return {
    /** @param {TokensState} state */
    update({ side, chosen }) {
      const [label, number] = side.pre_tokens[side.tokens[chosen]?.pre_token ?? -1] ?? ['', -1];
      title.classList.toggle('dv-hidden', !label);
      set_text(name, label);
      const now = side.makings[number] ?? { kind: 'none', reason: side.tokens[chosen]?.is_special ? say(CONTROL) : '' };
      if (now !== making && !(making?.kind === 'none' && now.kind === 'none' && making.reason === now.reason))
        show(now);
    },
  };
}
