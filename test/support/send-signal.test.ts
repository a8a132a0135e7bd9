import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { sendSignal } from './send-signal.ts';

test('a signal ends the process that it is for, and to one that has gone it is nothing', async () => {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(child, 'spawn');
  sendSignal(child.pid!, 'SIGKILL');
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  sendSignal(child.pid!, 'SIGKILL');
});

test.each([0, -1, 1, NaN])('a signal to %d is refused: that is no process of a test', (pid) => {
  expect(() => sendSignal(pid, 'SIGKILL')).toThrow(RangeError);
});
