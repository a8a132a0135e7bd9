import { expect, test } from '@jest/globals';
import { verbosityOf } from '../../../src/policies/server/verbosity-text.ts';

test.each([
  ['0', 0],
  ['4', 4],
  ['007', 7],
  ['2147483647', 2_147_483_647],
])('%j is a verbosity', (text, level) => {
  expect(verbosityOf(text)).toBe(level);
});

test.each([
  ['', 'strconv.ParseUint: parsing "": invalid syntax'],
  ['abc', 'strconv.ParseUint: parsing "abc": invalid syntax'],
  ['-1', 'strconv.ParseUint: parsing "-1": invalid syntax'],
  ['+2', 'strconv.ParseUint: parsing "+2": invalid syntax'],
  [' 3', 'strconv.ParseUint: parsing " 3": invalid syntax'],
  ['3\n', String.raw`strconv.ParseUint: parsing "3\n": invalid syntax`],
  ['0x3', 'strconv.ParseUint: parsing "0x3": invalid syntax'],
  ['1.5', 'strconv.ParseUint: parsing "1.5": invalid syntax'],
  ['4294967296', 'strconv.ParseUint: parsing "4294967296": value out of range'],
  [
    '2147483648',
    'failed set klog.logging.verbosity 2147483648: strconv.ParseInt: parsing "2147483648": value out of range',
  ],
])('%j is refused as the kubelet refuses it', (text, message) => {
  expect(() => verbosityOf(text)).toThrow(expect.objectContaining({ kind: 'InvalidArgument', message }));
});
