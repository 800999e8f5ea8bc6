// What there is to learn: a table of concepts, each with links to its lesson, experiment and question.

import { element, set_text } from '../../lib/dom.js';
import { is_plain } from '../../lib/in_app.js';
import { say } from '../../words/say.js';

/**
 * @typedef {{text: string, href: string}} Link
 * @typedef {'lesson' | 'experiment' | 'question'} Cell
 * @typedef {{key: string, name: string} & Record<Cell, Link>} Concept
 * @typedef {{title: string, rows: Concept[]}} Topic
 */

/** @type {Cell[]} */
const CELLS = ['lesson', 'experiment', 'question'];

/**
 * @param {HTMLElement} root the element with class `dv`
 * @param {{topics: Topic[]}} data as ui/learn/map/view.py hands it over
 * @param {(name: string, value: unknown) => void} tell
 */
export function mount(root, { topics }, tell) {
  root.classList.add('dv-map');
  const names = { lesson: say('Lesson'), experiment: say('Experiment'), question: say('Question') };
  const search = element('input', {
    type: 'search',
    'aria-label': say('Search what there is to learn'),
    placeholder: say('Search'),
  });
  const found = element('span', { class: 'dv-muted', role: 'status' });
  const table = element('table');
  table.append(
    element(
      'thead',
      {},
      element(
        'tr',
        {},
        ...[say('Concept'), ...Object.values(names)].map(text => element('th', { scope: 'col', text })),
      ),
    ),
  );

  /** @param {Concept} concept @param {Cell} cell */
  function cell_of(concept, cell) {
    const { text, href } = concept[cell];
    const link = element('a', { href, text });
    link.addEventListener('click', event => {
      if (!is_plain(event)) return; // as into another tab
      event.preventDefault();
      tell('go', { key: concept.key, cell });
    });
    return element('td', { 'data-name': names[cell] }, link);
  }

  const groups = topics.map(({ title, rows }) => {
    const head = element('tr', {}, element('th', { scope: 'rowgroup', colspan: CELLS.length + 1, text: title }));
    const body = element('tbody', {}, head);
    const lines = rows.map(concept => {
      const node = element(
        'tr',
        {},
        element('th', { scope: 'row', text: concept.name }),
        ...CELLS.map(cell => cell_of(concept, cell)),
      );
      body.append(node);
      return { node, said: `${title} ${node.textContent}`.toLowerCase() };
    });
    table.append(body);
    return { body, lines };
  });
  const all = groups.reduce((count, { lines }) => count + lines.length, 0);

  /** Rows that hold every word that is typed, and the topics that have some. */
  function filter() {
    const wanted = search.value.toLowerCase().split(/\s+/);
    let count = 0;
    for (const { body, lines } of groups) {
      let here = 0;
      for (const { node, said } of lines) {
        const is_found = wanted.every(word => said.includes(word));
        node.classList.toggle('dv-hidden', !is_found);
        here += Number(is_found);
      }
      body.classList.toggle('dv-hidden', !here);
      count += here;
    }
    set_text(found, count === all ? say('{all} concepts', { all }) : say('{count} of {all} concepts', { count, all }));
  }
  search.addEventListener('input', filter);
  filter();

  root.append(
    element('p', { class: 'dv-map-search' }, search, found),
    element('div', { class: 'dv-map-table', tabindex: 0, role: 'group', 'aria-label': say('Concepts') }, table),
  );
  return { restyle() {}, destroy() {} };
}
