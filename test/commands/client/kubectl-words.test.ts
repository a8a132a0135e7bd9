import { expect, test } from '@jest/globals';
import { withPlainWords } from '../../../src/commands/client/kubectl-words.ts';

const plain = (line: string) =>
  withPlainWords(['node', 'statelet', ...line.split(' ')])
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
  ['get pods -o=json -n=kube-system -w=true', 'get pods -o json -n kube-system -w'],
  ['get pods -w=false', 'get pods'],
  ['-n kube-system get pods', 'get -n kube-system pods'],
  ['--namespace=a --root-dir b logs web', 'logs --namespace=a --root-dir b web'],
  ['exec web -- sh -o=json', 'exec web -- sh -o=json'],
  ['-n a', '-n a'],
  ['-n a charts', '-n a charts'],
])('%s', (line, expected) => {
  expect(plain(line)).toBe(expected);
});
