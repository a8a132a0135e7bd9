import { BehaviorSubject } from 'rxjs';
import type { SourceUpdate } from '../../sources/source.ts';
import type { Pod, PodStatus } from '../../types/kubernetes.ts';

export type SourceName = 'file' | 'api';

interface Wanted {
  readonly source: SourceName;
  readonly pod: Pod;
}

const EMPTY: SourceUpdate = { pods: [], problems: [] };

/** The pods that are wanted on a simulated node, by manifest files and an API server. They outlive the agents. One pod per name. */
export class SimulatedSources {
  readonly lists: Readonly<Record<SourceName, BehaviorSubject<SourceUpdate>>> = {
    file: new BehaviorSubject<SourceUpdate>(EMPTY),
    api: new BehaviorSubject<SourceUpdate>(EMPTY),
  };
  readonly #wanted = new Map<string, Wanted>();
  /** UIDs of the pods that were deleted or removed at any time. */
  readonly #endAsked = new Set<string>();
  /** By name, the last pod of that name, as it was before its deletion. */
  readonly #last = new Map<string, Wanted>();

  get(name: string): Pod | undefined {
    return this.#wanted.get(name)?.pod;
  }

  get pods(): readonly Pod[] {
    return [...this.#wanted.values()].map(({ pod }) => pod);
  }

  /** Whether the pod was deleted or removed at any time, even if it is wanted again. */
  hasAskedForEnd(uid: string): boolean {
    return this.#endAsked.has(uid);
  }

  /** Replaces the pod of that name, like a changed manifest, or a pod that was deleted by force and created again. */
  create(source: SourceName, pod: Pod): void {
    this.remove(pod.metadata.name);
    this.#set({ source, pod });
  }

  /** Creates the last pod of that name again, with its UID. */
  createAgain(name: string): void {
    const last = this.#last.get(name);
    if (last !== undefined && !this.#wanted.has(name)) this.#set(last);
  }

  change(name: string, change: (pod: Pod) => Pod): void {
    const wanted = this.#wanted.get(name);
    if (wanted !== undefined) this.#set({ source: wanted.source, pod: change(wanted.pod) });
  }

  /**
   * At the API server, a second deletion can only shorten the grace period. A manifest is removed at once. `now`: in RFC 3339.
   */
  delete(name: string, graceSeconds: number, now: string): void {
    if (this.#wanted.get(name)?.source !== 'api') {
      this.remove(name);
      return;
    }
    this.change(name, (pod) => {
      this.#endAsked.add(pod.metadata.uid);
      const before = pod.metadata.deletionGracePeriodSeconds ?? Infinity;
      const deletionGracePeriodSeconds = Math.min(before, graceSeconds);
      return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: now, deletionGracePeriodSeconds } };
    });
  }

  /** A pod has ended: the API server removes it if it was deleted, and else stores its status. */
  ended({ name, uid }: { readonly name: string; readonly uid: string }, status: PodStatus | undefined): void {
    const wanted = this.#wanted.get(name);
    if (wanted?.source !== 'api' || wanted.pod.metadata.uid !== uid) return;
    if (wanted.pod.metadata.deletionTimestamp !== undefined) this.remove(name);
    else if (status !== undefined) this.change(name, (pod) => ({ ...pod, status }));
  }

  remove(name: string): void {
    const wanted = this.#wanted.get(name);
    if (wanted === undefined) return;
    this.#wanted.delete(name);
    this.#endAsked.add(wanted.pod.metadata.uid);
    this.#publish(wanted.source);
  }

  clear(): void {
    for (const { metadata } of this.pods) this.#endAsked.add(metadata.uid);
    this.#wanted.clear();
    this.#publish('file');
    this.#publish('api');
  }

  #set(wanted: Wanted): void {
    const { metadata } = wanted.pod;
    this.#wanted.set(metadata.name, wanted);
    if (metadata.deletionTimestamp === undefined) this.#last.set(metadata.name, wanted);
    this.#publish(wanted.source);
  }

  #publish(source: SourceName): void {
    const wanted = [...this.#wanted.values()].filter((one) => one.source === source);
    this.lists[source].next({ pods: wanted.map(({ pod }) => pod), problems: [] });
  }
}
