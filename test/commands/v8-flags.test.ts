import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { V8_FLAGS } from '../../src/commands/v8-flags.ts';

const MODULE = fileURLToPath(new URL('../../src/commands/v8-flags.ts', import.meta.url));

/** Prints whether V8 has compiled a function anew, after 2,000 calls and after 100,000. */
const SCRIPT = `
  if (process.argv[1] !== undefined) (await import(process.argv[1])).setV8Flags();
  const sum = ({ a, b }) => a + b;
  const isFast = (calls) => {
    for (let call = 0; call < calls; call += 1) sum({ a: call, b: 1 });
    return %ActiveTierIsMaglev(sum) || %ActiveTierIsTurbofan(sum);
  };
  console.log(JSON.stringify([isFast(2_000), isFast(100_000)]));
`;

/** In the thread that runs the script, so that the outcome does not depend on how busy the machine is. */
const NODE = ['--allow-natives-syntax', '--no-concurrent-recompilation', '--no-use-osr', '--no-warnings'];

function compiled(...args: readonly string[]): unknown {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [...NODE, '--input-type=module', '-e', SCRIPT, ...args],
    { encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

test('V8 knows each flag: else it would print an error at each start', () => {
  const { status, stderr } = spawnSync(process.execPath, [...V8_FLAGS, '-e', ''], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});

test('a function that a burst of work calls is not compiled anew, but one that stays busy is', () => {
  expect(compiled()).toEqual([true, true]);
  expect(compiled(MODULE)).toEqual([false, true]);
});
