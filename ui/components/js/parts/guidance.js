// The effect of guidance on the logits on screen, before any sampler: each leading token's standing without it, after
// the negative prompt, and with it; and the cost of the second pass.

import { element, set_attribute, set_class, set_live, set_text } from '../lib/dom.js';
import { count, ms, percent, quoted, size, tokens } from '../words/format.js';
import { marked, say, with_figures } from '../words/say.js';

/** @import { Reason, State } from '../types.js' */
/** @typedef {Pick<State, 'negative_tokens' | 'prompt_tokens' | 'view' | 'row' | 'index' | 'steps' | 'guidance_scale' | 'mode'>} Properties */
/** @typedef {{rank: number, prob: number}} Standing */
/** @typedef {{id: number, guided: Standing, prompt: Standing, negative: Standing}} Compared */

const COLUMNS = [marked('Token'), marked('Prompt alone'), marked('Negative prompt'), marked('Guided'), marked('Moved')];

/** @param {[id: number, ...standings: [rank: number, prob: number][]]} told @returns {Compared} */
function compared([id, ...standings]) {
  const [guided, prompt, negative] = standings.map(([rank, prob]) => ({ rank, prob }));
  return { id, guided, prompt, negative };
}

/**
 * "▲ 4", "▼ 11", "=": the number of ranks by which a token rose or fell.
 *
 * @param {number} before
 * @param {number} after
 */
export function moved_text(before, after) {
  if (!before || !after) return after ? '' : say('ruled out');
  if (before === after) return '=';
  return before > after ? `▲ ${count(before - after)}` : `▼ ${count(after - before)}`;
}

/** @param {{rank: number}} standing */
const place = ({ rank }) => (rank ? say('rank {rank}', { rank: count(rank) }) : say('ruled out'));

/**
 * The effect of guidance on the token that leads now, and on the one that led without it.
 *
 * @param {Compared[]} rows
 * @param {number} scale
 * @param {(id: number) => string} label_of
 */
export function story(rows, scale, label_of) {
  if (scale === 1) return say('At scale 1 the logits are those of the prompt alone. Both texts are read all the same.');
  const now = rows.find(({ guided }) => guided.rank === 1);
  const before = rows.find(({ prompt }) => prompt.rank === 1);
  if (!now || !before) return say('No tokens left: each is ruled out after the prompt or after the negative prompt.');
  if (now === before) {
    const { prompt, guided } = now;
    return say('{token} stays first: {before} without guidance, {after} with it.', {
      token: quoted(label_of(now.id)),
      before: percent(prompt.prob),
      after: percent(guided.prob),
    });
  }
  return say(
    '{token} comes first with {after}, up from {place} and {before}; {other}, first without guidance, is now at {fallen}.',
    {
      token: quoted(label_of(now.id)),
      after: percent(now.guided.prob),
      place: place(now.prompt),
      before: percent(now.prompt.prob),
      other: quoted(label_of(before.id)),
      fallen: place(before.guided),
    },
  );
}

/**
 * The cost of the step on screen, by its record; for a pending step, the expected cost.
 *
 * @param {Properties} state
 * @param {number} index
 */
export function cost(state, index) {
  const step = state.steps[index];
  const [prompt, negative] = [state.prompt_tokens.length, state.negative_tokens?.length ?? 0];
  if (!step) {
    return say(
      "Every step costs two passes and fills two caches: one of the prompt's {prompt} and the text, one of the negative prompt's {negative} and the text.",
      { prompt: tokens(prompt), negative: tokens(negative) },
    );
  }
  const second = step.negative_forward_ms;
  const other_bytes = step.negative_cache_bytes ?? 0;
  const own = (step.cache_bytes ?? 0) - other_bytes;
  const other = step.positions - prompt + negative;
  const values = {
    step: count(index + 1),
    first: ms(step.forward_ms - (second ?? 0)),
    second: ms(second ?? 0),
    bytes: size(own),
    positions: count(step.positions),
    other_bytes: size(other_bytes),
    other_positions: count(other),
  };
  if (step.cache_bytes === null) {
    return say(
      "Step {step}: {first} for the prompt's text at {positions} positions, {second} for the negative one's at {other_positions}.",
      values,
    );
  }
  return second === null
    ? say(
        'Step {step}: its logits were recorded, so no pass was needed; two caches, {bytes} at {positions} positions and {other_bytes} at {other_positions}.',
        values,
      )
    : say(
        "Step {step}: two passes, {first} for the prompt's text and {second} for the negative one's; two caches, {bytes} at {positions} positions and {other_bytes} at {other_positions}.",
        values,
      );
}

function create_row() {
  const token = element('span', { class: 'dv-token' });
  const cells = COLUMNS.slice(1).map(() => element('td', { class: 'dv-figure' }));
  const bars = cells.slice(0, 3).map(cell => {
    const text = element('span');
    const bar = element('i');
    cell.append(text, element('span', { class: 'dv-gauge', 'aria-hidden': 'true' }, bar));
    return { text, bar };
  });
  return { node: element('tr', {}, element('th', { scope: 'row' }, token), ...cells), token, bars, moved: cells[3] };
}

/** @param {HTMLElement} root @param {object} _actions */
export function create(root, _actions) {
  const sentence = element('p');
  const formula = element('p', { class: 'dv-muted' });
  const costs = element('p', { class: 'dv-muted' });
  const body = element('tbody');
  /** @type {ReturnType<typeof create_row>[]} */
  const rows = [];
  const heads = COLUMNS.map(text => element('th', { scope: 'col', text: say(text) }));
  const table = element(
    'table',
    { class: 'dv-figures', 'aria-label': say('What guidance moved') },
    element('thead', {}, element('tr', {}, ...heads)),
    body,
  );
  root.append(sentence, table, formula, costs);

  /** @param {Properties} state @param {Compared} each @param {ReturnType<typeof create_row>} line */
  function fill({ row }, each, line) {
    const { guided, prompt, negative } = each;
    set_text(line.token, row?.labels.get(each.id) ?? `id ${each.id}`);
    [prompt, negative, guided].forEach((standing, column) => {
      const { text, bar } = line.bars[column];
      set_text(text, `${standing.rank ? `#${count(standing.rank)}` : '–'} ${percent(standing.prob)}`);
      bar.style.setProperty('--share', standing.prob.toFixed(4));
    });
    set_text(line.moved, moved_text(prompt.rank, guided.rank));
    set_class(line.node, each.id === row?.chosen ? 'chosen' : '');
  }

  return {
    /** @param {Properties} state @param {Reason} reason */
    update(state, reason) {
      if (!state.negative_tokens) return;
      set_text(costs, cost(state, state.view?.index ?? state.index));
      const { row, guidance_scale: scale } = state;
      const shown = state.view && row?.compared ? row.compared.map(compared) : [];
      while (rows.length < shown.length) rows.push(create_row());
      body.replaceChildren(...rows.slice(0, shown.length).map(({ node }) => node));
      shown.forEach((each, index) => fill(state, each, rows[index]));
      table.hidden = shown.length === 0;
      set_live(sentence, state, reason);
      set_text(
        sentence,
        shown.length
          ? story(shown, scale, id => row?.labels.get(id) ?? `id ${id}`)
          : say('The rows of both texts appear once the text stops growing.'),
      );
      set_text(
        formula,
        say('guided = negative + {scale} × (prompt − negative), of log-probabilities, before every sampler', {
          scale: with_figures(String(Number(scale.toFixed(4)))),
        }),
      );
      set_attribute(table, 'aria-description', sentence.textContent);
    },
  };
}
