/** What pods use of resources that they hold only while they run: memory, processes. */
import type { ContainerTruth, SandboxTruth } from '../../runtime/simulated/witness.ts';
import { type Growth, grown } from './growth.ts';

export interface RunningTruth {
  uids(): readonly string[];
  sandboxesOf(uid: string): Iterable<SandboxTruth>;
}

export interface Takers {
  /** What a sandbox uses without its containers. */
  readonly sandbox: number;
  /** The same for every instance of a container. */
  readonly container: (container: ContainerTruth) => Growth;
}

/** By UID, of pods with something running. */
export function runningUse(runtime: RunningTruth, atMs: number, takers: Takers): ReadonlyMap<string, number> {
  const used = new Map<string, number>();
  for (const uid of runtime.uids()) {
    const amount = useOf(runtime.sandboxesOf(uid), atMs, takers);
    if (amount > 0) used.set(uid, amount);
  }
  return used;
}

function useOf(sandboxes: Iterable<SandboxTruth>, atMs: number, takers: Takers): number {
  let sum = 0;
  for (const { ready, containers } of sandboxes) {
    if (ready) sum += takers.sandbox;
    for (const container of containers)
      if (container.state === 'CONTAINER_RUNNING')
        sum += grown(takers.container(container), atMs - container.startedAt);
  }
  return sum;
}

export function total(used: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const amount of used.values()) sum += amount;
  return sum;
}
