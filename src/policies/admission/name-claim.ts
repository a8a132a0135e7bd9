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
