import { expect, test } from '@jest/globals';
import { withPlainBooleans } from '../../../src/commands/client/plain-booleans.ts';

const plain = (line: string) =>
  withPlainBooleans(['node', 'statelet', ...line.split(' ')])
    .slice(2)
    .join(' ');

test.each([
  ['delete web --wait=false', 'delete web --no-wait'],
  ['delete web --wait=true --ignore-not-found=true', 'delete web --wait --ignore-not-found'],
  ['logs web --timestamps=false -f', 'logs web -f'],
  ['exec web --tty=true -- sh --wait=false', 'exec web --tty -- sh --wait=false'],
  ['delete web --grace-period=5', 'delete web --grace-period=5'],
  ['events --types=true', 'events --types=true'],
  ['run --wait=false', 'run --wait=false'],
])('%s', (line, expected) => {
  expect(plain(line)).toBe(expected);
});
