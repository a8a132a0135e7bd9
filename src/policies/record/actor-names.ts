/** What the name of an actor says about whom it serves: `web_default UID`, `web_default main readiness UID`, `eviction`. */

export interface ActorOfPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** What it does for the pod: `preemption`, `main readiness`; empty for the pod's own actor. */
  readonly part: string;
}

const OF_POD =
  /^(?:(?<prefix>preemption|pod-kill) )?(?<name>[^ _]+)_(?<namespace>[^ _]+) (?:(?<part>.+) )?(?<uid>[^ ]+)$/u;

/** Whether it serves a pod of that name. A static pod is also found without the name of its node. */
export function servesPodOf(
  actor: ActorOfPod | undefined,
  { namespace, name }: Pick<ActorOfPod, 'namespace' | 'name'>,
  node: string,
): actor is ActorOfPod {
  if (actor?.namespace !== namespace) return false;
  return actor.name === name || actor.name === `${name}-${node.toLowerCase()}`;
}

/** Undefined for an actor of the node. */
export function podOfActor(actor: string): ActorOfPod | undefined {
  const { prefix = '', name, namespace, part = '', uid } = OF_POD.exec(actor)?.groups ?? {};
  if (name === undefined || namespace === undefined || uid === undefined) return undefined;
  return { namespace, name, uid, part: prefix || part };
}
