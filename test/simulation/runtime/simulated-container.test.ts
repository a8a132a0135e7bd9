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
      createdAt,
      startedAt: createdAt + 1e9,
      finishedAt: createdAt + 3e9,
      state: 'CONTAINER_EXITED',
      exitCode: 3,
      reason: 'Error',
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

  test('may take time to end on SIGTERM, and have another exit code', async () => {
    const { id } = await start('slow-term', 'run', 'term-takes=2s', 'term-code=0');
    const stopped = outcomeOf(runtime.stopContainer(id, 30));
    await clock.advance(1999);
    expect(stopped.told).toBeUndefined();
    await clock.advance(1);
    expect(stopped.told).toBe('done');
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 0, reason: 'Completed' });
  });

  test('is killed after its grace period, with 137', async () => {
    const { id } = await start('too-slow', 'run', 'term-takes=20s');
    const begun = clock.now();
    const stopped = runtime.stopContainer(id, 5);
    await clock.advance(5000);
    await stopped;
    const end = { exitCode: 137, reason: 'Error', finishedAt: (begun + 5000) * 1e6 };
    expect(await runtime.containerStatus(id)).toMatchObject(end);
  });

  test('is killed at the earlier of the deadlines of two stops, whichever came first', async () => {
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

  test('that ends by itself during a stop has its own exit code', async () => {
    const { id } = await start('natural', 'run', 'ignore-term', 'exit-after=2s', 'code=4');
    const stopped = runtime.stopContainer(id, 30);
    await clock.advance(2000);
    await stopped;
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 4 });
    expect(clock.armed).toBe(0);
  });

  test('may end by itself before it ends by SIGTERM', async () => {
    const { id } = await start('earlier', 'run', 'exit-after=2s', 'code=4', 'term-takes=10s');
    const stopped = runtime.stopContainer(id, 30);
    await clock.advance(2000);
    await stopped;
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 4 });
  });

  test('is killed at once with its sandbox, even if it ignores SIGTERM', async () => {
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
