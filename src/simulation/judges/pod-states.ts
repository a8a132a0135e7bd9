/** The states of the pod's chart, as the judges and the history name them. */

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
