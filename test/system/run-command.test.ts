import { describe, expect, test } from '@jest/globals';
import { runCommand } from '../../src/system/run-command.ts';

const shell = (script: string, timeoutMs?: number) =>
  runCommand('sh', ['-c', script], timeoutMs === undefined ? {} : { timeoutMs });

describe('a command', () => {
  test('that succeeds resolves', async () => {
    await expect(shell('echo fine >&2')).resolves.toBeUndefined();
  });

  test('that fails rejects with its output on stderr', async () => {
    await expect(shell('echo " no such device" >&2; exit 32')).rejects.toMatchObject({
      message: 'no such device',
      isTimeout: false,
    });
    await expect(shell('exit 32')).rejects.toThrow('sh ended with 32');
  });

  test('with too much output goes on to its end', async () => {
    const failure = shell('head -c 20000000 /dev/zero | tr "\\0" x >&2; exit 1');
    await expect(failure).rejects.toMatchObject({ message: 'x'.repeat(10 * 1024), isTimeout: false });
  });

  test('that takes too long is killed', async () => {
    await expect(shell('exec sleep 1000', 10)).rejects.toMatchObject({ isTimeout: true });
  });

  test('that does not exist is an error of the system', async () => {
    await expect(runCommand('no-such-command', [])).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

test('a command that cannot be started leaves no timer behind', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  await expect(runCommand('no-such-program', [], { timeoutMs: 30_000 })).rejects.toThrow('ENOENT');
  expect(timers()).toBe(before);
});
