/** The states of the pod's chart, as the judges and the history speak of them. */
import type { PodSnapshot } from '../../actors/pods/pod-registry.ts';

export const AWAITING_START = 'Syncing.AwaitingStart';
export const DRAINING = 'Syncing.Draining';

/** `Syncing.Working`. */
export function stateName({ value }: PodSnapshot): string {
  return Object.entries(value)
    .map(([state, inner]) => `${state}.${inner}`)
    .join(' ');
}

/** Of a pod that has been asked to end, and has not ended. */
export function isEndingState(state: string): boolean {
  return state === DRAINING || state.startsWith('Terminating');
}
