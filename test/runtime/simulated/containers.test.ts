import { describe, expect, test } from '@jest/globals';
import { createPod, outcomeOf, simulatedBed, startPod } from './simulated-bed.ts';

const bed = simulatedBed();
const { clock, runtime, simulated } = bed;
const start = (uid: string, ...words: readonly string[]) => startPod(bed, uid, words);

describe('a simulated container', () => {
  test('has its times from the clock, in nanoseconds', async () => {
    const { id } = await createPod(bed, 'times', ['run', 'exit-after=2s', 'code=3']);
    const createdAt = clock.now() * 1e6;
    await clock.advance(1000);
    await runtime.startContainer(id);
    await clock.advance(2000);
    expect(await runtime.containerStatus(id)).toMatchObject({
      ...{ createdAt, startedAt: createdAt + 1e9, finishedAt: createdAt + 3e9 },
      ...{ state: 'CONTAINER_EXITED', exitCode: 3, reason: 'Error' },
    });
  });

  test('that ends with 0 is Completed', async () => {
    const { id } = await start('completed', 'succeed');
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 0, reason: 'Completed' });
  });

  test('that crashes at its start is an exited StartError with 128', async () => {
    const { id } = await createPod(bed, 'crash', ['crash-at-start']);
    await expect(runtime.startContainer(id)).rejects.toMatchObject({ kind: 'Unknown' });
    const end = { state: 'CONTAINER_EXITED', exitCode: 128, reason: 'StartError', startedAt: 0 };
    expect(await runtime.containerStatus(id)).toMatchObject(end);
  });

  test('ends at once on SIGTERM, with 143', async () => {
    const { id } = await start('sigterm', 'run');
    await runtime.stopContainer(id, 30);
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 143, finishedAt: clock.now() * 1e6 });
  });

  test('may take its time to end on SIGTERM, and another exit code', async () => {
    const { id } = await start('slow-term', 'run', 'term-takes=2s', 'term-code=0');
    const stopped = outcomeOf(runtime.stopContainer(id, 30));
    await clock.advance(1999);
    expect(stopped.told).toBeUndefined();
    await clock.advance(1);
    expect(stopped.told).toBe('done');
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 0, reason: 'Completed' });
  });

  test('is killed with 137 where it takes longer than it may', async () => {
    const { id } = await start('too-slow', 'run', 'term-takes=20s');
    const begun = clock.now();
    const stopped = runtime.stopContainer(id, 5);
    await clock.advance(5000);
    await stopped;
    const end = { exitCode: 137, reason: 'Error', finishedAt: (begun + 5000) * 1e6 };
    expect(await runtime.containerStatus(id)).toMatchObject(end);
  });

  test('is killed at the earlier of two ends that stops set, whichever came first', async () => {
    for (const [uid, allowed] of [
      ['shortened', [1000, 3]],
      ['not-lengthened', [4, 1000]],
    ] as const) {
      const { id } = await start(uid, 'run', 'ignore-term');
      const stops = [];
      for (const seconds of allowed) {
        stops.push(runtime.stopContainer(id, seconds));
        await clock.advance(1000);
      }
      await clock.advance(3000);
      await Promise.all(stops);
      expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 137 });
    }
  });

  test('that ends by itself during a stop ends as it would have', async () => {
    const { id } = await start('natural', 'run', 'ignore-term', 'exit-after=2s', 'code=4');
    const stopped = runtime.stopContainer(id, 30);
    await clock.advance(2000);
    await stopped;
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 4 });
    expect(clock.armed).toBe(0);
  });

  test('ends by itself while it takes its time over SIGTERM', async () => {
    const { id } = await start('earlier', 'run', 'exit-after=2s', 'code=4', 'term-takes=10s');
    const stopped = runtime.stopContainer(id, 30);
    await clock.advance(2000);
    await stopped;
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 4 });
  });

  test('goes at once with its sandbox, however little it cares for SIGTERM', async () => {
    const { id, sandboxId } = await start('with-sandbox', 'run', 'ignore-term');
    await runtime.stopPodSandbox(sandboxId);
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 137 });
    expect(simulated.isRunning('with-sandbox')).toBe(false);
  });

  test('is not started in a sandbox that has died', async () => {
    const { id, sandboxId } = await createPod(bed, 'dead-sandbox');
    simulated.killSandbox(sandboxId);
    await expect(runtime.startContainer(id)).rejects.toMatchObject({ kind: 'FailedPrecondition' });
  });

  test('that never ends holds no timer', async () => {
    await start('forever', 'run', 'exit-after=1000h');
    expect(clock.armed).toBe(0);
  });
});

describe('a command in a simulated container', () => {
  test('takes its time', async () => {
    const { id } = await start('command', 'run');
    const done = runtime.execSync(id, ['fail', 'takes=3s', 'code=2'], 0);
    const outcome = outcomeOf(done);
    await clock.advance(2999);
    expect(outcome.told).toBeUndefined();
    await clock.advance(1);
    expect((await done).exitCode).toBe(2);
  });

  test('is killed when its time is over', async () => {
    const { id } = await start('command-limit', 'run');
    const outcome = outcomeOf(runtime.execSync(id, ['succeed', 'takes=10s'], 5));
    await clock.advance(5000);
    expect(outcome.told).toBe('DeadlineExceeded');
    expect(clock.armed).toBe(0);
  });

  test('ends with its container', async () => {
    const { id } = await start('command-container', 'run');
    const done = runtime.execSync(id, ['succeed', 'takes=10s'], 0);
    simulated.killContainer(id, 137);
    expect((await done).exitCode).toBe(137);
    expect(clock.armed).toBe(0);
  });

  test('may end one way first and the other way later', async () => {
    const { id } = await start('command-until', 'run');
    const code = async (...words: readonly string[]) => (await runtime.execSync(id, words, 0)).exitCode;
    const both = async () => [await code('succeed', 'until=5s'), await code('fail', 'until=5s', 'code=9')];
    expect(await both()).toEqual([1, 0]);
    await clock.advance(5000);
    expect(await both()).toEqual([0, 9]);
  });
});

describe('what happens behind the agent’s back', () => {
  test('a container may end with any code and reason', async () => {
    const { id } = await start('oom', 'run');
    simulated.killContainer(id, 137, 'OOMKilled');
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
  });

  test('a sandbox may die and leave its containers running', async () => {
    const { id, sandboxId } = await start('headless', 'run');
    simulated.killSandbox(sandboxId);
    expect((await runtime.podSandboxStatus(sandboxId)).state).toBe('SANDBOX_NOTREADY');
    expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_RUNNING');
    expect(simulated.isRunning('headless')).toBe(true);
    await runtime.stopPodSandbox(sandboxId);
    expect(simulated.isRunning('headless')).toBe(false);
  });

  test('or take them along', async () => {
    const { id, sandboxId } = await start('beheaded', 'run');
    simulated.killSandbox(sandboxId, { withContainers: true });
    expect((await runtime.containerStatus(id)).exitCode).toBe(137);
  });

  test('the network may go', async () => {
    simulated.networkReady = false;
    const [, network] = (await runtime.status()).conditions;
    expect(network).toMatchObject({ type: 'NetworkReady', status: false });
    simulated.networkReady = true;
  });
});

describe('a simulated image', () => {
  test('is known from its pull to its removal', async () => {
    expect(await runtime.imageStatus('app:1')).toBeUndefined();
    await runtime.pullImage('app:1');
    expect(await runtime.imageStatus('app:1')).toMatchObject({ id: 'app:1' });
    expect(await runtime.listImages()).toHaveLength(1);
    await runtime.removeImage('app:1');
    expect(await runtime.listImages()).toEqual([]);
  });

  test('that is called missing cannot be pulled', async () => {
    await expect(runtime.pullImage('app:missing')).rejects.toMatchObject({ kind: 'NotFound' });
  });
});

describe('the truth', () => {
  test('is what there is of a pod, until all of it has been removed', async () => {
    const { id, sandboxId } = await start('truth', 'run');
    expect(simulated.sandboxesOf('truth')).toMatchObject([
      { id: sandboxId, ready: true, containers: [{ id, state: 'CONTAINER_RUNNING', uid: 'truth' }] },
    ]);
    expect(simulated.uids()).toContain('truth');
    await runtime.removePodSandbox(sandboxId);
    expect(simulated.sandboxesOf('truth')).toEqual([]);
    expect(simulated.uids()).not.toContain('truth');
  });

  test('forgets no pod of which there is something, however many there are', async () => {
    const many = simulatedBed();
    const uids = Array.from({ length: 2500 }, (_, pod) => `pod-${pod}`);
    for (const uid of uids) {
      await many.runtime.listPodSandbox({ labelSelector: { 'io.kubernetes.pod.uid': uid } });
      await startPod(many, uid);
    }
    expect(many.simulated.uids()).toEqual(uids);
  });

  test('ends for a pod of which nothing is left, once a thousand others have come and gone', async () => {
    const { sandboxId } = await start('long-gone', 'run');
    await runtime.removePodSandbox(sandboxId);
    for (let other = 0; other < 1000; other += 1) await runtime.removePodSandbox(`other-${other}.s1`);
    expect((await start('long-gone', 'run')).sandboxId).toBe(sandboxId);
  });

  test('never uses an id twice, also where a UID comes back', async () => {
    const first = await start('again', 'run');
    await runtime.removePodSandbox(first.sandboxId);
    const second = await start('again', 'run');
    expect(second.id).not.toBe(first.id);
    expect(second.sandboxId).not.toBe(first.sandboxId);
  });
});
