/** What the agent on a simulated node is told of its memory. */
import { describe, expect, test } from '@jest/globals';
import type { ContainerTruth, SandboxTruth } from '../../src/runtime/simulated/witness.ts';
import { SimulatedMemory } from '../../src/simulation/simulated-memory.ts';
import { SimulatedStats } from '../../src/simulation/simulated-stats.ts';
import { MortalClock, VirtualClock } from '../../src/simulation/virtual-clock.ts';
import type { Summary } from '../../src/types/stats.ts';
import { container, sandbox } from './court.ts';

const MI = 2 ** 20;
const UID = 'uid-of-web';

/** A node of which 1 Gi is left for its pods, one agent's clock, and what that is told. */
class Bed {
  readonly clock = new VirtualClock();
  readonly agentClock = new MortalClock(this.clock);
  sandboxes: SandboxTruth[] = [];
  faults = { fail: 0, slow: 0 };
  readonly told: boolean[] = [];
  readonly memory: SimulatedMemory;
  readonly stats: SimulatedStats;

  /** `chance`: what is drawn for a key that contains the first. */
  constructor(...chances: (readonly [string, number])[]) {
    const random = (key: string) => chances.find(([part]) => key.endsWith(part))?.[1] ?? 0.5;
    this.memory = new SimulatedMemory({
      ...{ capacityBytes: 1152 * MI, now: () => this.clock.now(), random, requestOf: () => 100 * MI },
      runtime: { uids: () => [UID], sandboxesOf: () => this.sandboxes },
    });
    this.stats = new SimulatedStats({
      ...{ memory: this.memory, clock: this.agentClock, random, faults: () => this.faults },
      ...{ nameOf: () => 'web', onMeasure: () => () => undefined },
    });
  }

  runs(...containers: ContainerTruth[]): void {
    this.sandboxes = [sandbox(true, ...containers)];
    this.memory.changed();
  }

  watch(thresholdMi: number): void {
    const threshold = { signal: 'memory.available', thresholdBytes: thresholdMi * MI } as const;
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
  // Nine tenths of what it requests, and a sandbox.
  expect(pods).toMatchObject([{ podRef: { name: 'web', uid: UID }, memory: { workingSetBytes: 91 * MI } }]);
  expect(node.memory).toMatchObject({ availableBytes: 933 * MI, workingSetBytes: 219 * MI });
  expect((await bed.summary({ onlyNode: true })).pods).toEqual([]);
  bed.runs(container('c1', { state: 'CONTAINER_EXITED' }));
  bed.sandboxes = [sandbox(false, container('c1', { state: 'CONTAINER_EXITED' }))];
  expect((await bed.summary()).pods).toEqual([]);
});

describe('who watches', () => {
  test('is told when something starts or ends that makes the difference, and nothing is armed in between', async () => {
    const bed = new Bed();
    bed.watch(1000);
    await bed.clock.advance(1000);
    expect([bed.told, bed.clock.armed]).toEqual([[], 0]);
    bed.runs(main(bed.clock.now()));
    await bed.clock.advance(250);
    expect([bed.told, bed.clock.armed]).toEqual([[true], 0]);
    bed.sandboxes = [];
    bed.memory.changed();
    await bed.clock.advance(250);
    expect([bed.told, bed.clock.armed]).toEqual([[true, false], 0]);
  });

  test('is told when a leak has used up what was left', async () => {
    // A Mi in a second.
    const bed = new Bed(['/leaks', 0]);
    bed.runs(main(bed.clock.now()));
    bed.watch(833);
    await bed.clock.advance(99_000);
    expect(bed.told).toEqual([]);
    await bed.clock.advance(2_000);
    expect([bed.told, bed.clock.armed]).toEqual([[true], 0]);
  });

  test('is told nothing once it is dead', async () => {
    const bed = new Bed();
    bed.watch(1000);
    await bed.clock.advance(1000);
    bed.agentClock.die();
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
