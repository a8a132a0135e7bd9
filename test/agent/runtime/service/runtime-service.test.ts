import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { expect, test } from '@jest/globals';
import { callError } from '../../../../src/agent/runtime/cri/calls/channel.ts';
import {
  onceStill,
  runtimeMessage,
  type Watched,
} from '../../../../src/agent/runtime/service/runtime-service.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { socketPair } from '../../../support/socket-pair.ts';

const ENDPOINT = 'unix:///run/x.sock';

test("a runtime's answer has gRPC's code before it", () => {
  const error = callError('PullImage', ENDPOINT, { code: status.NOT_FOUND, details: 'no such image' });
  expect(runtimeMessage(error)).toBe('rpc error: code = NotFound desc = no such image');
});

test("the code is the runtime's also where the kind of the error has been made more exact", () => {
  const details = 'container is in CONTAINER_EXITED state';
  const answer = callError('ExecSync', ENDPOINT, { code: status.UNKNOWN, details });
  const error = new StateletError('FailedPrecondition', details, { cause: answer });
  expect(runtimeMessage(error)).toBe(`rpc error: code = Unknown desc = ${details}`);
});

test.each([
  ['says what to do', callError('Version', ENDPOINT, { code: status.UNAVAILABLE, details: 'refused' })],
  ['is no answer of a runtime', new StateletError('Internal', 'no room')],
  ['is of another kind', new Error('broken')],
])('an error that %s keeps its message', (_what, error) => {
  expect(runtimeMessage(error)).toBe(error.message);
});

const STILL_MS = 20;

/** What had happened by the call. */
async function watched<T>(watch: Omit<Watched, 'stillMs'>, seen: () => T): Promise<T> {
  return new Promise((resolve) => {
    onceStill({ stillMs: STILL_MS, ...watch }, () => resolve(seen()));
  });
}

test('calls once nothing has happened for so long', async () => {
  let left = 10;
  const progress = () => (left > 0 ? (left -= 1) : 0);
  expect(await watched({ progress }, () => left)).toBe(0);
});

test('does not call while this side makes the other one wait', async () => {
  let asked = 0;
  const isHeld = () => (asked += 1) < 5;
  expect(await watched({ isHeld }, () => asked)).toBe(5);
});

test('without progress to look at, calls after the time', async () => {
  expect(await watched({}, () => 'called')).toBe('called');
});

test('sees what has come while this process itself was stopped', async () => {
  const [near, far] = await socketPair();
  far.resume();
  near.write('first');
  await once(far, 'data');
  const call = watched({ progress: () => far.bytesRead }, () => far.bytesRead);
  near.write('second');
  // Timers that are due come next, before anything is read.
  await new Promise(setImmediate);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 * STILL_MS);
  expect(await call).toBe('firstsecond'.length);
  near.destroy();
  far.destroy();
});

test('does not call when the watch has ended', async () => {
  let calls = 0;
  const stop = onceStill({ stillMs: STILL_MS }, () => void (calls += 1));
  stop();
  await watched({}, () => undefined);
  await pause(STILL_MS);
  expect(calls).toBe(0);
});
