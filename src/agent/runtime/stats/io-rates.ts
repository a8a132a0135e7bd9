import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sleep } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { CPUStats } from '../../../types/stats.ts';
import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import { groupFolder, processesBelow } from './pod-groups.ts';
import { ioStatBytes, processIOBytes, readLongFile, readSmallFile } from './small-files.ts';

/** A group takes some hundred microseconds if its processes have to be summed up. */
const GROUPS_PER_TURN = 10;
const MS_PER_SECOND = 1000;

interface Sample {
  /** Of the whole group, or of each of its processes. */
  readonly bytes: ReadonlyMap<string, number>;
  readonly atMs: number;
}

/**
 * How much groups, each with the groups below it, read from disks and write to them. cgroup v2 counts it in groups with the
 * io controller. v1 is no help: since Linux 6.10 `blkio` counts only devices with a limit, and writes through the page cache
 * were never counted for the writing group. With v1 the counters of the groups' processes are summed up; a process's counter
 * includes its ended children.
 */
export class IORates {
  readonly #context: AgentContext;
  readonly #tree: CgroupTree;
  readonly #root: string;

  /** `root`: the folder that contains `proc`. */
  constructor(context: AgentContext, tree: CgroupTree, root: string) {
    this.#context = context;
    this.#tree = tree;
    this.#root = root;
  }

  /** Bytes a second, by the groups' keys; without groups that lack figures at one of the two times. Rejects when the signal aborts. */
  async measure(
    groups: ReadonlyMap<string, string>,
    overMs: number,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number>> {
    const before = await this.#samples(groups);
    if (before.size === 0) return new Map();
    await sleep(this.#context.clock, overMs, signal);
    const after = await this.#samples(groups);
    return new Map(
      [...after].flatMap(([name, sample]): [string, number][] => {
        const rate = rateBetween(before.get(name), sample);
        return rate === undefined ? [] : [[name, rate]];
      }),
    );
  }

  async #samples(groups: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, Sample>> {
    const samples = new Map<string, Sample>();
    let read = 0;
    for (const [name, group] of groups) {
      if (read % GROUPS_PER_TURN === GROUPS_PER_TURN - 1) await nextTurn();
      read += 1;
      const bytes = this.#bytes(group);
      if (bytes !== undefined) samples.set(name, { bytes, atMs: this.#context.clock.now() });
    }
    return samples;
  }

  #bytes(group: string): ReadonlyMap<string, number> | undefined {
    const tree = this.#tree;
    const folder = tree.version === 1 ? undefined : tree.folders(group)[0];
    const bytes = folder === undefined ? undefined : ioStatBytes(readLongFile(join(folder, 'io.stat')));
    return bytes === undefined ? this.#bytesOfProcesses(group) : new Map([[group, bytes]]);
  }

  #bytesOfProcesses(group: string): ReadonlyMap<string, number> | undefined {
    const [tree, root] = [this.#tree, this.#root];
    const folder = groupFolder(tree, group);
    const bytes = new Map<string, number>();
    for (const pid of folder === undefined ? [] : processesBelow(folder)) {
      const ofOne = processIOBytes(readSmallFile(join(root, 'proc', pid, 'io')));
      if (ofOne !== undefined) bytes.set(pid, ofOne);
    }
    return bytes.size === 0 ? undefined : bytes;
  }
}

function rateBetween(before: Sample | undefined, after: Sample): number | undefined {
  if (before === undefined || after.atMs <= before.atMs) return undefined;
  const bytes = bytesBetween(before.bytes, after.bytes);
  return Math.round((bytes * MS_PER_SECOND) / (after.atMs - before.atMs));
}

/**
 * A process that ends passes its counter on to its parent. If the parent is not in the pod, the sum gets smaller: then the growth
 * of each process that is left is counted.
 */
function bytesBetween(before: Sample['bytes'], after: Sample['bytes']): number {
  const difference = sumOf(after.values()) - sumOf(before.values());
  if (difference >= 0) return difference;
  return sumOf(Array.from(after, ([name, bytes]) => growth(before.get(name) ?? 0, bytes)));
}

/** A counter that is smaller than before has begun anew. */
function growth(before: number, after: number): number {
  return after < before ? after : after - before;
}

function sumOf(values: Iterable<number>): number {
  return Array.from(values).reduce((sum, value) => sum + value, 0);
}

/** A rate over a shorter time is not exact enough. */
const SHORTEST_MS = 1000;

/** A sample that is older is dropped: its rate would be out of date. */
const FORGOTTEN_AFTER_MS = 600_000;

interface CpuSample {
  readonly usageNs: number;
  readonly atMs: number;
  readonly rate?: number;
}

/** Adds the rate to CPU figures: the usage a second since the figures were last asked for. */
export class CpuRates {
  readonly #samples = new Map<string, CpuSample>();

  withRate(name: string, cpu: CPUStats | undefined, nowMs: number): CPUStats | undefined {
    if (cpu?.usageCoreNanoSeconds === undefined) return cpu;
    const usageNs = cpu.usageCoreNanoSeconds;
    const before = this.#samples.get(name);
    // A group that was made again begins at zero. A clock may be set back.
    const isFirst = before === undefined || usageNs < before.usageNs || nowMs < before.atMs;
    const elapsedMs = isFirst ? 0 : nowMs - before.atMs;
    const rate =
      !isFirst && elapsedMs >= SHORTEST_MS
        ? Math.round(((usageNs - before.usageNs) * MS_PER_SECOND) / elapsedMs)
        : undefined;
    if (isFirst) this.#samples.set(name, { usageNs, atMs: nowMs });
    else if (rate !== undefined) this.#samples.set(name, { usageNs, atMs: nowMs, rate });
    const usageNanoCores = rate ?? (isFirst ? undefined : before.rate);
    return { ...cpu, ...(usageNanoCores !== undefined && { usageNanoCores }) };
  }

  /** Drops the samples that have not been used for long. */
  forgetOld(nowMs: number): void {
    for (const [name, { atMs }] of this.#samples) {
      if (nowMs - atMs > FORGOTTEN_AFTER_MS) this.#samples.delete(name);
    }
  }
}
