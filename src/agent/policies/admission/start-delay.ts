/** Why a wanted pod has not been started yet, in words for people, and which of several pods with one name may start. */
import type { PodReference } from '../../../types/event-recorder.ts';
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

/** Another pod has the same full name and has not ended: the one that is given. */
export function nameDelay({ namespace, name, uid }: PodReference): StartDelay {
  return {
    reason: 'NameTaken',
    message: `waits for ${namespace}/${name} (UID ${uid}) to end: it has the same name`,
  };
}

/** The pod lacks only resources, and no pod is preempted for it. */
export function roomDelay({ reason, message }: Rejection): StartDelay {
  const lack = placeLack(reason, message);
  return { reason, message: `Waits until others have ended: ${lack ? `${lack} (${message})` : message}` };
}

/** What the pod lacks of CPUs, or of places near each other, by the kubelet's message. */
function placeLack(reason: string, message: string): string | undefined {
  if (reason === 'TopologyAffinityError')
    return "the free devices, CPUs and memory do not lie together as the node's topology policy requires";
  const [, wanted, free] = /not enough cpus .*requested=(\d+), available=(\d+)/u.exec(message) ?? [];
  if (wanted !== undefined && free !== undefined)
    return `it asks for ${wanted} CPUs of its own, and ${free} are free`;
  const [, whole, asked] = /available physical CPUs = (\d+), requested CPUs = (\d+)/u.exec(message) ?? [];
  if (whole === undefined || asked === undefined) return undefined;
  return `it asks for ${asked} CPUs in whole cores, and ${whole} in whole cores are free`;
}

/** `missing`: `cpu=300m`. `ending`: the pods whose end frees it. */
export function preemptionDelay(missing: string, ending: readonly PodReference[]): StartDelay {
  const names = ending.map(({ namespace, name }) => `${namespace}/${name}`).join(', ');
  const [verb, what] = [ending.length === 1 ? 'is' : 'are', missing === '' ? 'room' : missing];
  return { reason: 'MakingRoom', message: `waits for ${what}; ${names} ${verb} ending for it` };
}

/**
 * Which pod may run under a static pod's full name (lifecycle 10, I6): at most one UID holds the name, the others wait in
 * the order in which they asked. There is one claim per name; it is undefined while no pod holds the name.
 */
export interface NameClaim {
  readonly holder: string;
  readonly waiting: readonly string[];
}

export interface ClaimDecision {
  readonly claim: NameClaim | undefined;
  /** The UID that may start now, if any. */
  readonly granted?: string;
}

/** `uid` asks for the name. Asking again changes nothing: the pod keeps its place in the queue. */
export function requestName(claim: NameClaim | undefined, uid: string): ClaimDecision {
  if (claim === undefined) return { claim: { holder: uid, waiting: [] }, granted: uid };
  if (claim.holder === uid) return { claim, granted: uid };
  if (claim.waiting.includes(uid)) return { claim };
  return { claim: { ...claim, waiting: [...claim.waiting, uid] } };
}

/** `uid` has ended, or was deleted while it waited. The next waiting pod, if there is one, gets the name. */
export function releaseName(claim: NameClaim | undefined, uid: string): ClaimDecision {
  if (claim === undefined) return { claim };
  if (claim.holder !== uid) {
    return { claim: { ...claim, waiting: claim.waiting.filter((other) => other !== uid) } };
  }
  const [next, ...waiting] = claim.waiting;
  return next === undefined ? { claim: undefined } : { claim: { holder: next, waiting }, granted: next };
}
