/** The figures that the agent on a simulated node gets: free resources, and the usage of pods. */
import { describe, expect, test } from '@jest/globals';
import type { ContainerTruth, SandboxTruth } from '../../../src/simulation/runtime/witness.ts';
import type { NodeResources } from '../../../src/simulation/resources/node-resources.ts';
import type { NodeUse } from '../../../src/simulation/resources/node-use.ts';
import { SimulatedResources } from '../../../src/simulation/resources/simulated-resources.ts';
import { SimulatedStats } from '../../../src/simulation/resources/simulated-stats.ts';
import { newFolder, type SimulatedDisk } from '../../../src/simulation/node/simulated-disk.ts';
import { AgentClock } from '../../../src/simulation/node/agent-clock.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';
import type { Summary } from '../../../src/types/stats.ts';
import { container, sandbox } from '../judges/lifecycle-judge-bed.ts';

const MI = 2 ** 20;
const UID = 'uid-of-web';
const ONE_DISK = { dedicatedImageFs: false, splitContainerFs: false };
const DISK_SIZE = { bytes: 1000 * MI, inodes: 100_000 };

/** A node with 1 Gi of memory for its pods, the clock of an agent, and the reports that the agent gets. */
class Bed {
  readonly clock = new VirtualClock();
  readonly agentClock = new AgentClock(this.clock);
  sandboxes: SandboxTruth[] = [];
  images: readonly { readonly id: string; readonly size: number }[] = [];
  readonly disk: SimulatedDisk = new Map();
  faults = { fail: 0, slow: 0 };
  readonly told: boolean[] = [];
  readonly uses: NodeUse[] = [];
  readonly resources: SimulatedResources;
  readonly stats: SimulatedStats;
  readonly #spec: PodSpec = {
    containers: [
      { name: 'main', resources: { requests: { memory: '100Mi', 'ephemeral-storage': '100Mi' } } },
    ],
    volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '200Mi' } }],
  };

  /** `chances`: the random values for keys with these ends. */
  constructor(
    chances: readonly (readonly [string, number])[] = [],
    { memory = { capacityBytes: 1152 * MI, podsBytes: undefined }, ...others }: Partial<NodeResources> = {},
  ) {
    const random = (key: string) => chances.find(([part]) => key.endsWith(part))?.[1] ?? 0.5;
    const rules = {
      thresholds: [],
      layout: ONE_DISK,
      maxPodGracePeriodSeconds: 10,
      pressureTransitionPeriodMs: 0,
    };
    this.resources = new SimulatedResources({
      resources: { oldImages: [], rules, memory, ...others },
      now: () => this.clock.now(),
      random,
      disk: this.disk,
      specOf: () => this.#spec,
      runtime: { uids: () => [UID], sandboxesOf: () => this.sandboxes, images: () => this.images },
    });
    this.stats = new SimulatedStats({
      resources: this.resources,
      clock: this.agentClock,
      random,
      faults: () => this.faults,
      nameOf: () => 'web',
      onMeasure: () => (use) => this.uses.push(use),
    });
  }

  runs(...containers: ContainerTruth[]): void {
    this.sandboxes = [sandbox(true, ...containers)];
    this.resources.changed();
  }

  watch(
    thresholdMi: number,
    signal: 'memory.available' | 'allocatableMemory.available' = 'memory.available',
  ): void {
    const threshold = { signal, thresholdBytes: thresholdMi * MI };
    this.stats.watchMemory([threshold], ({ isBelow }) => this.told.push(isBelow));
  }

  async summary(options = {}): Promise<Summary> {
    const summary = this.stats.summary(options);
    summary.catch(() => undefined);
    await this.clock.advance(10_000);
    return summary;
  }
}

const main = (startedAt: number) => container('c1', { startedAt });

test('a pod uses memory as long as it runs', async () => {
  const bed = new Bed();
  bed.runs(main(bed.clock.now()));
  const { node, pods } = await bed.summary();
  // Nine tenths of the request, and 1 Mi for the sandbox.
  expect(pods).toMatchObject([{ podRef: { name: 'web', uid: UID }, memory: { workingSetBytes: 91 * MI } }]);
  expect(node.memory).toMatchObject({ availableBytes: 933 * MI, workingSetBytes: 219 * MI });
  expect((await bed.summary({ onlyNode: true })).pods).toEqual([]);
  bed.runs(container('c1', { state: 'CONTAINER_EXITED' }));
  bed.sandboxes = [sandbox(false, container('c1', { state: 'CONTAINER_EXITED' }))];
  expect((await bed.summary()).pods).toEqual([]);
});

describe('a memory watch', () => {
  test('reports when a container that starts or ends crosses the threshold, and no timer is armed in between', async () => {
    const bed = new Bed();
    bed.watch(1000);
    await bed.clock.advance(1000);
    expect([bed.told, bed.clock.armed]).toEqual([[], 0]);
    bed.runs(main(bed.clock.now()));
    await bed.clock.advance(250);
    expect([bed.told, bed.clock.armed]).toEqual([[true], 0]);
    bed.sandboxes = [];
    bed.resources.changed();
    await bed.clock.advance(250);
    expect([bed.told, bed.clock.armed]).toEqual([[true, false], 0]);
  });

  test('reports when a leak has used the free memory', async () => {
    // The leak is 1 Mi in a second.
    const bed = new Bed([['/leaks', 0]]);
    bed.runs(main(bed.clock.now()));
    bed.watch(833);
    await bed.clock.advance(99_000);
    expect(bed.told).toEqual([]);
    await bed.clock.advance(2_000);
    expect([bed.told, bed.clock.armed]).toEqual([[true], 0]);
  });

  test('reports nothing after the agent is dead', async () => {
    const bed = new Bed();
    bed.watch(1000);
    await bed.clock.advance(1000);
    bed.agentClock.stop();
    bed.stats.close();
    bed.runs(main(bed.clock.now()));
    await bed.clock.advance(1000);
    expect(bed.told).toEqual([]);
  });
});

test('figures may fail, and come late', async () => {
  const bed = new Bed();
  bed.faults = { fail: 1, slow: 0 };
  await expect(bed.summary()).rejects.toMatchObject({ kind: 'Unavailable' });
  bed.faults = { fail: 0, slow: 1 };
  const beganAt = bed.clock.now();
  const { node } = await bed.summary();
  expect(Date.parse(node.memory?.time ?? '') - beganAt).toBeGreaterThan(500);
});

test('if all pods together have a memory limit, it is in the figures, and it is watched', async () => {
  const bed = new Bed([], { memory: { capacityBytes: 1152 * MI, podsBytes: 500 * MI } });
  bed.watch(450, 'allocatableMemory.available');
  bed.runs(main(bed.clock.now()));
  const { node } = await bed.summary();
  const memory = { availableBytes: 409 * MI, workingSetBytes: 91 * MI };
  expect(node.systemContainers).toMatchObject([{ name: 'pods', memory }]);
  expect(bed.stats.memoryAvailable('allocatableMemory.available')).toEqual({ capacityBytes: 500 * MI });
  expect(bed.told).toEqual([true]);
});

test('pods have processes as long as they run, and the number of some pods grows', async () => {
  const bed = new Bed([['/leaks', 0]], { processes: { max: 1000 } });
  bed.runs(main(bed.clock.now()));
  const [first, later] = [await bed.summary(), await bed.summary()];
  // One of the sandbox, 21 at the start, and one more every two seconds.
  expect(first.pods).toMatchObject([{ process_stats: { process_count: 22 } }]);
  expect(first.node.rlimit).toMatchObject({ maxpid: 1000, curproc: 122 });
  expect(later.pods).toMatchObject([{ process_stats: { process_count: 27 } }]);
});

describe('the disk', () => {
  /** The usage of a container or a volume is less than a third of its request or limit. */
  const [LAYER, LOGS, VOLUME, IMAGE] = [30 * MI, 5 * MI, 60 * MI, 400 * MI];

  const stored = (layout = ONE_DISK) => {
    const bed = new Bed([], { disks: { layout, nodeFs: DISK_SIZE, imageFs: DISK_SIZE } });
    bed.images = [{ id: 'app', size: IMAGE }];
    bed.disk.set(UID, { ...newFolder(), mounted: true, mountedAt: bed.clock.now() });
    const dead = { state: 'CONTAINER_EXITED', startedAt: 1, finishedAt: 2 } as const;
    bed.runs(container('c1', dead), container('c2', { startedAt: bed.clock.now() }));
    return bed;
  };
  const freeOf = ({ node: { fs, runtime } }: Summary) =>
    [fs, runtime?.imageFs, runtime?.containerFs].map((one) => DISK_SIZE.bytes - (one?.availableBytes ?? 0));

  test('holds images, volumes, and the layers and logs of containers, until they are removed', async () => {
    const bed = stored();
    const all = IMAGE + VOLUME + 2 * (LAYER + LOGS);
    const summary = await bed.summary();
    expect(freeOf(summary)).toEqual([all, all, all]);
    expect(summary.pods).toMatchObject([
      {
        containers: [{ name: 'main', rootfs: { usedBytes: LAYER }, logs: { usedBytes: 2 * LOGS } }],
        volume: [{ name: 'scratch', usedBytes: VOLUME }],
        'ephemeral-storage': { usedBytes: LAYER + 2 * LOGS + VOLUME },
      },
    ]);
    bed.sandboxes = [];
    bed.images = [];
    bed.disk.delete(UID);
    expect(freeOf(await bed.summary())).toEqual([0, 0, 0]);
  });

  test('has them on the file systems of the layout', async () => {
    const layers = 2 * LAYER;
    const others = VOLUME + 2 * LOGS;
    const apart = stored({ dedicatedImageFs: true, splitContainerFs: false });
    expect(freeOf(await apart.summary())).toEqual([others, IMAGE + layers, IMAGE + layers]);
    expect(await apart.stats.diskLayout()).toEqual({ dedicatedImageFs: true, dedicatedContainerFs: false });
    const split = stored({ dedicatedImageFs: true, splitContainerFs: true });
    expect(freeOf(await split.summary())).toEqual([others + layers, IMAGE, others + layers]);
  });

  test('usage of pods is from an earlier measurement, unless the caller asks for a newer one', async () => {
    const bed = stored();
    await bed.summary();
    const [before] = bed.uses.flatMap(({ pods }) => pods.get(UID)?.storage?.atMs ?? []);
    bed.disk.delete(UID);
    expect((await bed.summary()).pods[0]?.volume).toHaveLength(1);
    expect((await bed.summary({ diskUsageMaxAgeMs: 1_000 })).pods[0]?.volume).toEqual([]);
    expect(bed.uses.map(({ atMs, pods }) => atMs - (pods.get(UID)?.storage?.atMs ?? 0))).toEqual([
      0, 10_000, 0,
    ]);
    expect(before).toBe(bed.uses[0]?.atMs);
  });
});

describe('a caller that asks for less', () => {
  const bedWithAll = () => {
    const disks = { layout: ONE_DISK, nodeFs: DISK_SIZE, imageFs: DISK_SIZE };
    const bed = new Bed([], { disks, processes: { max: 1000 } });
    bed.runs(main(bed.clock.now()));
    return bed;
  };

  test('gets only memory', async () => {
    const { node, pods } = await bedWithAll().summary({ onlyCPUAndMemory: true });
    expect(Object.keys(node)).toEqual(['nodeName', 'memory']);
    expect(pods).toMatchObject([{ memory: { workingSetBytes: 91 * MI } }]);
    expect(pods[0]?.containers).toBeUndefined();
  });

  test('gets the known disk usage if it does not wait for more', async () => {
    const bed = bedWithAll();
    const unknown = await bed.summary({ diskUsagePatienceMs: 0 });
    const known = await bed.summary({ diskUsagePatienceMs: 0 });
    expect([unknown, known].map(({ pods }) => pods[0]?.containers?.length)).toEqual([undefined, 1]);
  });

  test('gets the figures that are known at once if it aborts the measurement', async () => {
    const bed = bedWithAll();
    const hurried = new AbortController();
    const summary = bed.stats.summary({ signal: hurried.signal });
    hurried.abort();
    expect(Object.keys((await summary).node)).toEqual(['nodeName', 'memory']);
  });
});
