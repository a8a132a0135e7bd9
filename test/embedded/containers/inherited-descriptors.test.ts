import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';

const MODULE = new URL('../../../src/embedded/containers/inherited-descriptors.ts', import.meta.url).href;

/** Prints the descriptors of /etc/passwd that a child process inherits. */
const SCRIPT = `
  import { execFileSync } from 'node:child_process';
  const { closeInheritedDescriptors } = await import(${JSON.stringify(MODULE)});
  closeInheritedDescriptors(Number(process.argv[1]));
  const find = 'for fd in /proc/self/fd/*; do [ "$(readlink $fd)" = /etc/passwd ] && basename $fd; done; true';
  console.log(execFileSync('sh', ['-c', find], { encoding: 'utf8' }).trim());
`;

/** Node marks the descriptors up to the first gap above 16 as close-on-exec, but not the others. */
const PRELUDE = 'exec 3</etc/passwd 9</etc/passwd 17</etc/passwd 63</etc/passwd 200</etc/passwd; exec "$@"';

function inheritedBut(kept: number): string {
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', SCRIPT];
  const node = [process.execPath, ...flags, String(kept)];
  return execFileSync('bash', ['-c', PRELUDE, 'bash', ...node], { encoding: 'utf8' }).trim();
}

test('no descriptor of the shell that started the process reaches its children', () => {
  expect(inheritedBut(2)).toBe('');
});

test('the descriptor that is to be kept stays open', () => {
  expect(inheritedBut(200)).toBe('200');
});
