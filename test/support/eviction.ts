/** Nodes and pods for tests of eviction. */
import {
  type EvictionFacts,
  type EvictionSettings,
  INITIAL_EVICTION_STATE,
} from '../../src/agent/policies/eviction/pass.ts';
import { observe } from '../../src/agent/policies/eviction/observations.ts';
import { mostUrgentShortage, type Shortage } from '../../src/agent/policies/eviction/shortage.ts';
import {
  parseThresholds,
  type Threshold,
  type ThresholdSettings,
} from '../../src/agent/policies/eviction/thresholds.ts';
import type { NodeStats, PodStats, PSIStats, Summary } from '../../src/types/stats.ts';

export const MI = 2 ** 20;
export const GI = 2 ** 30;

export const ONE_FILE_SYSTEM = { dedicatedImageFs: false, splitContainerFs: false };

export function thresholds(settings: Partial<ThresholdSettings>): readonly Threshold[] {
  return parseThresholds({
    evictionHard: {},
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMinimumReclaim: {},
    enforceNodeAllocatable: [],
    ...settings,
  });
}

export function settingsWith(settings: Partial<EvictionSettings>): EvictionSettings {
  return {
    thresholds: [],
    pressureTransitionPeriodMs: 300_000,
    maxPodGracePeriodSeconds: 20,
    localStorageCapacityIsolation: true,
    layout: ONE_FILE_SYSTEM,
    ...settings,
  };
}

/** The available resources of a node with 1 Gi of memory, 100 Gi of disk and 1000 process IDs; memory in Mi. */
export interface Left {
  readonly memory?: number;
  readonly disk?: number;
  readonly pids?: number;
  /** Available on the disk of images, if there is one: of 100 Gi, too. */
  readonly imagefs?: number;
  /** The share of the last ten seconds in which tasks waited, in percent. */
  readonly memoryStall?: number;
  readonly ioStall?: number;
  readonly nowMs?: number;
}

export function nodeWith(left: Left): NodeStats {
  const { memory, disk, imagefs, pids, memoryStall, ioStall, nowMs = 0 } = left;
  const time = new Date(nowMs).toISOString();
  return {
    nodeName: 'node1',
    ...(memory !== undefined && {
      memory: {
        time,
        availableBytes: memory * MI,
        workingSetBytes: (1024 - memory) * MI,
        ...(memoryStall !== undefined && { psi: stalled(memoryStall) }),
      },
    }),
    ...(ioStall !== undefined && { io: { time, psi: stalled(ioStall) } }),
    ...(disk !== undefined && { fs: { time, availableBytes: disk * GI, capacityBytes: 100 * GI } }),
    ...(imagefs !== undefined && {
      runtime: { imageFs: { time, availableBytes: imagefs * GI, capacityBytes: 100 * GI } },
    }),
    ...(pids !== undefined && { rlimit: { time, maxpid: 1000, curproc: 1000 - pids } }),
  };
}

/** Some tasks waited for that share of the time, and all tasks for half of it. */
function stalled(percent: number): PSIStats {
  const data = (avg10: number) => ({ total: 0, avg10, avg60: 0, avg300: 0 });
  return { some: data(percent), full: data(percent / 2) };
}

export function statsOf(name: string, stats: Omit<PodStats, 'podRef'>): PodStats {
  return { podRef: { name, namespace: 'default', uid: name }, ...stats };
}

/** A pod whose only container uses that much memory. */
export function usingMemory(name: string, usedMi: number): PodStats {
  const memory = { workingSetBytes: usedMi * MI };
  return statsOf(name, { memory, containers: [{ name: 'main', memory }] });
}

export function doingIO(name: string, bytesPerSecond: number): PodStats {
  return statsOf(name, { io: { bytesPerSecond } });
}

export function summaryOf(left: Left, pods: readonly PodStats[] = []): Summary {
  return { node: nodeWith(left), pods };
}

export function factsWith(facts: Partial<EvictionFacts>): EvictionFacts {
  return {
    settings: settingsWith({}),
    state: INITIAL_EVICTION_STATE,
    nowMs: 0,
    summary: summaryOf({}),
    pods: [],
    ending: new Set(),
    unendable: new Set(),
    ...facts,
  };
}

/** The shortage of a node with one hard threshold and these available resources. */
export function shortageOf(signal: string, threshold: string, left: Left): Shortage {
  const set = thresholds({ evictionHard: { [signal]: threshold } });
  return mostUrgentShortage(set, observe(summaryOf(left)), ONE_FILE_SYSTEM)!;
}
