import { expect, test } from '@jest/globals';
import { awaitRuntime } from '../../src/run-once/await-runtime.ts';
import { SimulatedAgent } from '../support/simulated-agent.ts';

const PATIENCE_MS = 10_000;

/** Stops the runtime for `downMs`, waits for it, and tells how and when the wait ended. */
async function wait(downMs: number, signal = new AbortController().signal) {
  const agent = new SimulatedAgent();
  const { supervisor } = agent.run.agent;
  await agent.until(() => supervisor.runtimeProblem === undefined, 'the runtime to be ready');
  agent.apply('', { kind: 'stop runtime', downMs });
  agent.create('web');
  await agent.until(() => supervisor.runtimeProblem !== undefined, 'the runtime to be gone');
  const began = agent.nowMs;
  const ends: { readonly error: unknown; readonly afterMs: number }[] = [];
  const end = (error?: unknown) => ends.push({ error, afterMs: agent.nowMs - began });
  void awaitRuntime(agent.run.agent, agent.clock, signal, PATIENCE_MS).then(() => end(), end);
  await agent.until(() => ends.length > 0, 'the wait to end');
  return ends[0];
}

test('resolves when the runtime is ready again', async () => {
  const end = await wait(2_000);
  expect(end?.error).toBeUndefined();
  expect(end?.afterMs).toBeLessThan(PATIENCE_MS);
});

test('it is an error, with the reason, when the runtime is not ready in time', async () => {
  const end = await wait(600_000);
  expect(end).toMatchObject({
    error: { kind: 'Unavailable', message: expect.stringContaining('container runtime is not ready: ') },
    afterMs: PATIENCE_MS,
  });
});

test('a signal that has aborted ends the wait at once', async () => {
  expect(await wait(600_000, AbortSignal.abort())).toEqual({ error: undefined, afterMs: 0 });
});
