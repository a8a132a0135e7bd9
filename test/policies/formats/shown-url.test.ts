import { expect, test } from '@jest/globals';
import { shownURL } from '../../../src/policies/formats/shown-url.ts';

test.each([
  ['https://example.com:8443/pods.yaml', 'https://example.com:8443/pods.yaml'],
  ['https://me:hunter2@example.com/pods.yaml', 'https://example.com/pods.yaml'],
  ['https://me:hunt@er2@example.com', 'https://example.com'],
  ['HTTP://me@example.com/a@b', 'HTTP://example.com/a@b'],
  ['https://example.com/pods?token=hunter2', 'https://example.com/pods?…'],
  ['https://me:hunter2@example.com/pods?token=hunter2#x?y', 'https://example.com/pods?…'],
])('%s is shown as %s', (url, shown) => {
  expect(shownURL(url)).toBe(shown);
});
