/** Eviction by the production agent on a simulated runtime, of a node that is measured as the test says. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { EvictionStats } from '../../src/actors/eviction-figures.ts';
import type { NodeAgent } from '../../src/actors/node-agent.ts';
import { stateName } from '../../src/simulation/pod-states.ts';
import type { EvictionSettings } from '../../src/policies/eviction-pass.ts';
import type { NodeParts } from '../../src/runtime/pod-node.ts';
import { StateletError } from '../../src/types/errors.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { PodStats, Summary } from '../../src/types/stats.ts';
import { agentOn, type Ground, LASTING_COMMAND, simulatedGround } from '../paths/ground.ts';
import { requestingPod, type RequestingPod } from '../support/admission.ts';
import {
  GI,
  type Left,
  MI,
  nodeWith,
  settingsWith,
  statsOf,
  thresholds,
  usingMemory,
} from '../support/eviction.ts';

const MINUTE_MS = 60_000;

/** A node on which that much is left, and pods that use that much. */
class Figures implements EvictionStats {
  left: Left = { memory: 500, disk: 50, pids: 900 };
  pods: readonly PodStats[] = [];
  looks = 0;
  looksAtPods = 0;
  afterLook = (): unknown => undefined;
  problem: Error | undefined;
  #crossed: (crossing: { isBelow: boolean }) => void = () => undefined;

  readonly nowMs: () => number;

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  summary({ onlyNode = false } = {}): Promise<Summary> {
    if (this.problem) return Promise.reject(this.problem);
    this.looks += 1;
    // Here everything takes no time at all; yet each look is later than the one before.
    const node = nodeWith({ ...this.left, nowMs: this.nowMs() + this.looks });
    if (!onlyNode) this.looksAtPods += 1;
    this.afterLook();
    return Promise.resolve({ node, pods: onlyNode ? [] : this.pods });
  }

  diskLayout() {
    return Promise.resolve({ dedicatedImageFs: false, dedicatedContainerFs: false });
  }

  memoryAvailable() {
    return { capacityBytes: GI };
  }

  watchMemory(_: unknown, onCrossed: (crossing: { isBelow: boolean }) => void) {
    this.#crossed = onCrossed;
    return { stop: () => undefined };
  }

  /** The node has come to be short of memory, and whoever watches it says so. */
  memoryGoes(left: number): void {
    this.left = { ...this.left, memory: left };
    this.#crossed({ isBelow: true });
  }
}

let ground: Ground;
let agent: NodeAgent;
let figures: Figures;
let events: string[];
let reclaimed: string[];
/** What removing does for the disk. */
let onReclaim: (what: string) => void;
/** What an eviction does for the node. */
let onEviction: (name: string) => void;
/** UIDs of pods whose stop does not come to an end. */
let hung: Set<string>;

beforeEach(() => {
  ground = simulatedGround();
  figures = new Figures(() => ground.clock.now());
  events = [];
  reclaimed = [];
  onReclaim = () => undefined;
  hung = new Set();
  onEviction = () => (figures.left = { memory: 500, disk: 50, pids: 900 });
});
afterEach(() => agent.stop());

const aborted = (signal: AbortSignal) =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });

async function start(settings: Partial<EvictionSettings>): Promise<void> {
  const remove = (what: string) => () => {
    reclaimed.push(what);
    onReclaim(what);
    return Promise.resolve();
  };
  const reclaimer = { deleteDeadContainers: remove('containers'), deleteUnusedImages: remove('images') };
  const parts: NodeParts = { ...ground.open(), reclaimer };
  agent = agentOn(ground, parts, {
    wrapEffects: (effects) => ({
      ...effects,
      stopPod: async (context, signal) => {
        if (hung.has(context.uid)) await aborted(signal);
        return effects.stopPod(context, signal);
      },
    }),
    eviction: { configuration: settingsWith(settings), stats: () => Promise.resolve(figures) },
    recorder: {
      event: ({ name }, _type, reason) => {
        events.push(`${name} ${reason}`);
        if (reason === 'Evicted') onEviction(name);
      },
    },
  });
  agent.start();
  await ground.until('the runtime to be ready', () => agent.supervisor.runtimeProblem === undefined);
  agent.supervisor.send({ type: 'SOURCE_SEEN', source: 'file' });
}

function pod(name: string, more: RequestingPod = {}): Pod {
  const made = requestingPod(name, { terminationGracePeriodSeconds: 5, ...more });
  const [container] = made.spec.containers;
  return { ...made, spec: { ...made.spec, containers: [{ ...container!, command: LASTING_COMMAND }] } };
}

async function run(...pods: Pod[]): Promise<void> {
  agent.supervisor.send({ type: 'CONFIG.ADD', source: 'api', pods });
  for (const { metadata } of pods) await untilState(metadata.name, 'Syncing.Settled');
}

const state = (name: string) => {
  const entry = agent.supervisor.registry.get(name);
  return entry && stateName(entry.actor.getSnapshot());
};
const untilState = (name: string, wanted: string) =>
  ground.until(`${name} to be in ${wanted}, not ${state(name)}`, () => state(name) === wanted);
const statusOf = (name: string) => agent.statusManager.get(name);
const conditions = () => agent.nodeFacts().conditions;
const pass = () => ground.clock.advance(10_000);
const evicted = () =>
  events.filter((event) => event.endsWith(' Evicted')).map((event) => event.split(' ')[0]);

describe('short of memory', () => {
  const hard = { thresholds: thresholds({ evictionHard: { 'memory.available': '100Mi' } }) };

  test('the pod that uses more than it requested goes, and the others go on', async () => {
    await start(hard);
    await run(
      pod('modest', { requests: { memory: '200Mi' } }),
      pod('greedy', { requests: { memory: '50Mi' } }),
    );
    figures.pods = [usingMemory('modest', 150), usingMemory('greedy', 300)];
    figures.left = { memory: 90 };
    await pass();
    await untilState('greedy', 'Terminated.Finished');
    expect(statusOf('greedy')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(statusOf('greedy')?.message).toBe(
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. Container main was using 300Mi, request is 50Mi, has larger consumption of memory. ',
    );
    expect(statusOf('greedy')?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True' }),
    );
    expect([evicted(), state('modest')]).toEqual([['greedy'], 'Syncing.Settled']);
  });

  test('it is looked at as soon as the watch tells, not when the period is over', async () => {
    await start(hard);
    await run(pod('greedy'));
    figures.pods = [usingMemory('greedy', 300)];
    const beganAtMs = ground.clock.now();
    figures.memoryGoes(90);
    await untilState('greedy', 'Terminated.Finished');
    expect(ground.clock.now()).toBe(beganAtMs);
  });

  test('what the watch tells and the figures do not say yet is looked at again soon', async () => {
    await start(hard);
    await run(pod('greedy'));
    figures.pods = [usingMemory('greedy', 300)];
    figures.memoryGoes(110);
    await ground.clock.advance(300);
    figures.left = { memory: 90 };
    expect(evicted()).toEqual([]);
    await ground.clock.advance(300);
    await untilState('greedy', 'Terminated.Finished');
  });

  test('one pod goes at a time, and the next only by figures that are taken after its end', async () => {
    await start(hard);
    await run(pod('first'), pod('second'), pod('third'));
    figures.pods = [usingMemory('first', 300), usingMemory('second', 200), usingMemory('third', 100)];
    onEviction = (name) => {
      figures.pods = figures.pods.filter(({ podRef }) => podRef.name !== name);
      figures.left = { memory: name === 'first' ? 60 : 400 };
    };
    figures.memoryGoes(50);
    await untilState('first', 'Terminated.Finished');
    expect(evicted()).toEqual(['first']);
    await ground.clock.advance(0);
    await untilState('second', 'Terminated.Finished');
    await pass();
    await pass();
    expect([evicted(), state('third')]).toEqual([['first', 'second'], 'Syncing.Settled']);
  });

  test('a pod of which nothing runs yet does not go: its end would free nothing', async () => {
    await start(hard);
    await run(pod('new'), pod('greedy'));
    figures.pods = [usingMemory('greedy', 300)];
    figures.memoryGoes(50);
    await untilState('greedy', 'Terminated.Finished');
    await pass();
    expect([evicted(), state('new')]).toEqual([['greedy'], 'Syncing.Settled']);
  });

  test('critical pods never go', async () => {
    await start(hard);
    await run(
      pod('dns', { critical: true }),
      pod('static', { annotations: { 'kubernetes.io/config.source': 'file' } }),
    );
    figures.pods = [usingMemory('dns', 600), usingMemory('static', 300)];
    figures.memoryGoes(10);
    await pass();
    await pass();
    expect(evicted()).toEqual([]);
  });

  test('a pod that is ending already is waited for: nobody goes beside it', async () => {
    await start(hard);
    await run(pod('leaving'), pod('greedy'));
    figures.pods = [usingMemory('leaving', 100), usingMemory('greedy', 300)];
    let whenGreedyWent: string | undefined;
    onEviction = () => {
      whenGreedyWent = state('leaving');
      figures.left = { memory: 400 };
    };
    agent.supervisor.registry.send('leaving', { type: 'SyncPodKill' });
    figures.memoryGoes(50);
    await untilState('greedy', 'Terminated.Finished');
    expect(whenGreedyWent).toMatch(/^Terminated/);
  });

  test('one that does not come to its end is not waited for for ever', async () => {
    await start(hard);
    await run(pod('hung'), pod('greedy'));
    figures.pods = [usingMemory('hung', 100), usingMemory('greedy', 300)];
    hung.add('hung');
    agent.supervisor.registry.send('hung', { type: 'SyncPodKill' });
    figures.memoryGoes(50);
    await ground.clock.advance(5_000);
    expect(evicted()).toEqual([]);
    await pass();
    await untilState('greedy', 'Terminated.Finished');
    expect(state('hung')).toMatch(/^Terminating/);
  });

  test('what is over when it is measured once more costs nobody his place', async () => {
    await start(hard);
    await run(pod('greedy'));
    figures.pods = [usingMemory('greedy', 300)];
    figures.afterLook = () => (figures.left = { memory: 300 });
    figures.memoryGoes(50);
    await pass();
    expect([evicted(), conditions()]).toEqual([[], ['MemoryPressure']]);
  });

  test('what was over when it was measured once more, and is back a moment later, is not missed', async () => {
    await start(hard);
    await run(pod('greedy'));
    figures.pods = [usingMemory('greedy', 300)];
    figures.afterLook = () => (figures.left = { memory: figures.looks === 1 ? 300 : 50 });
    figures.looks = 0;
    figures.memoryGoes(50);
    await ground.clock.advance(1000);
    await untilState('greedy', 'Terminated.Finished');
  });

  test('the condition holds for the transition period, and ordinary pods are turned away', async () => {
    await start({ ...hard, pressureTransitionPeriodMs: MINUTE_MS });
    await run(pod('greedy'));
    figures.pods = [usingMemory('greedy', 300)];
    figures.memoryGoes(50);
    await untilState('greedy', 'Terminated.Finished');
    expect(conditions()).toEqual(['MemoryPressure']);
    figures.left = { memory: 400 };
    figures.pods = [];
    await pass();
    agent.supervisor.send({ type: 'CONFIG.ADD', source: 'api', pods: [pod('late')] });
    await untilState('late', 'Terminated.Finished');
    expect(statusOf('late')).toMatchObject({
      reason: 'Evicted',
      message: 'Pod was rejected: The node had condition: [MemoryPressure]. ',
    });
    await run(pod('requesting', { requests: { memory: '1Mi' } }));
    // It flaps: the period begins anew.
    await ground.clock.advance(30_000);
    figures.left = { memory: 99 };
    await pass();
    figures.left = { memory: 400 };
    await ground.clock.advance(50_000);
    expect(conditions()).toEqual(['MemoryPressure']);
    await ground.clock.advance(20_000);
    expect(conditions()).toEqual([]);
  });

  test('a node that cannot be measured is looked at again', async () => {
    await start(hard);
    await run(pod('greedy'));
    figures.pods = [usingMemory('greedy', 300)];
    figures.left = { memory: 50 };
    figures.problem = new StateletError('Unavailable', 'nobody answers');
    await pass();
    expect(evicted()).toEqual([]);
    figures.problem = undefined;
    await pass();
    expect(evicted()).toEqual(['greedy']);
  });
});

test('a soft threshold has to be met for its grace period; the pod has the smaller of the two to end', async () => {
  await start({
    thresholds: thresholds({
      evictionSoft: { 'memory.available': '200Mi' },
      evictionSoftGracePeriod: { 'memory.available': '25s' },
    }),
    maxPodGracePeriodSeconds: 3,
  });
  await run(pod('greedy'));
  figures.pods = [usingMemory('greedy', 300)];
  figures.left = { memory: 150 };
  await pass();
  await pass();
  await pass();
  expect([evicted(), conditions()]).toEqual([[], ['MemoryPressure']]);
  await pass();
  expect(evicted()).toEqual(['greedy']);
  expect(agent.supervisor.registry.get('greedy')?.actor.getSnapshot().context.gracePeriodSeconds).toBe(3);
});

describe('short of disk', () => {
  const hard = { thresholds: thresholds({ evictionHard: { 'nodefs.available': '10Gi' } }) };
  const onDisk = (name: string, usedGi: number) => {
    const amount = { usedBytes: usedGi * GI };
    const containers = [{ name: 'main', rootfs: amount, logs: { usedBytes: 0 } }];
    return statsOf(name, { containers, 'ephemeral-storage': amount });
  };

  test('dead containers and images go first, and where that is enough no pod does', async () => {
    await start(hard);
    await run(pod('writer'));
    figures.pods = [onDisk('writer', 30)];
    figures.left = { disk: 5 };
    onReclaim = (what) => {
      if (what === 'images') figures.left = { disk: 20 };
    };
    await pass();
    expect([reclaimed, evicted()]).toEqual([['containers', 'images'], []]);
    expect(conditions()).toEqual(['DiskPressure']);
  });

  test('where it is not, the pod goes that uses most', async () => {
    await start(hard);
    await run(pod('modest'), pod('writer'));
    figures.pods = [onDisk('modest', 1), onDisk('writer', 30)];
    figures.left = { disk: 5 };
    await pass();
    expect([reclaimed.slice(0, 2), evicted()]).toEqual([['containers', 'images'], ['writer']]);
    expect(statusOf('writer')?.message).toContain('The node was low on resource: ephemeral-storage. ');
  });
});

test('short of process IDs, the pod with the lowest priority goes', async () => {
  await start({ thresholds: thresholds({ evictionHard: { 'pid.available': '100' } }) });
  await run(pod('important', { priority: 10 }), pod('forking', { priority: 1 }));
  const processes = (name: string, count: number) =>
    statsOf(name, { process_stats: { process_count: count } });
  figures.pods = [processes('important', 500), processes('forking', 300)];
  figures.left = { pids: 50 };
  await pass();
  expect([evicted(), conditions()]).toEqual([['forking'], ['PIDPressure']]);
});

test('a pod that exceeds a limit of its own goes whatever the node has left', async () => {
  await start({});
  const volumes = [{ name: 'scratch', emptyDir: { sizeLimit: '1Mi' } }];
  await run(pod('writer', { volumes }), pod('modest', { volumes }));
  const uses = (name: string, usedBytes: number) =>
    statsOf(name, { volume: [{ name: 'scratch', usedBytes }] });
  figures.pods = [uses('writer', 2 * MI), uses('modest', MI)];
  await pass();
  expect(evicted()).toEqual(['writer']);
  expect(statusOf('writer')).toMatchObject({
    reason: 'Evicted',
    message: 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ',
  });
});

test('pods without limits of their own are not measured as long as nothing is short', async () => {
  await start({ thresholds: thresholds({ evictionHard: { 'memory.available': '100Mi' } }) });
  await run(pod('web'));
  await pass();
  await pass();
  expect([figures.looks, figures.looksAtPods]).toEqual([2, 0]);
});
