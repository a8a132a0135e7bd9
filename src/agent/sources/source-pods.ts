import {
  type KnownPods,
  type ListedPod,
  type PodSource,
  podUpdates,
  type PodUpdates,
} from '../policies/pod-actions/wanted-pods.ts';
import { podFullName } from '../policies/pod/pod-kinds.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { changedPart } from './changed-part.ts';

interface Difference extends Omit<PodUpdates, 'known'> {
  /** Pods that are left out because a pod before them in the list has the same UID. */
  readonly repeated: readonly Pod[];
}

/** The pods of a source as it has listed them last. Where a list differs in one pod from the one before, no other pod is looked at. */
export class SourcePods {
  readonly #source: PodSource;
  #listed: readonly Pod[] = [];
  #known = new Map<string, ListedPod>();
  #fullNames = new Set<string>();
  /** All pods of the list have UIDs and full names of their own. */
  #areDistinct = true;

  constructor(source: PodSource) {
    this.#source = source;
  }

  /** How the list differs from the one before. `seenAt` as for `podUpdates`. */
  take(pods: readonly Pod[], seenAt: string): Difference {
    const { removed, added } = changedPart(this.#listed, pods);
    this.#listed = pods;
    if (!this.#areDistinct) return this.#takeAll(pods, seenAt);
    const before = this.#without(removed);
    if (!this.#areNew(added)) {
      this.#keep(before);
      return this.#takeAll(pods, seenAt);
    }
    const { known, updates } = podUpdates(before, this.#source, added, seenAt);
    this.#keep(known);
    return { updates, duplicates: [], repeated: [] };
  }

  #takeAll(pods: readonly Pod[], seenAt: string): Difference {
    const { unique, repeated } = byUid(pods);
    const { known, updates, duplicates } = podUpdates(this.#known, this.#source, unique, seenAt);
    this.#known = new Map();
    this.#fullNames = new Set();
    this.#keep(known);
    this.#areDistinct = repeated.length + duplicates.length === 0;
    return { updates, duplicates, repeated };
  }

  /** Takes them out. */
  #without(pods: readonly Pod[]): KnownPods {
    const taken = new Map<string, ListedPod>();
    for (const pod of pods) {
      const { uid } = pod.metadata;
      const known = this.#known.get(uid);
      if (known !== undefined) taken.set(uid, known);
      this.#known.delete(uid);
      this.#fullNames.delete(podFullName(pod));
    }
    return taken;
  }

  #keep(pods: KnownPods): void {
    for (const [uid, listed] of pods) {
      this.#known.set(uid, listed);
      this.#fullNames.add(podFullName(listed.given));
    }
  }

  /** Each has a UID and a full name that no other pod has. */
  #areNew(pods: readonly Pod[]): boolean {
    const uids = new Set(pods.map(({ metadata }) => metadata.uid));
    const fullNames = new Set(pods.map((pod) => podFullName(pod)));
    if (Math.min(uids.size, fullNames.size) < pods.length) return false;
    for (const uid of uids) if (this.#known.has(uid)) return false;
    for (const fullName of fullNames) if (this.#fullNames.has(fullName)) return false;
    return true;
  }
}

/** The UID alone says which pod is meant, and so no two pods may have one: of several, the first counts. */
function byUid(pods: readonly Pod[]): { unique: readonly Pod[]; repeated: readonly Pod[] } {
  const taken = new Set<string>();
  const repeated: Pod[] = [];
  for (const pod of pods) {
    if (taken.has(pod.metadata.uid)) repeated.push(pod);
    taken.add(pod.metadata.uid);
  }
  return { unique: repeated.length === 0 ? pods : pods.filter((pod) => !repeated.includes(pod)), repeated };
}
