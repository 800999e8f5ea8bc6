// The table of concepts: its links, and a search through all that stands in a row.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mount as mount_map } from '../../../../../ui/components/js/apps/map/main.js';
import { begin_typing, mount } from '../../harness.js';

/** @param {string} key @param {string} name @param {string} lesson */
const concept = (key, name, lesson) => ({
  key,
  name,
  lesson: { text: lesson, href: `?lesson=${key}` },
  experiment: { text: 'Step: the table', href: `?try=${key}` },
  question: { text: `What is <b>${key}</b>?`, href: `?lesson=${key}&question=it` },
});
const TOPICS = [
  { title: 'One step', rows: [concept('logit', 'Logits', 'Scores'), concept('draw', 'The draw', 'The loop')] },
  { title: 'Stopping', rows: [concept('eos', 'End of text', 'Stopping')] },
];

/** @param {any[][]} told */
const page_of = told =>
  mount(root => {
    mount_map(root, { topics: TOPICS }, (...said) => told.push(said));
    return { update() {} };
  });

test('a press on a link is told, and its address serves another tab', () => {
  /** @type {any[][]} */
  const told = [];
  const page = page_of(told);
  const link = page.one('link', 'What is <b>draw</b>?');
  assert.equal(link.getAttribute('href'), '?lesson=draw&question=it');
  link.click();
  page.all('link', 'Step: the table')[2].click();
  assert.deepEqual(told, [
    ['go', { key: 'draw', cell: 'question' }],
    ['go', { key: 'eos', cell: 'experiment' }],
  ]);
});

test('a search keeps the rows that hold every word, and the topics that have some', () => {
  const page = page_of([]);
  const names = () => page.all('rowheader').map(({ textContent }) => textContent);
  const topics = () => page.all('rowgroup').flatMap(one => one.querySelector('[scope=rowgroup]')?.textContent ?? []);
  assert.deepEqual(names(), ['Logits', 'The draw', 'End of text']);
  for (const [typed, found, of] of [
    [' SCORES ', ['Logits'], ['One step']],
    ['step', ['Logits', 'The draw', 'End of text'], ['One step', 'Stopping']],
    ['loop draw', ['The draw'], ['One step']],
    ['stopping', ['End of text'], ['Stopping']],
    ['nothing', [], []],
  ]) {
    begin_typing(page.one('searchbox', 'Search what there is to learn'), String(typed));
    assert.deepEqual([names(), topics()], [found, of]);
    const count = found.length === 3 ? '3' : `${found.length} of 3`;
    assert.equal(page.one('status').textContent, `${count} concepts`);
  }
});
