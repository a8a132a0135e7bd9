/** How far one incarnation of a pod has come, by what its actor has shown. */
import type { Pod } from '../../types/kubernetes.ts';
import { EndOrders } from './end-orders.ts';
import { NEW } from './pod-states.ts';

export interface PodProgress {
  readonly uid: string;
  readonly name: string;
  readonly fullName: string;
  /** Of Syncing, Terminating and Terminated: 0, 1 and 2. */
  rank: number;
  graceSeconds: number;
  /** `Syncing.Working`. */
  state: string;
  /** It was allowed to start. */
  hasStarted: boolean;
  readonly orders: EndOrders;
  /** The pod that the last sync was given. */
  synced: Pod | undefined;
}

export function newProgress(uid: string, fullName: string): PodProgress {
  const [name = ''] = fullName.split('_');
  return {
    uid,
    name,
    fullName,
    rank: 0,
    graceSeconds: Infinity,
    state: NEW,
    hasStarted: false,
    orders: new EndOrders(),
    synced: undefined,
  };
}

export function inState(progress: PodProgress | undefined): string {
  return progress === undefined ? 'for a pod that has no actor' : `in ${progress.state}`;
}
