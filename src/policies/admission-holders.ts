import type { Pod } from '../types/kubernetes.ts';
import { isTerminalPhase } from './pod-termination.ts';

/** What the pod's actor knows of it. */
export interface PodLife {
  /** It has been asked to end, or ends by itself. */
  readonly terminationRequested: boolean;
  /** Nothing of it runs, and nothing will. */
  readonly terminated: boolean;
}

/**
 * Whether the pod still holds resources of the node: one that is ending does, whatever its phase; one that has ended, or
 * that had run to its end before this agent came, does not.
 */
export function holdsResources(pod: Pod, { terminationRequested, terminated }: PodLife): boolean {
  return !terminated && (terminationRequested || !isTerminalPhase(pod.status?.phase));
}
