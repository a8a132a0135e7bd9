/** The states of the pod's chart, as the judges and the history name them. */
import type { PodSnapshot } from '../../actors/pods/pod-registry.ts';

/** The state in which a pod's actor begins. */
export const NEW = 'Syncing.New';
export const DRAINING = 'Syncing.Draining';

/** `Syncing.Working`. */
export function stateName({ value }: PodSnapshot): string {
  return Object.entries(value)
    .map(([state, inner]) => `${state}.${inner}`)
    .join(' ');
}

const BEFORE_THE_START: ReadonlySet<string> = new Set([
  NEW,
  'Syncing.AwaitingRuntime',
  'Syncing.AwaitingRemoval',
  'Syncing.AwaitingName',
  'Syncing.Admitting',
  'Syncing.AwaitingRoom',
  'Syncing.MakingRoom',
]);

/** The pod has not been given leave to start. */
export function isBeforeStart(state: string): boolean {
  return BEFORE_THE_START.has(state);
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
