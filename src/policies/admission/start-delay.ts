/** Why a wanted pod has not been started yet, in words for people. Each of these delays comes to an end. */
import type { PodReference } from '../../types/event-recorder.ts';
import type { Rejection } from './rejection.ts';

export interface StartDelay extends Rejection {
  /** `waits for default/old to end`. */
  readonly message: string;
}

export function runtimeDelay(problem: string): StartDelay {
  return { reason: 'RuntimeNotReady', message: `waits for the container runtime: ${problem}` };
}

export const REMOVAL_DELAY: StartDelay = {
  reason: 'RemovingFormerPod',
  message: 'waits until what is left of an earlier pod of its UID has been removed',
};

/** `holder` has the pod's full name and has not ended. */
export function nameDelay({ namespace, name, uid }: PodReference): StartDelay {
  return {
    reason: 'NameTaken',
    message: `waits for ${namespace}/${name} (UID ${uid}) to end: it has the same name`,
  };
}

/** Nothing but room is missing, and no pod is ended for this one. */
export function roomDelay({ reason, message }: Rejection): StartDelay {
  return { reason, message: `Waits until others have ended: ${message}` };
}

/** `missing`: `cpu=300m`. `ending`: the pods whose end frees it. */
export function preemptionDelay(missing: string, ending: readonly PodReference[]): StartDelay {
  const names = ending.map(({ namespace, name }) => `${namespace}/${name}`).join(', ');
  const [verb, what] = [ending.length === 1 ? 'is' : 'are', missing === '' ? 'room' : missing];
  return { reason: 'MakingRoom', message: `waits for ${what}; ${names} ${verb} ending for it` };
}
