import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { exact_text, typed_number } from '../../../../ui/components/js/lib/fields.js';
import { bits, count, ms, percent, score_text, share, size } from '../../../../ui/components/js/words/format.js';
import { say, separators, speak } from '../../../../ui/components/js/words/say.js';

describe('a sentence', () => {
  afterEach(() => speak({}));

  test('uses the chosen language, or English if it has no translation', () => {
    speak({ '{count} of {total} tokens': '{count} von {total} Token' });
    assert.equal(say('{count} of {total} tokens', { count: 1, total: 2 }), '1 von 2 Token');
    assert.equal(say('Step'), 'Step');
    assert.equal(say('{this} and {that}', { this: 'a' }), 'a and {that}', 'a placeholder without a value');
  });
});

describe('a figure', () => {
  afterEach(() => speak({}));
  const written = () => [
    ...[count(16384), percent(0.505), share(0.95), size(1536)],
    ...[ms(3.1), bits(4.14), score_text(-1234.5)],
  ];

  test('uses the number format of the chosen language', () => {
    const english = ['16,384', '50.50 %', '95 %', '1.5 KiB', '3.10 ms', '4.14 bits', '−1234.50'];
    assert.deepEqual([...written(), separators()], [...english, '.,']);
    speak({ '1,024.5': '1.024,5' });
    const german = ['16.384', '50,50 %', '95 %', '1,5 KiB', '3,10 ms', '4,14 bits', '−1234,50'];
    assert.deepEqual([...written(), separators()], [...german, ',.']);
  });

  test('can be typed into its field in either format', () => {
    const [top_p, length] = [
      { name: 'Top-p', low: 0, high: 1, step: 0.01 },
      { name: 'Length', low: 1, high: 9000, step: 1, whole: true },
    ];
    speak({ '1,024.5': '1.024,5' });
    assert.equal(exact_text(top_p, 0.95), '0,95');
    const typed = (/** @type {any} */ range, /** @type {string[]} */ texts) =>
      texts.map(text => typed_number(range, text));
    assert.deepEqual(typed(top_p, ['0,95', '0.95', '1,024', '1,5e-7']), [0.95, 0.95, 1.024, 1.5e-7]);
    assert.deepEqual(typed(length, ['1.024', '1,024', '1024', '1.5', '0.500']), [1024, 1024, 1024, 1.5, 0.5]);
  });
});
