import { describe, expect, test } from '@jest/globals';
import { type CallFaults, landsUnawaited, planCall } from '../../../src/simulation/runtime/call-faults.ts';
import { type CallName, CONTAINERD_LATENCIES } from '../../../src/simulation/runtime/chance.ts';
import { keyedRandom } from '../../../src/simulation/plan/seeded-random.ts';
import { createPod, outcomeOf, sandboxConfig, simulatedBed, startPod } from './simulated-bed.ts';

const rejection = (kind: string) => ({ kind });

describe('a call that fails', () => {
  test('changes nothing, and is Unavailable or Unknown', async () => {
    const { runtime, simulated } = simulatedBed({ faults: { anyCall: { fail: 1 } } });
    const outcomes = Array.from({ length: 50 }, (_, pod) =>
      outcomeOf(runtime.runPodSandbox(sandboxConfig(`pod-${pod}`))),
    );
    await Promise.resolve();
    expect(new Set(outcomes.map(({ told }) => told))).toEqual(new Set(['Unavailable', 'Unknown']));
    expect(simulated.uids()).toEqual([]);
  });

  test('occurs with its probability, and not to calls with faults of their own', async () => {
    const { runtime } = simulatedBed({
      faults: { anyCall: { fail: 0.25 }, calls: { ListContainers: {} } },
    });
    const lists = Array.from({ length: 200 }, () => outcomeOf(runtime.listContainers()));
    const others = Array.from({ length: 200 }, () => outcomeOf(runtime.listPodSandbox()));
    await Promise.resolve();
    expect(lists.filter(({ told }) => told === 'done')).toHaveLength(200);
    const failed = others.filter(({ told }) => told !== 'done').length;
    expect(failed).toBeGreaterThan(20);
    expect(failed).toBeLessThan(80);
  });
});

test('a call whose answer is lost is Unavailable, and was carried out', async () => {
  const { runtime, simulated } = simulatedBed({ faults: { calls: { RunPodSandbox: { lostAnswer: 1 } } } });
  await expect(runtime.runPodSandbox(sandboxConfig('pod'))).rejects.toMatchObject(rejection('Unavailable'));
  expect(simulated.isRunning('pod')).toBe(true);
});

test('an untrue StopPodSandbox succeeds, and the sandbox runs on with its containers', async () => {
  const { runtime, simulated } = simulatedBed({ faults: { anyCall: { untrue: 1 } } });
  const { id, sandboxId } = await startPod({ runtime }, 'pod');
  await runtime.stopPodSandbox(sandboxId);
  expect(simulated.isRunning('pod')).toBe(true);
  await runtime.stopContainer(id, 1);
  expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_EXITED');
});

test('a slow call takes a hundred times as long', async () => {
  const { runtime, clock } = simulatedBed({
    latencies: { StopPodSandbox: [20, 20] },
    faults: { calls: { StopPodSandbox: { slow: 1 } } },
  });
  const outcome = outcomeOf(runtime.stopPodSandbox('unknown'));
  await clock.advance(1999);
  expect(outcome.told).toBeUndefined();
  await clock.advance(1);
  expect(outcome.told).toBe('done');
});

test('a call that is too slow for its client exceeds the deadline', async () => {
  const { runtime, clock } = simulatedBed({ latencies: { StopPodSandbox: [3_600_000, 3_600_000] } });
  const outcome = outcomeOf(runtime.stopPodSandbox('unknown'));
  await clock.advance(120_000);
  expect(outcome.told).toBe('DeadlineExceeded');
});

test('a container or sandbox that disappears is listed, but has no status', async () => {
  const { runtime } = simulatedBed({ faults: { anyCall: { disappear: 1 } } });
  const { id, sandboxId } = await startPod({ runtime }, 'pod');
  expect(await runtime.listContainers({ id })).toHaveLength(1);
  await expect(runtime.containerStatus(id)).rejects.toMatchObject(rejection('NotFound'));
  await expect(runtime.podSandboxStatus(sandboxId)).rejects.toMatchObject(rejection('NotFound'));
  expect((await runtime.status()).conditions).toHaveLength(2);
});

describe('a sandbox that dies by itself', () => {
  const lives = async (sandboxDeath: number) => {
    const bed = simulatedBed({ faults: { sandboxDeath } });
    const uids = Array.from({ length: 20 }, (_, pod) => `pod-${pod}`);
    for (const uid of uids) await startPod(bed, uid);
    return { ...bed, uids };
  };

  test('dies within ten minutes, with its containers or without', async () => {
    const { clock, simulated, uids } = await lives(1);
    await clock.advance(600_000);
    const sandboxes = uids.flatMap((uid) => simulated.sandboxesOf(uid));
    expect(sandboxes.filter(({ ready }) => ready)).toEqual([]);
    const states = sandboxes.flatMap(({ containers }) => containers.map(({ state }) => state));
    expect(new Set(states)).toEqual(new Set(['CONTAINER_RUNNING', 'CONTAINER_EXITED']));
  });

  test('does not die once faults are switched off', async () => {
    const { clock, simulated, uids } = await lives(1);
    simulated.faults = {};
    await clock.advance(600_000);
    expect(uids.filter((uid) => simulated.sandboxesOf(uid)[0]?.ready)).toEqual(uids);
  });
});

describe('faults', () => {
  test('can be switched off', async () => {
    const { runtime, simulated } = simulatedBed({ faults: { anyCall: { fail: 1 } } });
    await expect(runtime.status()).rejects.toThrow();
    simulated.faults = {};
    expect((await runtime.status()).conditions).toHaveLength(2);
  });

  test('may be those of one pod alone', async () => {
    const bed = simulatedBed();
    bed.simulated.podFaults.set('bad', { calls: { StopContainer: { hang: 1 } } });
    const ids = [await startPod(bed, 'bad'), await startPod(bed, 'good')].map(({ id }) => id);
    const stops = ids.map((id) => outcomeOf(bed.runtime.stopContainer(id, 30)));
    await bed.clock.advance(1000);
    expect(stops.map(({ told }) => told)).toEqual([undefined, 'done']);
  });
});

describe('what is left to chance', () => {
  const faults = {
    anyCall: { fail: 0.1, lostAnswer: 0.1, hang: 0.1, slow: 0.1, disappear: 0.1 },
    events: { lost: 0.1, late: 0.1, doubled: 0.1, reordered: 0.1 },
    sandboxDeath: 0.3,
  };

  /** Takes a pod through its steps; each is tried up to three times. */
  async function live(bed: ReturnType<typeof simulatedBed>, uid: string): Promise<void> {
    const { runtime } = bed;
    const steps = [
      () => runtime.runPodSandbox(sandboxConfig(uid)),
      () => runtime.listPodSandbox({ labelSelector: { 'io.kubernetes.pod.uid': uid } }),
      () => createPod(bed, uid, ['run', 'exit-after=3s']),
      () => runtime.startContainer(`${uid}.c1`),
      () => runtime.containerStatus(`${uid}.c1`),
      () => runtime.stopContainer(`${uid}.c1`, 2),
      () => runtime.removePodSandbox(`${uid}.s1`),
    ];
    for (const step of steps) {
      for (let tries = 0; tries < 3; tries += 1) {
        try {
          await step();
          break;
        } catch {
          // The next try.
        }
      }
    }
  }

  async function historyOf(seed: number, uids: readonly string[]): Promise<readonly string[]> {
    const bed = simulatedBed({ faults, latencies: CONTAINERD_LATENCIES, random: keyedRandom(seed) });
    const begun = bed.clock.now();
    bed.runtime.containerEvents().subscribe(({ containerId, containerEventType }) => {
      bed.history.push(`${bed.clock.now() - begun} heard ${containerEventType} of ${containerId}`);
    });
    const lives = uids.map((uid) => live(bed, uid));
    await bed.clock.advance(3 * 3_600_000);
    await Promise.all(lives);
    return bed.history;
  }

  test('is the same for the same seed', async () => {
    const uids = ['a', 'b', 'c'];
    const history = await historyOf(1, uids);
    expect(await historyOf(1, uids)).toEqual(history);
    expect(await historyOf(2, uids)).not.toEqual(history);
  });

  test('is the same for a pod whatever other pods there are', async () => {
    const among = await historyOf(3, ['a', 'b', 'c', 'd']);
    const alone = await historyOf(3, ['c']);
    expect(alone.length).toBeGreaterThan(20);
    expect(among.filter((line) => / c\b/.test(line))).toEqual(alone);
  });

  test('leaves no call in flight', async () => {
    const bed = simulatedBed({ faults, latencies: CONTAINERD_LATENCIES });
    const uids = Array.from({ length: 30 }, (_, pod) => `pod-${pod}`);
    const lives = uids.map((uid) => live(bed, uid));
    await bed.clock.advance(3 * 3_600_000);
    await Promise.all(lives);
    expect(uids.flatMap((uid) => bed.simulated.inFlight(uid))).toEqual([]);
  });
});

const VALUES = Array.from({ length: 500 }, (_, index) => index / 500);

const DEADLINE_MS = 120_000;

const plansOf = (name: CallName, faults?: CallFaults, latency?: readonly [number, number]) =>
  VALUES.map((value) => planCall(name, { faults, latency, timeoutMs: DEADLINE_MS }, value));

describe('a call', () => {
  test('without faults and latency is answered at once', () => {
    for (const plan of plansOf('StartContainer')) {
      expect(plan).toEqual({ fate: 'answered', landsAfterMs: 0, tailMs: 0 });
    }
  });

  test('takes a time of its latency, and lands somewhere within', () => {
    for (const { landsAfterMs, tailMs } of plansOf('StartContainer', undefined, [20, 60])) {
      expect(landsAfterMs).toBeGreaterThanOrEqual(0);
      expect(tailMs).toBeGreaterThanOrEqual(0);
      expect(landsAfterMs + tailMs).toBeGreaterThanOrEqual(20);
      expect(landsAfterMs + tailMs).toBeLessThanOrEqual(60);
    }
  });

  test('that is slow takes a hundred times as long', () => {
    for (const { landsAfterMs, tailMs } of plansOf('StartContainer', { slow: 1 }, [20, 20])) {
      expect(landsAfterMs + tailMs).toBe(2000);
    }
  });

  test('that fails is Unavailable or Unknown, each about as often', () => {
    const kinds = plansOf('StartContainer', { fail: 1 }).map(({ fate, kind }) => `${fate} ${kind ?? ''}`);
    expect(new Set(kinds)).toEqual(new Set(['failed Unavailable', 'failed Unknown']));
    const unknown = kinds.filter((text) => text === 'failed Unknown').length / kinds.length;
    expect(unknown).toBeGreaterThan(0.4);
    expect(unknown).toBeLessThan(0.6);
  });

  test('fails before any other fault', () => {
    const all = { fail: 1, disappear: 1, untrue: 1, hang: 1, lostAnswer: 1 };
    for (const { fate } of plansOf('StopPodSandbox', all)) expect(fate).toBe('failed');
  });

  test('that hangs lands up to 1.5 times its deadline later, or never, as one that its caller gives up', () => {
    for (const [index, { fate, landsAfterMs }] of plansOf('StartContainer', { hang: 1 }).entries()) {
      expect(fate).toBe('hung');
      if (landsUnawaited(VALUES[index]!)) expect(landsAfterMs).toBeLessThanOrEqual(1.5 * DEADLINE_MS);
      else expect(landsAfterMs).toBe(Infinity);
    }
  });

  test('whose answer is lost lands all the same', () => {
    for (const plan of plansOf('StartContainer', { lostAnswer: 1 })) {
      expect(plan).toEqual({ fate: 'answerLost', landsAfterMs: 0, tailMs: 0 });
    }
  });
});

test.each(['PodSandboxStatus', 'ContainerStatus'] as const)('%s may disappear: it is NotFound', (name) => {
  for (const plan of plansOf(name, { disappear: 1 })) {
    expect(plan).toMatchObject({ fate: 'failed', kind: 'NotFound' });
  }
});

test('other calls than status calls do not disappear, and only StopPodSandbox is untrue', () => {
  const faults = { disappear: 1, untrue: 1 };
  for (const { fate } of plansOf('ListContainers', faults)) expect(fate).toBe('answered');
  for (const { fate } of plansOf('StopContainer', faults)) expect(fate).toBe('answered');
  for (const { fate } of plansOf('StopPodSandbox', faults)) expect(fate).toBe('untrue');
});
