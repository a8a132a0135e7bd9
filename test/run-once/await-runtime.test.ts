import { expect, test } from '@jest/globals';
import { awaitRuntime } from '../../src/run-once/await-runtime.ts';
import { SimulatedAgent } from '../support/simulated-agent.ts';

const PATIENCE_MS = 10_000;

/** How waiting for the runtime ends, and when, after it has gone for so long. */
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

test('the runtime is waited for until it is ready', async () => {
  const end = await wait(2_000);
  expect(end?.error).toBeUndefined();
  expect(end?.afterMs).toBeLessThan(PATIENCE_MS);
});

test('a runtime that does not come to be ready is an error that says why', async () => {
  const end = await wait(600_000);
  expect(end).toMatchObject({
    error: { kind: 'Unavailable', message: expect.stringContaining('container runtime is not ready: ') },
    afterMs: PATIENCE_MS,
  });
});

test('nobody waits who is to leave', async () => {
  expect(await wait(600_000, AbortSignal.abort())).toEqual({ error: undefined, afterMs: 0 });
});
