/** Checks at the end, when nothing fails any more, that the API server has everything. */
import { isMirrorPod } from '../../../agent/policies/pod/pod-kinds.ts';
import type { Node, Pod, PodStatus } from '../../../types/kubernetes.ts';
import { containerStartedAgain, isTerminal } from '../../api/served-pod-rules.ts';
import { localUID } from './pod-object-judge.ts';

export interface ApiCheckFacts {
  /** All pods at the API server. */
  readonly pods: readonly Pod[];
  readonly node: Node | undefined;
  /** The static pods that are wanted. */
  readonly staticPods: readonly Pod[];
  /** Whether the pod was started and goes on: only such a static pod must have a mirror pod. */
  readonly isStarted: (uid: string) => boolean;
  /** Whether this agent has let the pod start, and has not begun its life anew since. */
  readonly hasStarted: (uid: string) => boolean;
  /** Whether a person has deleted the static pod on the node: then it has no mirror pod. */
  readonly isDeletedByHand: (uid: string) => boolean;
  /** The status that the agent has of a pod. */
  readonly statusOf: (uid: string) => PodStatus | undefined;
  /** Whether the pod is finished for the agent, or the agent does not know it. */
  readonly hasEnded: (uid: string) => boolean;
  readonly leaseOverdueMs: number;
}

export interface ApiFinding {
  readonly uid?: string;
  readonly name?: string;
  readonly what: string;
}

/** The first thing that is missing at the API server, if any. */
export function findUntold(facts: ApiCheckFacts): ApiFinding | undefined {
  const ready = facts.node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  if (ready !== 'True') return { what: `the node is there as Ready ${ready ?? 'unknown'}` };
  if (facts.leaseOverdueMs > 0) return { what: 'the lease has run out' };
  for (const pod of facts.pods) {
    const what = isMirrorPod(pod) ? whyWrongMirror(facts, pod) : whyUntold(facts, pod);
    if (what !== undefined) return { uid: localUID(pod), name: pod.metadata.name, what };
  }
  const mirrored = new Set(facts.pods.filter(isMirrorPod).map(localUID));
  const missing = facts.staticPods.find(
    ({ metadata: { uid } }) => facts.isStarted(uid) && !mirrored.has(uid),
  );
  return missing && { uid: missing.metadata.uid, name: missing.metadata.name, what: 'has no mirror pod' };
}

function whyWrongMirror({ staticPods, ...facts }: ApiCheckFacts, mirror: Pod): string | undefined {
  const uid = localUID(mirror);
  if (mirror.metadata.deletionTimestamp !== undefined) return 'its mirror pod is being deleted';
  const wanted = staticPods.find(({ metadata }) => metadata.name === mirror.metadata.name);
  if (wanted === undefined) return 'has a mirror pod, and is not wanted';
  if (facts.isDeletedByHand(wanted.metadata.uid)) return 'has a mirror pod, and was deleted by hand';
  if (wanted.metadata.uid === uid) {
    // A static pod that waits for its next start, or was ended before it, still has the mirror pod that shows its former end.
    if (isTerminal(mirror) && !facts.hasStarted(uid)) return undefined;
    const known = facts.statusOf(uid);
    // As with the kubelet, the next agent knows nothing of a container that was removed. The server refuses its status, in which the container has
    // not ended.
    const isRefused = known && containerStartedAgain(mirror.spec, mirror.status, known) !== undefined;
    return isRefused ? undefined : whyOtherStatus(known, mirror);
  }
  // As with the kubelet, only a sync replaces the mirror pod of another version.
  return facts.isStarted(wanted.metadata.uid) ? 'has the mirror pod of another version' : undefined;
}

function whyUntold({ hasEnded, statusOf }: ApiCheckFacts, pod: Pod): string | undefined {
  const { uid, deletionTimestamp } = pod.metadata;
  if (hasEnded(uid)) {
    if (deletionTimestamp !== undefined) return 'has ended, and its object is left';
    if (!isTerminal(pod)) return `has ended, and is there in phase ${pod.status?.phase ?? 'none'}`;
  }
  return whyOtherStatus(statusOf(uid), pod);
}

/** Why the status at the API server is not the agent's, if so. */
function whyOtherStatus(known: PodStatus | undefined, { status: stored }: Pod): string | undefined {
  if (known === undefined) return undefined;
  for (const part of [phase, restarts, readiness]) {
    const [here, there] = [part(known), part(stored ?? {})];
    if (here !== there) return `is ${here} here and ${there} at the API server`;
  }
  return undefined;
}

const phase = (status: PodStatus): string => `${status.phase ?? 'none'} ${status.reason ?? ''}`.trim();

const restarts = ({ containerStatuses = [] }: PodStatus): string =>
  containerStatuses.map(({ name, restartCount }) => `${name} ${String(restartCount)}`).join(', ');

const readiness = ({ conditions = [] }: PodStatus): string =>
  `ready ${conditions.find(({ type }) => type === 'Ready')?.status ?? 'unknown'}`;
