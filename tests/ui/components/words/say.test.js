import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { say, speak } from '../../../../ui/components/js/words/say.js';

describe('a sentence', () => {
  afterEach(() => speak({}));

  test('is English by itself, with its places filled', () => {
    assert.equal(say('Step'), 'Step');
    assert.equal(say('{count} of {total} tokens', { count: 0, total: '12' }), '0 of 12 tokens');
  });

  test('is said in the language that is spoken, and in English where that lacks it', () => {
    speak({ '{count} of {total} tokens': '{count} von {total} Token' });
    assert.equal(say('{count} of {total} tokens', { count: 1, total: 2 }), '1 von 2 Token');
    assert.equal(say('Step'), 'Step');
  });

  test('leaves a place as it stands that nobody fills', () => {
    assert.equal(say('{this} and {that}', { this: 'a' }), 'a and {that}');
  });
});
