import { describe, expect, test } from '@jest/globals';
import { landsUnawaited } from '../../../src/simulation/runtime/call-faults.ts';
import { answerTo, CONTAINERD_LATENCIES } from '../../../src/simulation/runtime/chance.ts';
import { chosen, createPod, outcomeOf, sandboxConfig, simulatedBed, startPod } from './simulated-bed.ts';

const LANDS = chosen(landsUnawaited);
const NEVER_LANDS = chosen((value) => !landsUnawaited(value));
const LANDS_LATE = chosen((value) => landsUnawaited(value) && answerTo('landsLate', value) > 0.7);
const SLOW_START = { StartContainer: [1000, 1000] } as const;

const stateOf = (bed: ReturnType<typeof simulatedBed>, uid: string) =>
  bed.simulated.sandboxesOf(uid)[0]?.containers[0]?.state;

describe('a simulated call', () => {
  test('without latencies is answered in the next microtask, without a timer', async () => {
    const { runtime, clock } = simulatedBed();
    const outcome = outcomeOf(runtime.runPodSandbox(sandboxConfig('pod')));
    await Promise.resolve();
    expect(outcome.told).toBe('done');
    expect(clock.armed).toBe(0);
  });

  test('takes its latency, and lands somewhere within', async () => {
    const bed = simulatedBed({ latencies: CONTAINERD_LATENCIES });
    const begun = bed.clock.now();
    const outcome = outcomeOf(bed.runtime.runPodSandbox(sandboxConfig('pod')));
    while (outcome.told === undefined) await bed.clock.advance(1);
    const tookMs = bed.clock.now() - begun;
    expect(tookMs).toBeGreaterThanOrEqual(30);
    expect(tookMs).toBeLessThanOrEqual(80);
    const [{ createdAt } = { createdAt: 0 }] = bed.simulated.sandboxesOf('pod');
    expect(createdAt).toBeGreaterThanOrEqual(begun);
    expect(createdAt).toBeLessThanOrEqual(begun + tookMs);
  });

  test('is in flight until it is answered, and has the number of its connection', async () => {
    const bed = simulatedBed({ latencies: SLOW_START });
    const { id } = await createPod(bed, 'pod');
    const started = bed.runtime.startContainer(id);
    expect(bed.simulated.inFlight('pod')).toMatchObject([
      { name: 'StartContainer', uid: 'pod', target: id, connection: 1, abandoned: false },
    ]);
    await bed.clock.advance(1000);
    await started;
    expect(bed.simulated.inFlight('pod')).toEqual([]);
  });
});

describe('a simulated call that is given up', () => {
  const givenUp = async (random: typeof LANDS) => {
    const bed = simulatedBed({ latencies: SLOW_START, random });
    const { id } = await createPod(bed, 'pod');
    const abort = new AbortController();
    const outcome = outcomeOf(bed.runtime.startContainer(id, { signal: abort.signal }));
    abort.abort();
    await Promise.resolve();
    return { ...bed, bed, outcome };
  };

  test('is Canceled at once; if it lands all the same, it has its effect', async () => {
    const { clock, simulated, outcome, bed } = await givenUp(LANDS);
    expect(outcome.told).toBe('Canceled');
    expect(simulated.inFlight('pod')).toMatchObject([
      { name: 'StartContainer', abandoned: true, landed: false },
    ]);
    await clock.advance(1000);
    expect(stateOf(bed, 'pod')).toBe('CONTAINER_RUNNING');
    expect(simulated.inFlight('pod')).toEqual([]);
    expect(bed.history).toContainEqual(expect.stringMatching(/StartContainer.*landed/));
  });

  test('is Canceled at once; if it does not land, it has no effect', async () => {
    const { clock, simulated, outcome, bed } = await givenUp(NEVER_LANDS);
    expect(outcome.told).toBe('Canceled');
    expect(simulated.inFlight('pod')).toEqual([]);
    expect(clock.armed).toBe(0);
    expect(stateOf(bed, 'pod')).toBe('CONTAINER_CREATED');
  });

  test('is over if it only reads', async () => {
    const { runtime, simulated, clock } = simulatedBed({
      latencies: { ListPodSandbox: [5, 5] },
      random: LANDS,
    });
    const abort = new AbortController();
    const outcome = outcomeOf(runtime.listPodSandbox({}, { signal: abort.signal }));
    abort.abort();
    await Promise.resolve();
    expect(outcome.told).toBe('Canceled');
    expect(simulated.inFlight('')).toEqual([]);
    expect(clock.armed).toBe(0);
  });

  test('does not begin if it was aborted before', async () => {
    const { runtime, simulated, history } = simulatedBed();
    const signal = AbortSignal.abort();
    await expect(runtime.runPodSandbox(sandboxConfig('pod'), { signal })).rejects.toMatchObject({
      kind: 'Canceled',
    });
    expect([simulated.uids(), history]).toEqual([[], []]);
  });

  test.each([
    ['sends the SIGKILL of a stop if it lands', LANDS, 'CONTAINER_EXITED'],
    ['sends no SIGKILL if it does not land', NEVER_LANDS, 'CONTAINER_RUNNING'],
  ])('%s', async (_, random, state) => {
    const bed = simulatedBed({ random });
    const { id } = await startPod(bed, 'pod', ['run', 'ignore-term']);
    const abort = new AbortController();
    const outcome = outcomeOf(bed.runtime.stopContainer(id, 10, { signal: abort.signal }));
    abort.abort();
    await bed.clock.advance(10_000);
    expect(outcome.told).toBe('Canceled');
    expect(stateOf(bed, 'pod')).toBe(state);
    expect(bed.clock.armed).toBe(0);
  });
});

describe('a simulated call that hangs', () => {
  const faults = { calls: { StartContainer: { hang: 1 } } };
  const hanging = async (random: typeof LANDS) => {
    const bed = simulatedBed({ faults, random });
    const { id } = await createPod(bed, 'pod');
    return { bed, outcome: outcomeOf(bed.runtime.startContainer(id)) };
  };

  test('is not answered before the client’s deadline', async () => {
    const { bed, outcome } = await hanging(NEVER_LANDS);
    await bed.clock.advance(119_999);
    expect(outcome.told).toBeUndefined();
    await bed.clock.advance(1);
    expect(outcome.told).toBe('DeadlineExceeded');
    await bed.clock.advance(600_000);
    expect(stateOf(bed, 'pod')).toBe('CONTAINER_CREATED');
    expect(bed.clock.armed).toBe(0);
  });

  test('may land long after the deadline', async () => {
    const { bed, outcome } = await hanging(LANDS_LATE);
    await bed.clock.advance(120_000);
    expect(outcome.told).toBe('DeadlineExceeded');
    expect(stateOf(bed, 'pod')).toBe('CONTAINER_CREATED');
    expect(bed.simulated.inFlight('pod')).toMatchObject([{ name: 'StartContainer', abandoned: true }]);
    await bed.clock.advance(60_000);
    expect(stateOf(bed, 'pod')).toBe('CONTAINER_RUNNING');
    expect(bed.simulated.inFlight('pod')).toEqual([]);
  });

  test('has twice the deadline for RunPodSandbox, the grace period on top for StopContainer, and none for PullImage', async () => {
    const bed = simulatedBed({ faults: { anyCall: { hang: 1 } } });
    const sandbox = outcomeOf(bed.runtime.runPodSandbox(sandboxConfig('pod')));
    const stop = outcomeOf(bed.runtime.stopContainer('pod.c1', 30));
    const pull = outcomeOf(bed.runtime.pullImage('app:1'));
    await bed.clock.advance(149_999);
    expect([sandbox.told, stop.told]).toEqual([undefined, undefined]);
    await bed.clock.advance(1);
    expect([sandbox.told, stop.told]).toEqual([undefined, 'DeadlineExceeded']);
    await bed.clock.advance(90_000);
    expect([sandbox.told, pull.told]).toEqual(['DeadlineExceeded', undefined]);
  });
});
