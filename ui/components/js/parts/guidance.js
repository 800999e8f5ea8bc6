// What guidance did to the logits on screen, before any sampler: each leading token as it stands without it, after the negative
// prompt, and with it; and what the second pass costs.

import { compared } from '../kernel/guided.js';
import { element, set_attribute, set_class, set_live, set_text } from '../lib/dom.js';
import { count, ms, percent, quoted, size, tokens } from '../words/format.js';

/** @import { Reason, State } from '../types.js' */
/** @typedef {Pick<State, 'negative_tokens' | 'prompt_tokens' | 'view' | 'row' | 'index' | 'steps' | 'guidance_scale' | 'mode'>} Properties */
/** @typedef {ReturnType<typeof compared>[number]} Compared */

const LEADING = 8;
const COLUMNS = ['Token', 'Prompt alone', 'Negative prompt', 'Guided', 'Moved'];

/** "▲ 4", "▼ 11", "=": by how many ranks a token rose or fell. @param {number} before @param {number} after */
export function moved_text(before, after) {
  if (!before || !after) return after ? '' : 'ruled out';
  if (before === after) return '=';
  return before > after ? `▲ ${count(before - after)}` : `▼ ${count(after - before)}`;
}

/** @param {{rank: number}} standing */
const place = ({ rank }) => (rank ? `rank ${count(rank)}` : 'ruled out');

/** What guidance did to the token that leads now, and to the one that led without it. @param {Compared[]} rows @param {number} scale @param {(id: number) => string} label_of */
export function story(rows, scale, label_of) {
  if (scale === 1) return 'At scale 1 the logits are those of the prompt alone. Both texts are read all the same.';
  const now = rows.find(({ guided }) => guided.rank === 1);
  const before = rows.find(({ prompt }) => prompt.rank === 1);
  if (!now || !before) return 'No tokens left: each is ruled out after the prompt or after the negative prompt.';
  if (now === before) {
    const { prompt, guided } = now;
    const change = `${percent(prompt.prob)} without guidance, ${percent(guided.prob)} with it`;
    return `${quoted(label_of(now.id))} stays first: ${change}.`;
  }
  const fell = `${quoted(label_of(before.id))}, first without guidance, is now at ${place(before.guided)}`;
  const from = `from ${place(now.prompt)} and ${percent(now.prompt.prob)}`;
  return `${quoted(label_of(now.id))} comes first with ${percent(now.guided.prob)}, ${from}; ${fell}.`;
}

/** What the step on screen cost, by its record; of one to come, what it will. @param {Properties} state @param {number} index */
export function cost(state, index) {
  const step = state.steps[index];
  const [prompt, negative] = [state.prompt_tokens.length, state.negative_tokens?.length ?? 0];
  if (!step) {
    return (
      `Every step costs two passes and fills two caches: one of the prompt's ${tokens(prompt)} and the text, ` +
      `one of the negative prompt's ${tokens(negative)} and the text.`
    );
  }
  const second = step.negative_forward_ms;
  const passes =
    second === null
      ? 'its logits were recorded, so no pass was needed'
      : `two passes, ${ms(step.forward_ms - second)} for the prompt's text and ${ms(second)} for the negative one's`;
  const other_bytes = step.negative_cache_bytes ?? 0;
  const own = step.cache_bytes - other_bytes;
  const other = step.positions - prompt + negative;
  return (
    `Step ${count(index + 1)}: ${passes}; two caches, ${size(own)} at ${count(step.positions)} positions and ` +
    `${size(other_bytes)} at ${count(other)}.`
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
  const heads = COLUMNS.map(text => element('th', { scope: 'col', text }));
  const table = element(
    'table',
    { class: 'dv-figures', 'aria-label': 'What guidance moved' },
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
      const shown = state.view && row?.guidance ? compared(/** @type {any} */ (row), LEADING) : [];
      while (rows.length < shown.length) rows.push(create_row());
      body.replaceChildren(...rows.slice(0, shown.length).map(({ node }) => node));
      shown.forEach((each, index) => fill(state, each, rows[index]));
      table.hidden = shown.length === 0;
      set_live(sentence, state, reason);
      set_text(
        sentence,
        shown.length
          ? story(shown, scale, id => row?.labels.get(id) ?? `id ${id}`)
          : 'The rows of both texts come once the text stands still.',
      );
      set_text(
        formula,
        `guided = negative + ${Number(scale.toFixed(4))} × (prompt − negative), of log-probabilities, before every sampler`,
      );
      set_attribute(table, 'aria-description', sentence.textContent);
    },
  };
}
