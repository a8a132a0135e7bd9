import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { sendSignal } from './send-signal.ts';

test('a signal ends its process, and a signal to an ended process has no effect', async () => {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(child, 'spawn');
  sendSignal(child.pid!, 'SIGKILL');
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  sendSignal(child.pid!, 'SIGKILL');
});

test.each([0, -1, 1, NaN])('a signal to %d is refused, as that is no process of a test', (pid) => {
  expect(() => sendSignal(pid, 'SIGKILL')).toThrow(RangeError);
});
