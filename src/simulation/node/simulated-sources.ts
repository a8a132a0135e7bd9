import { BehaviorSubject, filter, map, type Observable, startWith } from 'rxjs';
import type { ObjectReference } from '../../agent/cluster/service/api-resources.ts';
import { equalJson } from '../../agent/policies/formats/canonical-json.ts';
import { CONFIG_HASH_ANNOTATION, isMirrorPod } from '../../agent/policies/pod/pod-kinds.ts';
import type { SourceUpdate } from '../../agent/sources/source.ts';
import type { Pod, PodCondition } from '../../types/kubernetes.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';

export type SourceName = 'file' | 'api' | 'local';

interface Wanted {
  readonly source: SourceName;
  readonly pod: Pod;
}

const EMPTY: SourceUpdate = { pods: [], problems: [] };
const NAMESPACE = 'default';

/**
 * The pods that are wanted on a simulated node, by manifest files, static or not, and by the users of its cluster. They outlive the
 * agents. One pod per name; the mirror pod of a static pod does not count.
 */
export class SimulatedSources {
  readonly file = new BehaviorSubject<SourceUpdate>(EMPTY);
  readonly local = new BehaviorSubject<SourceUpdate>(EMPTY);
  readonly #api: SimulatedApiServer;
  readonly #static = new Map<string, Pod>();
  readonly #local = new Map<string, Pod>();
  /** UIDs of the pods that were deleted or removed at any time. */
  readonly #endAsked = new Set<string>();
  /** UIDs of pods that were created a second time. A real API server never does that, but a list that is too old looks like it. */
  readonly #madeAgain = new Set<string>();
  /** UIDs of pods of manifests that a person deleted on the node at any time. */
  readonly #deletedByHand = new Set<string>();
  /** Those whose manifests have not changed since. */
  readonly #mustStayDeleted = new Set<string>();
  /** UIDs of ordinary pods of manifests that have come to their end, and whose manifests have not gone away since. */
  readonly #mustStayEnded = new Set<string>();
  /** By name, the last pod of that name, as it was before its deletion. */
  readonly #last = new Map<string, Wanted>();

  constructor(api: SimulatedApiServer) {
    this.#api = api;
  }

  get(name: string): Pod | undefined {
    return this.#manifestPod(name) ?? this.#stored(name, 'ordinary');
  }

  get pods(): readonly Pod[] {
    return [
      ...this.#static.values(),
      ...this.#local.values(),
      ...this.objects.filter((pod) => !isMirrorPod(pod)),
    ];
  }

  get staticPods(): readonly Pod[] {
    return [...this.#static.values()];
  }

  /** All pods at the API server, mirror pods included. */
  get objects(): readonly Pod[] {
    return this.#api.store.list('pods') as readonly unknown[] as readonly Pod[];
  }

  /** The UID of the last pod of that name, also if it is gone. */
  lastUID(name: string): string | undefined {
    return this.#last.get(name)?.pod.metadata.uid;
  }

  /** The pod of that name at the API server, also a mirror pod. */
  object(name: string): Pod | undefined {
    return this.#api.store.get('pods', target(name)) as unknown as Pod | undefined;
  }

  /** The pods at the API server, for an agent that gets each change at once. */
  get atOnce(): Observable<SourceUpdate> {
    return this.#api.store.changes.pipe(
      filter(({ resource }) => resource === 'pods'),
      map(() => undefined),
      startWith(undefined),
      map(() => ({ pods: this.objects, problems: [] })),
    );
  }

  /** Whether the pod was deleted or removed at any time, even if it is wanted again. */
  hasAskedForEnd(uid: string): boolean {
    return this.#endAsked.has(uid);
  }

  wasMadeAgain(uid: string): boolean {
    return this.#madeAgain.has(uid);
  }

  /**
   * A person deletes a pod of a manifest, as the agent knows it, on the node. Returns the function to be called when the agent has said that
   * it is done: from then on the pod must stay ended, unless its manifest has changed meanwhile.
   */
  deleteByHand({ metadata, spec }: Pod): () => void {
    const { name, uid, labels } = metadata;
    this.#deletedByHand.add(uid);
    const pod = this.#manifestPod(name);
    // The agent may not have read the newest manifest.
    const isNewest = pod !== undefined && equalJson([pod.metadata.labels, pod.spec], [labels, spec]);
    return () => {
      if (isNewest && this.#manifestPod(name) === pod) this.#mustStayDeleted.add(uid);
    };
  }

  wasDeletedByHand(uid: string): boolean {
    return this.#deletedByHand.has(uid);
  }

  mustStayDeleted(uid: string): boolean {
    return this.#mustStayDeleted.has(uid);
  }

  /** An ordinary pod of a manifest has come to its end: it must not start again, unless its manifest is not there any more. */
  ended(uid: string): void {
    for (const { metadata } of this.#local.values()) if (metadata.uid === uid) this.#mustStayEnded.add(uid);
  }

  mustStayEnded(uid: string): boolean {
    return this.#mustStayEnded.has(uid);
  }

  /** Replaces the pod of that name, like a changed manifest, or a pod that was deleted by force and created again. */
  create(source: SourceName, { metadata, spec }: Pod): void {
    this.remove(metadata.name);
    const bound = { metadata, spec: { ...spec, nodeName: this.#api.nodeName } };
    const annotations = { ...metadata.annotations, [CONFIG_HASH_ANNOTATION]: metadata.uid };
    this.#make({
      source,
      pod: source === 'file' ? { ...bound, metadata: { ...metadata, annotations } } : bound,
    });
  }

  /** Creates the last pod of that name again, with its UID. */
  createAgain(name: string): void {
    const last = this.#last.get(name);
    if (last === undefined || this.get(name) !== undefined) return;
    this.#madeAgain.add(last.pod.metadata.uid);
    this.#make(last);
  }

  change(name: string, change: (pod: Pod) => Pod): void {
    const pod = this.#static.get(name);
    if (pod !== undefined) {
      this.#make({ source: 'file', pod: change(pod) });
      return;
    }
    // A changed manifest is another pod: that is a creation.
    if (this.#local.has(name)) return;
    const stored = this.#stored(name, 'ordinary');
    if (stored === undefined) return;
    const changed = change(stored);
    this.#api.operations.update(target(name), changed);
    const { metadata, spec } = changed;
    if (metadata.deletionTimestamp === undefined)
      this.#last.set(name, { source: 'api', pod: { metadata, spec } });
  }

  /** A manifest is removed at once. */
  delete(name: string, graceSeconds: number): void {
    if (this.#manifestPod(name) !== undefined) {
      this.remove(name);
      return;
    }
    const pod = this.#stored(name, 'ordinary');
    if (pod === undefined) return;
    this.#endAsked.add(pod.metadata.uid);
    this.#api.operations.delete(target(name), { gracePeriodSeconds: graceSeconds });
  }

  /** Somebody deletes the mirror pod of that name. */
  deleteMirror(name: string, graceSeconds: number): void {
    if (this.#stored(name, 'mirror') !== undefined)
      this.#api.operations.delete(target(name), { gracePeriodSeconds: graceSeconds });
  }

  /** A controller of the cluster sets a condition of the pod, or of its mirror pod. */
  setCondition(name: string, condition: PodCondition): void {
    const status = { ...target(name), subresource: 'status' } as const;
    if (this.#api.store.get('pods', status) !== undefined)
      this.#api.operations.patch(status, { status: { conditions: [condition] } });
  }

  /** The pod is gone at once, with its manifest or by force. */
  remove(name: string): void {
    const pod = this.get(name);
    if (pod === undefined) return;
    this.#endAsked.add(pod.metadata.uid);
    this.#mustStayDeleted.delete(pod.metadata.uid);
    this.#mustStayEnded.delete(pod.metadata.uid);
    if (this.#static.delete(name) || this.#local.delete(name)) this.#publish();
    else this.#forceDelete(name);
  }

  /** All manifests are removed, and all other pods deleted. */
  clear(): void {
    for (const { metadata } of this.pods) this.#endAsked.add(metadata.uid);
    this.#static.clear();
    this.#local.clear();
    this.#mustStayDeleted.clear();
    this.#mustStayEnded.clear();
    this.#publish();
    for (const { metadata } of this.pods) this.#api.operations.delete(target(metadata.name));
  }

  #make(wanted: Wanted): void {
    const { source, pod } = wanted;
    const { name, uid } = pod.metadata;
    if (pod.metadata.deletionTimestamp === undefined) this.#last.set(name, wanted);
    // It starts a second time, with another mirror pod.
    if (this.#deletedByHand.has(uid)) this.#madeAgain.add(uid);
    this.#mustStayDeleted.delete(uid);
    if (source !== 'api') {
      (source === 'file' ? this.#static : this.#local).set(name, pod);
      this.#publish();
      return;
    }
    // A mirror pod of a static pod that is gone may be left.
    this.#forceDelete(name);
    this.#api.operations.create({ resource: 'pods', namespace: NAMESPACE }, pod, uid);
  }

  #forceDelete(name: string): void {
    if (this.#api.store.get('pods', target(name)) !== undefined)
      this.#api.operations.delete(target(name), { gracePeriodSeconds: 0 });
  }

  #stored(name: string, kind: 'ordinary' | 'mirror'): Pod | undefined {
    const pod = this.object(name);
    return pod !== undefined && isMirrorPod(pod) === (kind === 'mirror') ? pod : undefined;
  }

  #manifestPod(name: string): Pod | undefined {
    return this.#static.get(name) ?? this.#local.get(name);
  }

  #publish(): void {
    this.file.next({ pods: this.staticPods, problems: [] });
    this.local.next({ pods: [...this.#local.values()], problems: [] });
  }
}

const target = (name: string): ObjectReference => ({ resource: 'pods', namespace: NAMESPACE, name });
