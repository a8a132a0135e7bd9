/** The entries of a record of the flight recorder. */
import type { Transition, TransitionKind } from '../../types/transition.ts';

/** Where a session comes from. */
export interface SessionFacts {
  /** The version of Statelet. */
  readonly program: string;
  readonly pid: number;
  /** The name of the node. */
  readonly node: string;
}

/** How an actor was: its state, and what its context held as far as it is recorded. */
export interface RecordedSnapshot {
  readonly state: unknown;
  readonly context: Readonly<Record<string, unknown>>;
  /** Something long was cut off. */
  readonly isCut: boolean;
}

/** A transition with further data of the record. */
export interface RecordedTransition {
  readonly type: 'transition';
  readonly transition: Transition;
  /** How the actor was just before it, where that does not follow from its transition before. */
  readonly before?: RecordedSnapshot;
  /** Something long was cut off from its data. */
  readonly isCut?: true;
  /** It has no event of its own: it follows from the actor's transition before. */
  readonly follows?: true;
}

export type RecordEntry =
  | RecordedTransition
  /** An agent began to write. */
  | ({ readonly type: 'began'; readonly atMs: number } & SessionFacts)
  /** The disk was too slow for that many transitions. */
  | { readonly type: 'lost'; readonly atMs: number; readonly count: number }
  /** A session of a version that this reader does not know. */
  | { readonly type: 'unknown'; readonly version: number };

/** The pod in the name of an actor: `web_default UID`, `web_default main readiness UID`. */
export interface ActorOfPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** What it does for the pod: `preemption`, `main readiness`; empty for the pod's own actor. */
  readonly part: string;
}

const OF_POD =
  /^(?:(?<prefix>preemption|pod-kill|resize) )?(?<name>[^ _]+)_(?<namespace>[^ _]+) (?:(?<part>.+) )?(?<uid>[^ ]+)$/u;

/** Whether it belongs to a pod of that name. A static pod is also found without the name of its node. */
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

interface NamedPod {
  readonly uids: Iterable<string>;
  readonly isNamed: (namespace: string, name: string) => boolean;
}

/**
 * Whether the data of an event name a pod: by its UID, alone or at the end of an actor's name, or by namespace and name. `said`: the data
 * as a record's reader gives them.
 */
export function namesPod(said: unknown, pod: NamedPod): boolean {
  if (typeof said === 'string') {
    for (const uid of pod.uids) if (said.endsWith(uid)) return true;
    return false;
  }
  if (typeof said !== 'object' || said === null) return false;
  if (said instanceof Map || said instanceof Set || Array.isArray(said))
    return Array.from(said as Iterable<unknown>).some((item) => namesPod(item, pod));
  const { namespace, name } = said as Readonly<Record<string, unknown>>;
  if (typeof namespace === 'string' && typeof name === 'string' && pod.isNamed(namespace, name)) return true;
  return Object.values(said).some((field) => namesPod(field, pod));
}

/**
 * Transitions that repeat all the time without any news, and would push others out of the record: runs of probes whose result is as before,
 * looks at the node's taints that find nothing to write, resizes that are refused as before, and the supervisor's housekeeping.
 */
export function isRoutine({ chart, event, from, to, guard }: TransitionKind): boolean {
  if (chart === 'probe')
    return (event === 'DUE' && guard === 'isDue') || (event === 'PROBED' && guard === undefined);
  if (chart === 'resize') return from === to && (event === 'UNDER_WAY' || guard === 'isAsBefore');
  if (chart === 'taints') return event === 'xstate.after.look.taints.Settled' || guard === 'isSame';
  return chart === 'supervisor' && event === 'HOUSEKEEPING' && from === to;
}
