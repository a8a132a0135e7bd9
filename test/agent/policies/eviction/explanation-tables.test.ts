import { expect, test } from '@jest/globals';
import { shortQuantity } from '../../../../src/agent/policies/eviction/explanation-tables.ts';

test.each([
  ['19288964Ki', '18.3Gi'],
  ['<27055317804', '<25.1Gi'],
  ['<100Mi', '<100Mi'],
  ['102399Ki', '99.9Mi'],
  ['1023', '1023'],
  ['1024', '1Ki'],
  ['1500m', '2'],
  ['0', '0'],
  ['4Pi', '4Pi'],
])('%s is shown as %s', (text, shown) => {
  expect(shortQuantity(text)).toBe(shown);
});
