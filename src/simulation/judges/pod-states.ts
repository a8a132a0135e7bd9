import type { CallName } from '../runtime/chance.ts';
import type { CallUnderWay, ContainerTruth, SandboxTruth } from '../runtime/witness.ts';

/** The state in which a pod's actor begins. */
export const NEW = 'Syncing.Starting.New';
export const DRAINING = 'Syncing.Draining';

/** The pod has not been given leave to start. */
export function isBeforeStart(state: string): boolean {
  return state.startsWith('Syncing.Starting');
}

/** The pod has been told to end, and has not ended yet. */
export function isEndingState(state: string): boolean {
  return state === DRAINING || state.startsWith('Terminating');
}

export function isTerminated(state: string): boolean {
  return state.startsWith('Terminated');
}

/** The pod has been told to end, or has ended already. */
export function isPastSyncing(state: string): boolean {
  return isEndingState(state) || isTerminated(state);
}

/** What the judges ask the simulated runtime itself: what really runs, and which calls are in flight. */
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
