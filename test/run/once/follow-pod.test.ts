/** Followed by the millisecond: the production agent on the simulated runtime, under a virtual clock. */
import { describe, expect, test } from '@jest/globals';
import { createActor, fromTransition } from 'xstate';
import { awaitChange, awaitRuntime, followPod } from '../../../src/run/once/follow-pod.ts';
import type { PodOutcome } from '../../../src/run/once/pod-verdict.ts';
import type { Clock } from '../../../src/types/clock.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';
import { container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

const RETRY_DELAY_MS = 1_000;
const UID = 'uid-1';

const LAST_WARNING = 'FailedCreatePodSandBox: the test says so';

interface Story {
  readonly agent: SimulatedAgent;
  readonly outcome: PodOutcome;
  readonly atMs: number;
  readonly state: string;
}

interface Means {
  readonly maxRetries?: number;
  /** Called before the pod is created. */
  readonly prepare?: (agent: SimulatedAgent, leave: () => void) => void;
}

/** Creates a pod and follows it until its outcome is known. */
async function follow(more: Partial<PodSpec>, { maxRetries = 10, prepare }: Means = {}): Promise<Story> {
  const agent = new SimulatedAgent();
  const stop = new AbortController();
  prepare?.(agent, () => stop.abort());
  const spec = podSpec(more);
  const uid = agent.create('web', spec);
  expect(uid).toBe(UID);
  await agent.until(() => agent.state(uid) !== '', 'the pod to be known');
  const options = {
    agent: agent.run.agent,
    clock: agent.clock,
    maxRetries,
    retryDelayMs: RETRY_DELAY_MS,
    signal: stop.signal,
    lastWarning: () => LAST_WARNING,
    rejectionOf: () => undefined,
  };
  const stories: Story[] = [];
  const pod = { metadata: { name: 'web', namespace: 'default', uid }, spec };
  void followPod(pod, options).then((outcome) =>
    stories.push({ agent, outcome, atMs: agent.nowMs, state: agent.state(uid) }),
  );
  await agent.until(() => stories.length > 0, 'an outcome');
  const [story] = stories;
  if (story === undefined) throw new Error('there is no outcome');
  return story;
}

/** The times at which the pod's history matches. */
function times({ agent }: Story, pattern: RegExp): readonly number[] {
  return agent.told(UID, pattern).map(({ atMs }) => atMs);
}

describe('a pod whose containers run', () => {
  test('is Running once they have run for as long as the first delay; a slow pull uses up no retry', async () => {
    const prepare: Means['prepare'] = ({ runtime }) =>
      runtime.podFaults.set(UID, { calls: { PullImage: { slow: 1 } } });
    const story = await follow({}, { maxRetries: 0, prepare });
    expect(story.outcome).toEqual({ result: 'Running', failedContainers: [] });
    const [runsAt = NaN] = times(story, /^container main \S+ runs/);
    expect(runsAt).toBeGreaterThan(RETRY_DELAY_MS);
    expect(story.atMs - runsAt).toBe(RETRY_DELAY_MS);
  });

  test('has failed when one of them ends at once after each restart', async () => {
    const containers = [container('main'), container('flash', 'fail takes=500ms')];
    const { outcome } = await follow({ containers }, { maxRetries: 4 });
    expect(outcome).toMatchObject({ result: 'Failed', reason: 'Timeout', failedContainers: ['flash'] });
    expect(outcome.message).toMatch(
      /^containers not running after 4 retries: flash: exit code 1 \(Error\); Crash/,
    );
  });
});

describe('a pod that cannot be started', () => {
  const failing: NonNullable<Means['prepare']> = ({ runtime }) =>
    runtime.podFaults.set(UID, { calls: { RunPodSandbox: { fail: 1 } } });

  test('is tried again after the first delay, then after twice the delay each time, and fails after the last retry', async () => {
    const story = await follow({}, { maxRetries: 3, prepare: failing });
    const failures = times(story, /^SYNC_FAILED/);
    expect(failures).toHaveLength(4);
    const gaps = failures.slice(1).map((atMs, index) => Math.floor((atMs - (failures[index] ?? 0)) / 1_000));
    expect(gaps).toEqual([1, 2, 4]);
    expect(story.outcome).toEqual({
      result: 'Failed',
      reason: 'Timeout',
      message: `containers not running after 3 retries: ${LAST_WARNING}`,
      failedContainers: [],
    });
  });

  test('is Running when a retry starts it', async () => {
    const story = await follow(
      {},
      {
        prepare: (agent, leave) => {
          failing(agent, leave);
          agent.atNext(/SYNC_FAILED/, () => agent.runtime.podFaults.clear());
        },
      },
    );
    expect(story.outcome.result).toBe('Running');
    expect(times(story, /^SYNC_FAILED/)).toHaveLength(1);
  });

  test('names the runtime as the cause when that is not ready', async () => {
    const { outcome } = await follow(
      {},
      {
        maxRetries: 1,
        prepare: (agent) =>
          agent.atNext(/ADMITTED/, () => agent.apply('', { kind: 'stop runtime', downMs: 600_000 })),
      },
    );
    expect(outcome).toMatchObject({ result: 'Failed', reason: 'Timeout' });
    expect(outcome.message).toContain('after 1 retry: container runtime is not ready: ');
  });

  test('names the pod for whose end it waits', async () => {
    const agent = new SimulatedAgent();
    const old = agent.create('web', podSpec({}), 'file');
    await agent.untilState(old, 'Syncing.Settled');
    agent.runtime.podFaults.set(old, { calls: { StopContainer: { hang: 1 } } });
    const spec = podSpec({});
    const uid = agent.create('web', spec, 'file');
    await agent.untilState(uid, 'Syncing.Starting.AwaitingName');
    let outcome: PodOutcome | undefined;
    const pod = { metadata: { name: 'web', namespace: 'default', uid }, spec };
    void followPod(pod, {
      agent: agent.run.agent,
      clock: agent.clock,
      maxRetries: 1,
      retryDelayMs: RETRY_DELAY_MS,
      signal: new AbortController().signal,
      lastWarning: () => LAST_WARNING,
      rejectionOf: () => undefined,
    }).then((found) => (outcome = found));
    await agent.until(() => outcome !== undefined, 'an outcome');
    expect(outcome?.message).toContain(`waits for default/web (UID ${old}) to end: it has the same name`);
  });

  test('is left as it is when the signal aborts', async () => {
    const story = await follow(
      {},
      {
        prepare: (agent, leave) => {
          agent.runtime.podFaults.set(UID, { calls: { PullImage: { hang: 1 } } });
          agent.atNext(/RunPodSandbox: done/, leave);
        },
      },
    );
    expect(story.outcome).toMatchObject({ result: 'Interrupted', failedContainers: [] });
    expect(story.state).toBe('Syncing.Working');
  });
});

describe('a pod that runs to its end', () => {
  test('has Completed when it has been cleaned up', async () => {
    const { outcome, state } = await follow({
      restartPolicy: 'Never',
      initContainers: [container('init', 'succeed')],
      containers: [container('main', 'succeed')],
    });
    expect(outcome).toEqual({ result: 'Completed', failedContainers: [] });
    expect(state).toBe('Terminated.Finished');
  });

  test('and fails is not tried again where its restart policy forbids it', async () => {
    const story = await follow({ restartPolicy: 'Never', containers: [container('main', 'fail code=3')] });
    expect(story.outcome).toEqual({
      result: 'Failed',
      reason: 'ContainersFailed',
      message: 'a container failed: main: exit code 3 (Error)',
      failedContainers: ['main'],
    });
    expect(story.state).toBe('Terminated.Finished');
    expect(times(story, /^container main \S+ runs/)).toHaveLength(1);
  });

  test('has failed as soon as one of its containers has, though another still runs', async () => {
    const containers = [container('main'), container('job', 'fail code=3')];
    const { outcome, state } = await follow({ restartPolicy: 'Never', containers });
    expect(outcome).toMatchObject({ result: 'Failed', failedContainers: ['job'] });
    expect(state).toBe('Syncing.Settled');
  });

  test('has failed with the reason in its status', async () => {
    const { outcome } = await follow({ activeDeadlineSeconds: 1, containers: [container('main', 'fail')] });
    expect(outcome).toMatchObject({ result: 'Failed', reason: 'DeadlineExceeded' });
  });

  test('has failed when its init container has, and may not restart', async () => {
    const { outcome } = await follow({
      restartPolicy: 'Never',
      initContainers: [container('init', 'fail')],
    });
    expect(outcome).toMatchObject({ result: 'Failed', failedContainers: ['init'] });
  });
});

/** A clock whose only timer fires when the test says so. */
function heldClock() {
  const armed = new Map<number, { readonly fire: () => void; readonly delayMs: number }>();
  let last = 0;
  const clock: Clock = {
    now: () => 1_000,
    setTimeout: (fire, delayMs) => {
      last += 1;
      armed.set(last, { fire, delayMs });
      return last;
    },
    clearTimeout: (handle) => void armed.delete(handle as number),
  };
  return { clock, armed };
}

function counter() {
  const count = fromTransition((value: number, event: { type: 'add' | 'break' }) => {
    if (event.type === 'break') throw new Error('broken');
    return value + 1;
  }, 0);
  const actor = createActor(count);
  actor.subscribe({ error: () => undefined });
  return actor.start();
}

test('resolves when the actor changes, and leaves no timer and no listener behind', async () => {
  const { clock, armed } = heldClock();
  const actor = counter();
  const { signal } = new AbortController();
  const change = awaitChange(actor, clock, signal, 6_000);
  expect([...armed.values()].map(({ delayMs }) => delayMs)).toEqual([5_000]);
  actor.send({ type: 'add' });
  await change;
  expect(armed.size).toBe(0);
});

test('resolves when the time has come', async () => {
  const { clock, armed } = heldClock();
  const { signal } = new AbortController();
  const change = awaitChange(counter(), clock, signal, 6_000);
  for (const { fire } of armed.values()) fire();
  await change;
});

test('resolves when the signal aborts, though the actor has failed and there is no time limit', async () => {
  const { clock, armed } = heldClock();
  const actor = counter();
  const stop = new AbortController();
  actor.send({ type: 'break' });
  let isOver = false;
  const change = awaitChange(actor, clock, stop.signal, undefined).then(() => {
    isOver = true;
  });
  await new Promise(setImmediate);
  expect(isOver).toBe(false);
  stop.abort();
  await change;
  expect(armed.size).toBe(0);
});

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
