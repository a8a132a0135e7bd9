/**
 * Which dead containers and sandboxes are garbage, by the rules of the kubelet. Those without the label of a pod's UID do not
 * belong to the agent and are kept.
 */
import type { Container, PodSandbox } from '../../../types/cri.ts';
import { POD_UID_LABEL } from '../cri/cri-labels.ts';

export interface ContainerGCPolicy {
  /** A dead container is kept until it is this old. */
  readonly minAgeMs: number;
  /** How many dead instances of one container are kept, the newest ones; negative: all. */
  readonly maxPerPodContainer: number;
  /** How many dead containers are kept on the node; negative: all. */
  readonly maxContainers: number;
}

export const CONTAINER_GC_POLICY: ContainerGCPolicy = {
  minAgeMs: 0,
  maxPerPodContainer: 1,
  maxContainers: -1,
};

/** Whether the runtime must keep nothing of the pod: it has ended and no source wants it, or it is not known. */
export type IsPodRemovable = (uid: string) => boolean;

export interface ContainerGarbage {
  readonly container: Container;
  readonly podUid: string;
  /** It is removed because its pod is, not because there are newer instances. */
  readonly withPod: boolean;
}

export interface ContainerGCFacts {
  readonly containers: readonly Container[];
  /** Unix milliseconds. */
  readonly now: number;
  readonly isPodRemovable: IsPodRemovable;
}

/** The containers to remove, the oldest first. */
export function containerGarbage(
  facts: ContainerGCFacts,
  policy: ContainerGCPolicy,
): readonly ContainerGarbage[] {
  const units = evictable(facts, policy);
  const withPod = units.filter(({ podUid }) => facts.isPodRemovable(podUid));
  const others = units.filter((unit) => !withPod.includes(unit));
  const kept = keptInAll(
    others.map((unit) => newest(unit, policy.maxPerPodContainer)),
    policy.maxContainers,
  );
  return [
    ...withPod.flatMap((unit) => garbageOf(unit, true)),
    ...others.flatMap((unit) => garbageOf(unit, false)).filter(({ container }) => !kept.has(container.id)),
  ].sort((a, b) => a.container.createdAt - b.container.createdAt);
}

/**
 * The sandboxes to remove, the oldest first: those that are not ready and have no container. The newest sandbox of a pod is
 * kept unless the pod is removed.
 */
export function sandboxGarbage(
  sandboxes: readonly PodSandbox[],
  { containers, isPodRemovable }: Pick<ContainerGCFacts, 'containers' | 'isPodRemovable'>,
): readonly PodSandbox[] {
  const inUse = new Set(containers.map(({ podSandboxId }) => podSandboxId));
  const ofPods = Map.groupBy(
    sandboxes.filter(({ labels }) => labels[POD_UID_LABEL]),
    ({ labels }) => labels[POD_UID_LABEL] ?? '',
  );
  return [...ofPods]
    .flatMap(([uid, all]) => (isPodRemovable(uid) ? all : all.toSorted(newestFirst).slice(1)))
    .filter(({ id, state }) => state === 'SANDBOX_NOTREADY' && !inUse.has(id))
    .sort((a, b) => a.createdAt - b.createdAt);
}

/** The dead instances of one container of one pod, the newest first. */
interface Unit {
  readonly podUid: string;
  readonly dead: readonly Container[];
}

function evictable(
  { containers, now, isPodRemovable }: ContainerGCFacts,
  { minAgeMs }: ContainerGCPolicy,
): readonly Unit[] {
  const ofPods = containers.filter(({ labels }) => labels[POD_UID_LABEL]);
  const instances = Map.groupBy(
    ofPods,
    ({ labels, metadata }) => `${labels[POD_UID_LABEL] ?? ''}/${metadata.name}`,
  );
  const lastCreatedAt = (now - minAgeMs) * NS_PER_MS;
  return [...instances.values()].map((all) => {
    const podUid = all[0]?.labels[POD_UID_LABEL] ?? '';
    const sorted = all.toSorted(newestFirst);
    const isBeingStarted = ({ state }: Container, age: number) =>
      age === 0 && state === 'CONTAINER_CREATED' && !isPodRemovable(podUid);
    const dead = sorted.filter(
      (container, age) =>
        container.state !== 'CONTAINER_RUNNING' &&
        container.createdAt <= lastCreatedAt &&
        !isBeingStarted(container, age),
    );
    return { podUid, dead };
  });
}

const NS_PER_MS = 1e6;

function newest({ podUid, dead }: Unit, count: number): Unit {
  return { podUid, dead: count < 0 ? dead : dead.slice(0, count) };
}

/** Each container keeps the same number of instances, at least one. If these are too many, the newest of all are kept. */
function keptInAll(units: readonly Unit[], maxContainers: number): ReadonlySet<string> {
  const ids = (all: readonly Unit[]) => all.flatMap(({ dead }) => dead);
  const withDead = units.filter(({ dead }) => dead.length > 0);
  if (maxContainers < 0 || ids(withDead).length <= maxContainers)
    return new Set(ids(withDead).map(({ id }) => id));
  const share = Math.max(1, Math.floor(maxContainers / withDead.length));
  const shared = ids(withDead.map((unit) => newest(unit, share)));
  const kept = shared.sort((a, b) => b.createdAt - a.createdAt).slice(0, maxContainers);
  return new Set(kept.map(({ id }) => id));
}

function garbageOf({ podUid, dead }: Unit, withPod: boolean): readonly ContainerGarbage[] {
  return dead.map((container) => ({ container, podUid, withPod }));
}

interface Dated {
  readonly metadata: { readonly attempt: number };
  readonly createdAt: number;
}

function newestFirst(a: Dated, b: Dated): number {
  return b.metadata.attempt - a.metadata.attempt || b.createdAt - a.createdAt;
}
