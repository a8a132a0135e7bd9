/** What pods use of something that is theirs as long as they run: memory, processes. */
import type { ContainerTruth, SandboxTruth } from '../../runtime/simulated/witness.ts';
import { type Growth, grown } from './growth.ts';

export interface RunningTruth {
  uids(): readonly string[];
  sandboxesOf(uid: string): Iterable<SandboxTruth>;
}

export interface Takers {
  /** What a sandbox takes without its containers. */
  readonly sandbox: number;
  /** Every instance of a container does the same. */
  readonly container: (container: ContainerTruth) => Growth;
}

/** By UID, of those of which something runs. */
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
