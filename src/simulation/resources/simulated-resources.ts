/** The resources that a simulated node can run short of, and what its pods use of them. */
import type { EvictionSignal } from '../../agent/policies/eviction/signals.ts';
import { resourceAmount } from '../../agent/policies/admission/used-resources.ts';
import { parseQuantity } from '../../agent/policies/formats/quantity.ts';
import type { Container, PodSpec } from '../../types/kubernetes.ts';
import type { SimulatedDisk } from '../node/simulated-disk.ts';
import type { KeyedRandom } from './growth.ts';
import type { NodeResources } from './node-resources.ts';
import type { PodUse, StorageUse } from './node-use.ts';
import { SimulatedMemory } from './simulated-memory.ts';
import { SimulatedProcesses } from './simulated-processes.ts';
import { SimulatedStorage, type SimulatedStorageOptions, type StorageWants } from './simulated-storage.ts';

export interface SimulatedResourcesOptions {
  readonly resources: Pick<NodeResources, 'memory' | 'processes' | 'disks'>;
  readonly now: () => number;
  readonly random: KeyedRandom;
  readonly runtime: SimulatedStorageOptions['runtime'];
  readonly disk: SimulatedDisk;
  readonly specOf: (uid: string) => PodSpec | undefined;
}

/** Resources that the node cannot run short of are left out. */
export class SimulatedResources {
  readonly memory: SimulatedMemory | undefined;
  readonly processes: SimulatedProcesses | undefined;
  readonly storage: SimulatedStorage | undefined;
  readonly #options: SimulatedResourcesOptions;
  readonly #listeners = new Set<() => void>();

  constructor(options: SimulatedResourcesOptions) {
    this.#options = options;
    const { resources, now, random, runtime, disk, specOf } = options;
    const { memory, processes, disks } = resources;
    const parts = { now, random, runtime };
    const requestOf = (uid: string, container: string) => requested('memory', specOf(uid), container);
    const wantsOf = (uid: string) => storageWants(specOf(uid));
    this.memory = memory && new SimulatedMemory({ ...memory, ...parts, requestOf });
    this.processes = processes && new SimulatedProcesses({ ...processes, ...parts });
    this.storage = disks && new SimulatedStorage({ sizes: disks, ...parts, disk, wantsOf });
  }

  now(): number {
    return this.#options.now();
  }

  /** How much is left, by signal. */
  left(): ReadonlyMap<EvictionSignal, number> {
    const { memory, processes, storage } = this;
    return new Map<EvictionSignal, number>([
      ...(memory?.at().left ?? []),
      ...(processes ? [['pid.available', processes.now().left] as const] : []),
      ...(storage?.left() ?? []),
    ]);
  }

  /** By UID, pods with something running. `storageOf`: disk usage that was measured before. */
  pods(storageOf = (uid: string) => this.storage?.ofPod(uid)): ReadonlyMap<string, PodUse> {
    const memory = this.memory?.at().bytesOf;
    const processes = this.processes?.now().countOf;
    const uids = this.#options.runtime.uids().filter((uid) => this.#isRunning(uid));
    return new Map(
      uids.map((uid): [string, PodUse] => {
        const storage: StorageUse | undefined = storageOf(uid);
        return [uid, { memoryBytes: memory?.get(uid) ?? 0, processes: processes?.get(uid) ?? 0, storage }];
      }),
    );
  }

  /** Something has started or ended. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** The result ends the subscription. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #isRunning(uid: string): boolean {
    for (const { ready, containers } of this.#options.runtime.sandboxesOf(uid))
      if (ready || containers.some(({ state }) => state === 'CONTAINER_RUNNING')) return true;
    return false;
  }
}

/** Of the resource, by the container; `cpu` in thousandths. */
export function requested(resource: string, spec: PodSpec | undefined, containerName: string): number {
  return requestOf(
    resource,
    containersOf(spec).find(({ name }) => name === containerName),
  );
}

function requestOf(resource: string, container: Container | undefined): number {
  const text = container?.resources?.requests?.[resource];
  return text === undefined ? 0 : resourceAmount(resource, parseQuantity(text));
}

function containersOf(spec: PodSpec | undefined): readonly Container[] {
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
}

function storageWants(spec: PodSpec | undefined): StorageWants {
  const containers = containersOf(spec).map((one): [string, number] => [
    one.name,
    requestOf('ephemeral-storage', one),
  ]);
  const volumes = (spec?.volumes ?? []).flatMap(({ name, emptyDir }): [string, number][] => {
    // What lies in memory is on no disk.
    if (!emptyDir || emptyDir.medium === 'Memory') return [];
    const { sizeLimit } = emptyDir;
    return [[name, sizeLimit == null ? 0 : resourceAmount('memory', parseQuantity(sizeLimit))]];
  });
  return { containers: new Map(containers), volumes: new Map(volumes) };
}
