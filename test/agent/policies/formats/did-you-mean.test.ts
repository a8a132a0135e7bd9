import { expect, test } from '@jest/globals';
import { didYouMean } from '../../../../src/agent/policies/formats/did-you-mean.ts';

const FIELDS = ['containers', 'initContainers', 'restartPolicy', 'volumes', 'os'];

test.each([
  ['container', 'containers'],
  ['Containers', 'containers'],
  ['restartpolicy', 'restartPolicy'],
  ['restrtPolicy', 'restartPolicy'],
  ['volmues', 'volumes'],
  ['so', undefined],
  ['image', undefined],
  ['', undefined],
])('of "%s" it suggests %s', (word, want) => {
  expect(didYouMean(word, FIELDS)).toBe(want === undefined ? '' : `; did you mean "${want}"?`);
});

test('the nearest word is suggested, of equally near words the first', () => {
  expect(didYouMean('cart', ['cats', 'carts'], () => 2)).toBe('; did you mean "carts"?');
  expect(didYouMean('cats', ['carts', 'cat'], () => 2)).toBe('; did you mean "carts"?');
});

test('how many edits may lie between can be given', () => {
  expect(didYouMean('volmues', FIELDS, () => 1)).toBe('');
});
