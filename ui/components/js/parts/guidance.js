// What guidance did to the logits on screen, before any stage: each leading token as it stands without it, after
// the negative prompt, and with it; and what the second pass costs.

import { element, set_attribute, set_class, set_live, set_text } from '../lib/dom.js';
import { count, ms, percent, quoted, size, tokens } from '../words/format.js';
import { compared } from '../kernel/guided.js';

const LEADING = 8;
const COLUMNS = ['Token', 'Prompt alone', 'Negative prompt', 'Guided', 'Moved'];

/** "▲ 4", "▼ 11", "=": by how many ranks a token rose or fell. */
export function moved_text(before, after) {
  if (!before || !after) return after ? '' : 'ruled out';
  if (before === after) return '=';
  return before > after ? `▲ ${count(before - after)}` : `▼ ${count(after - before)}`;
}

const place = ({ rank }) => (rank ? `rank ${count(rank)}` : 'ruled out');

/** What guidance did to the token that leads now, and to the one that led without it. */
export function story(rows, scale, label_of) {
  if (scale === 1)
    return 'At scale 1 the logits are those of the prompt alone; both texts are read all the same.';
  const now = rows.find(({ guided }) => guided.rank === 1);
  const before = rows.find(({ prompt }) => prompt.rank === 1);
  if (!now) return 'No token is left: each is ruled out after the prompt or after the negative prompt.';
  if (now === before) {
    const { prompt, guided } = now;
    const change = `${percent(prompt.prob)} without guidance, ${percent(guided.prob)} with it`;
    return `${quoted(label_of(now.id))} stays first: ${change}.`;
  }
  const fell = `${quoted(label_of(before.id))}, first without guidance, is now at ${place(before.guided)}`;
  const from = `from ${place(now.prompt)} and ${percent(now.prompt.prob)}`;
  return `${quoted(label_of(now.id))} comes first with ${percent(now.guided.prob)}, ${from}; ${fell}.`;
}

/** What the step on screen cost, by its record; of one to come, what it will. */
export function cost(state, index) {
  const step = state.steps[index];
  const [prompt, negative] = [state.prompt_tokens.length, state.negative_tokens.length];
  if (!step) {
    return (
      `Every step costs two passes and fills two caches: one of the prompt's ${tokens(prompt)} and the text, ` +
      `one of the negative prompt's ${tokens(negative)} and the text.`
    );
  }
  const second = step.negative_forward_ms;
  const passes =
    second === null
      ? 'its logits came from the record, without a pass'
      : `two passes, ${ms(step.forward_ms - second)} for the prompt's text and ${ms(second)} for the negative one's`;
  const own = step.cache_bytes - step.negative_cache_bytes;
  const other = step.positions - prompt + negative;
  return (
    `Step ${count(index + 1)}: ${passes}; two caches, ${size(own)} at ${count(step.positions)} positions and ` +
    `${size(step.negative_cache_bytes)} at ${count(other)}.`
  );
}

function new_row() {
  const token = element('span', { class: 'dv-token' });
  const cells = COLUMNS.slice(1).map(() => element('td', {}));
  const bars = cells.slice(0, 3).map(cell => {
    const rank = element('span', { class: 'dv-guidance-rank' });
    const bar = element('span', { class: 'dv-bar' });
    cell.append(rank, bar);
    return { rank, bar };
  });
  const node = element('tr', {}, element('th', { scope: 'row' }, token), ...cells);
  return { node, token, bars, moved: cells[3] };
}

/** Mounts into `root`; see README.md for what a part is. */
export function create(root) {
  const sentence = element('p', { class: 'dv-guidance-story' });
  const formula = element('p', { class: 'dv-muted' });
  const costs = element('p', { class: 'dv-muted' });
  const body = element('tbody');
  const rows = [];
  const head = element('tr', {}, ...COLUMNS.map(text => element('th', { scope: 'col', text })));
  const table = element(
    'table',
    { class: 'dv-guidance-table', 'aria-label': 'What guidance moved' },
    element('thead', {}, head),
    body,
  );
  root.append(
    element(
      'section',
      { class: 'dv-guidance', 'aria-label': 'Guidance' },
      element(
        'div',
        { class: 'dv-guidance-words' },
        element('h2', { text: 'Guidance' }),
        sentence,
        formula,
        costs,
      ),
      element('div', { class: 'dv-guidance-box' }, table),
    ),
  );

  function fill(state, each, line) {
    const { guided, prompt, negative } = each;
    const label = state.row.labels.get(each.id) ?? `id ${each.id}`;
    set_text(line.token, label);
    [prompt, negative, guided].forEach((standing, column) => {
      const { rank, bar } = line.bars[column];
      set_text(rank, standing.rank ? `#${count(standing.rank)}` : '–');
      set_text(bar, percent(standing.prob));
      bar.style.setProperty('--share', standing.prob.toFixed(4));
    });
    set_text(line.moved, moved_text(prompt.rank, guided.rank));
    const chosen = state.row.chosen ?? null;
    set_class(line.node, each.id === chosen ? 'chosen' : '');
  }

  return {
    update(state, view, reason) {
      const is_guided = state.negative_tokens !== null;
      root.hidden = !is_guided;
      if (!is_guided) return;
      set_text(costs, cost(state, view?.index ?? state.index));
      const { row, guidance_scale: scale } = state;
      const shown = view && row.guidance ? compared(row, LEADING) : [];
      while (rows.length < shown.length) rows.push(new_row());
      body.replaceChildren(...rows.slice(0, shown.length).map(({ node }) => node));
      shown.forEach((each, index) => fill(state, each, rows[index]));
      table.hidden = shown.length === 0;
      set_live(sentence, state, reason);
      const label_of = id => row.labels.get(id) ?? `id ${id}`;
      set_text(sentence, shown.length ? story(shown, scale, label_of) : '');
      set_text(
        formula,
        `guided = negative + ${Number(scale.toFixed(4))} × (prompt − negative), ` +
          'of log-probabilities, before every stage.',
      );
      set_attribute(table, 'aria-description', sentence.textContent);
    },
  };
}
