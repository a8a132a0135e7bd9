/** CPU and memory of a hollow node and its pods for the kubelet's Summary: computed from what runs, and for how long. */
import type { PodSpec } from '../../types/kubernetes.ts';
import type {
  ClaimStats,
  ContainerStats,
  CPUStats,
  MemoryStats,
  PodStats,
  Summary,
} from '../../types/stats.ts';
import { drawn, type KeyedRandom } from '../../simulation/resources/growth.ts';
import type { RunningTruth } from '../../simulation/resources/node-use.ts';
import { requested, type SimulatedResources } from '../../simulation/resources/simulated-resources.ts';
import { fileSystemFigures, storageFigures } from '../../simulation/resources/summary.ts';
import type { ContainerTruth, SandboxTruth } from '../../simulation/runtime/witness.ts';

const NS_PER_MS = 1e6;
const NANO_PER_MILLI = 1e6;
/** What a container that requests no CPU counts as. */
const LEAST_MILLICPU = 10;
/** What the node uses itself. */
const SYSTEM_MILLICPU = 50;

export interface HollowUseParts {
  readonly nodeName: string;
  readonly runtime: RunningTruth;
  readonly resources: Pick<SimulatedResources, 'memory' | 'storage'>;
  /** What containers use of the CPU that they request: one of these by chance. */
  readonly cpuShares: readonly number[];
  readonly random: KeyedRandom;
  readonly specOf: (uid: string) => PodSpec | undefined;
  readonly now: () => number;
}

export class HollowUse {
  readonly #parts: HollowUseParts;
  readonly #startedAt: number;
  /** CPU time of containers that have ended: that of the node never becomes less. */
  #endedNs = 0;

  constructor(parts: HollowUseParts) {
    this.#parts = parts;
    this.#startedAt = parts.now();
  }

  /** To be called when it ends. */
  ended(container: ContainerTruth): void {
    this.#endedNs += this.#cpuOf(container, this.#parts.now()).usageCoreNanoSeconds;
  }

  /** With the figures of volumes with claims, by the UIDs of their pods. */
  summary(claims: ReadonlyMap<string, readonly ClaimStats[]> = new Map()): Summary {
    const { nodeName, resources, now } = this.#parts;
    const { memory, storage } = resources;
    const atMs = now();
    const use = memory?.at(atMs);
    const pods = this.#pods(atMs, use?.bytesOf, claims);
    const capacityBytes = memory?.capacityOf('memory.available') ?? 0;
    const availableBytes = use?.left.get('memory.available') ?? capacityBytes;
    const system = cpuStats(SYSTEM_MILLICPU, this.#startedAt, atMs);
    const running = sumOf(
      pods.map(({ cpu }) => cpu),
      atMs,
    );
    const cpu = {
      time: timeOf(atMs),
      usageNanoCores: system.usageNanoCores + running.usageNanoCores,
      usageCoreNanoSeconds: system.usageCoreNanoSeconds + running.usageCoreNanoSeconds + this.#endedNs,
    };
    const startTime = timeOf(this.#startedAt);
    const used = { ...memoryStats(capacityBytes - availableBytes, atMs), availableBytes };
    const disks = storage && fileSystemFigures(storage.sizes, storage.left(), timeOf(atMs));
    return { node: { nodeName, startTime, cpu, memory: used, ...disks }, pods };
  }

  #pods(
    atMs: number,
    bytesOf: ReadonlyMap<string, number> | undefined,
    claims: ReadonlyMap<string, readonly ClaimStats[]>,
  ): readonly (PodStats & { readonly cpu: Known })[] {
    const { runtime } = this.#parts;
    return runtime.uids().flatMap((uid) => {
      for (const sandbox of runtime.sandboxesOf(uid))
        if (sandbox.ready) return this.#pod(sandbox, bytesOf?.get(uid) ?? 0, claims.get(uid) ?? [], atMs);
      return [];
    });
  }

  #pod(
    { uid, metadata, createdAt, containers }: SandboxTruth,
    bytes: number,
    claims: readonly ClaimStats[],
    atMs: number,
  ) {
    const running = containers.filter(({ state }) => state === 'CONTAINER_RUNNING');
    const storage = this.#parts.resources.storage?.ofPod(uid);
    const stored: Partial<ReturnType<typeof storageFigures>> = storage ? storageFigures(storage) : {};
    const { containers: written = [], volume = [], ...disk } = stored;
    const figures = running.map((container) => this.#container(container, atMs));
    return {
      podRef: { name: metadata.name, namespace: metadata.namespace, uid },
      startTime: timeOf(createdAt),
      containers: figures.map((one) => ({ ...one, ...written.find(({ name }) => name === one.name) })),
      ...disk,
      volume: [...volume, ...claims],
      cpu: sumOf(
        figures.map(({ cpu }) => cpu),
        atMs,
      ),
      memory: memoryStats(bytes, atMs),
    };
  }

  #container(container: ContainerTruth, atMs: number): ContainerStats & { readonly cpu: Known } {
    return {
      name: container.metadata.name,
      startTime: timeOf(container.startedAt),
      cpu: this.#cpuOf(container, atMs),
      memory: memoryStats(this.#parts.resources.memory?.ofContainer(container, atMs) ?? 0, atMs),
    };
  }

  #cpuOf({ uid, metadata: { name }, startedAt }: ContainerTruth, atMs: number): Known {
    const { random, cpuShares, specOf } = this.#parts;
    const share = drawn(cpuShares, random(`cpu/${uid}/${name}`)) ?? 1;
    const request = Math.max(LEAST_MILLICPU, requested('cpu', specOf(uid), name));
    return cpuStats(share * request, startedAt, atMs);
  }
}

type Known = Required<Pick<CPUStats, 'time' | 'usageNanoCores' | 'usageCoreNanoSeconds'>>;

function cpuStats(millicpu: number, sinceMs: number, atMs: number): Known {
  const usageNanoCores = Math.round(millicpu * NANO_PER_MILLI);
  const usageCoreNanoSeconds = Math.round((millicpu / 1000) * Math.max(0, atMs - sinceMs) * NS_PER_MS);
  return { time: timeOf(atMs), usageNanoCores, usageCoreNanoSeconds };
}

function sumOf(all: readonly Known[], atMs: number): Known {
  const sum = (of: (one: Known) => number) => all.reduce((total, one) => total + of(one), 0);
  return {
    time: timeOf(atMs),
    usageNanoCores: sum(({ usageNanoCores }) => usageNanoCores),
    usageCoreNanoSeconds: sum(({ usageCoreNanoSeconds }) => usageCoreNanoSeconds),
  };
}

function memoryStats(bytes: number, atMs: number): MemoryStats {
  return { time: timeOf(atMs), usageBytes: bytes, workingSetBytes: bytes, rssBytes: bytes };
}

const timeOf = (ms: number): string => new Date(ms).toISOString();
