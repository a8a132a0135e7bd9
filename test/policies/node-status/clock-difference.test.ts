import { expect, test } from '@jest/globals';
import { clockDifferenceMs, clockProblem } from '../../../src/policies/node-status/clock-difference.ts';

const SERVER = 'Tue, 01 Jan 2030 12:00:00 GMT';
const at = (time: string) => Date.parse(`2030-01-01T${time}Z`);

test.each([
  ['the second of the answer is that of the server', '12:00:00.200', '12:00:00.900', 0],
  ['the server wrote it late in its second', '12:00:00.900', '12:00:01.100', 0],
  ['the answer was long under way, or this process stood still', '11:59:59', '12:09:00', 0],
  ['this machine is an hour ahead', '13:00:00', '13:00:02', 3_600_000],
  ['this machine is an hour behind', '10:59:59', '11:00:00', -3_600_000],
])('a difference is what no duration of the request explains: %s', (_, asked, got, expected) => {
  expect(clockDifferenceMs({ askedMs: at(asked), gotMs: at(got), date: SERVER })).toBe(expected);
});

test.each([undefined, 'yesterday', [SERVER, SERVER]])(
  'an answer without a valid time (%j) shows none',
  (date) => {
    expect(clockDifferenceMs({ askedMs: at('13:00:00'), gotMs: at('13:00:01'), date })).toBe(0);
  },
);

test('a minute and more is said, with its direction', () => {
  expect([0, 59_999, -59_999].map(clockProblem)).toEqual([undefined, undefined, undefined]);
  expect(clockProblem(3_600_400)).toMatch(
    /^the clock of this machine is 1h ahead of that of the API server: /,
  );
  expect(clockProblem(-90_000)).toMatch(
    /^the clock of this machine is 1m30s behind that of the API server: /,
  );
});
