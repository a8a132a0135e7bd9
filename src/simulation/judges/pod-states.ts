/** The states of the pod's chart, as the judges and the history name them. */
import type { PodSnapshot } from '../../actors/pods/pod-registry.ts';

export const AWAITING_START = 'Syncing.AwaitingStart';
export const DRAINING = 'Syncing.Draining';

/** `Syncing.Working`. */
export function stateName({ value }: PodSnapshot): string {
  return Object.entries(value)
    .map(([state, inner]) => `${state}.${inner}`)
    .join(' ');
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
