/** What the judges ask the simulated runtime itself: what really runs, and which calls are in flight. */
import type { CallName } from '../../runtime/simulated/latencies.ts';
import type { CallUnderWay, ContainerTruth, SandboxTruth } from '../../runtime/simulated/witness.ts';

export interface RuntimeTruth {
  sandboxesOf(uid: string): Iterable<SandboxTruth>;
  inFlight(uid: string): readonly CallUnderWay[];
  isRunning(uid: string): boolean;
}

const STARTS: ReadonlySet<CallName> = new Set(['RunPodSandbox', 'CreateContainer', 'StartContainer']);

/** Whether the call may start something of a pod. */
export function isStart(name: CallName): boolean {
  return STARTS.has(name);
}

/** Whether the call changes nothing. */
export function isRead(name: CallName): boolean {
  return /^(?:List|Version|Status|PodSandboxStatus|ContainerStatus|Image|ExecSync)/.test(name);
}

/** I3, I10: at most one instance of a container runs, no matter which agent started it. Returns the other instance, if any. */
export function secondInstance(truth: RuntimeTruth, started: ContainerTruth): ContainerTruth | undefined {
  for (const { containers } of truth.sandboxesOf(started.uid)) {
    for (const container of containers) {
      const isTwin = container.id !== started.id && container.metadata.name === started.metadata.name;
      if (isTwin && container.state === 'CONTAINER_RUNNING') return container;
    }
  }
  return undefined;
}
