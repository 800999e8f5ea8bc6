// A prediction: drawn by keys and by pointer, revealed once, and fixed after that.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { mount } from '../../../../../ui/components/js/apps/prediction/main.js';
import { changes_in, find, press, text_of } from '../../harness.js';

const TOKENS = {
  name: 'tokens',
  number: 1,
  labels: ['␣Paris', '␣London', 'All other tokens'],
  axis: '',
  figure: 'Probability as the next token',
  unit: '%',
  digits: 0,
  low: 0,
  high: 1,
  is_curve: false,
  is_distribution: true,
  start: [1 / 3, 1 / 3, 1 / 3],
  revealed: null,
};
const CURVE = {
  ...TOKENS,
  name: 'curve',
  labels: ['1', '2', '3', '4'],
  axis: 'Step',
  figure: 'Uncertainty (entropy)',
  unit: 'bits',
  digits: 1,
  high: 10,
  is_curve: true,
  is_distribution: false,
  start: [5, 5, 5, 5],
};

/** @param {any} data */
function page_of(data) {
  document.body.replaceChildren();
  const root = document.createElement('section');
  document.body.append(root);
  /** @type {any[]} */
  const told = [];
  const app = mount(root, data, (name, value) => told.push([name, value]));
  const sliders = () => find(root, 'slider');
  return {
    root,
    told,
    app,
    sliders,
    values: () => sliders().map(slider => slider.getAttribute('aria-valuetext')),
    reveal: () => /** @type {HTMLButtonElement} */ (find(root, 'button', 'Reveal')[0]),
  };
}

/** Lay the tracks out next to each other, each 100 wide and high. @param {HTMLElement[]} tracks */
function laid_out(tracks) {
  tracks.forEach((track, place) => {
    track.getBoundingClientRect = () =>
      /** @type {any} */ ({
        left: place * 100,
        right: place * 100 + 100,
        top: 0,
        bottom: 100,
        width: 100,
        height: 100,
      });
  });
}

/** @param {Element} target @param {string} kind @param {number} x @param {number} y */
function point(target, kind, x, y) {
  const event = new window.MouseEvent(kind, { bubbles: true, cancelable: true, clientX: x, clientY: y });
  target.dispatchEvent(event);
}

describe('a prediction', () => {
  beforeEach(() => sessionStorage.clear());

  test('keys move each named bar, and the sum stays 1', () => {
    const page = page_of(TOKENS);
    const [paris] = find(page.root, 'slider', '␣Paris');
    assert.equal(find(page.root, 'group', 'Probability as the next token').length, 1);
    assert.ok(page.reveal().disabled, 'nothing is predicted yet');
    press(paris, 'End');
    assert.deepEqual(page.values(), ['100 %', '0 %', '0 %']);
    press(paris, 'PageDown');
    assert.deepEqual(page.values(), ['90 %', '5 %', '5 %']);
    press(paris, 'ArrowDown');
    assert.equal(page.values()[0], '89 %');
    press(page.sliders()[1], 'ArrowUp');
    assert.equal(page.values()[0], '89 %', 'a bar keeps its value while the next one is set');
    page.reveal().click();
    const [[name, said]] = page.told;
    assert.equal(name, 'reveal');
    assert.ok(Math.abs(said.values.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b) - 1) < 1e-9);
    assert.ok(page.reveal().disabled, 'it is asked once');
  });

  test('a sweep sketches a curve, including the bars it skips', () => {
    const page = page_of(CURVE);
    laid_out(page.sliders());
    point(page.sliders()[0], 'pointerdown', 50, 0);
    point(page.sliders()[3], 'pointermove', 350, 100);
    assert.deepEqual(page.values(), ['10.0 bits', '6.7 bits', '3.3 bits', '0.0 bits']);
    page.reveal().click();
    assert.deepEqual(page.told, [['reveal', { number: 1, values: [10, 6.7, 3.3, 0] }]]);
  });

  test('a reveal shows both values and locks the bars', () => {
    const page = page_of(CURVE);
    press(page.sliders()[1], 'ArrowUp');
    page.app.update({ ...CURVE, revealed: { drawn: [5, 5.1, 5, 5], truth: [5, 20, 0.5, 5], worst: 1 } });
    assert.equal(page.values()[1], 'you said 5.1 bits, the model has 20.0 bits');
    assert.ok(page.sliders().every(slider => slider.getAttribute('aria-disabled') === 'true'));
    assert.match(text_of(page.root), /20\.0 bits.*10\.0 bits/, 'the scale is widened to hold the truth');
    laid_out(page.sliders());
    const { number } = changes_in(page.root, () => {
      press(page.sliders()[1], 'End');
      point(page.sliders()[1], 'pointerdown', 150, 0);
    });
    assert.equal(number, 0);
    assert.deepEqual(page.told, []);
  });

  test('a sketch survives a redraw and a reload, but not another prompt', () => {
    const page = page_of(CURVE);
    press(page.sliders()[0], 'Home');
    page.app.update({ ...CURVE });
    assert.equal(page.values()[0], '0.0 bits');
    assert.equal(page_of(CURVE).values()[0], '0.0 bits');
    assert.equal(page_of({ ...CURVE, name: 'another' }).values()[0], '5.0 bits');
  });

  test('Reveal can be pressed again after the model fails', () => {
    const page = page_of(CURVE);
    press(page.sliders()[0], 'Home');
    page.reveal().click();
    page.app.update({ ...CURVE, tries: 1 });
    assert.ok(!page.reveal().disabled);
  });
});
