import { isMirrorPodOf } from '../../policies/cluster/mirror-pod.ts';
import {
  CONFIG_MIRROR_ANNOTATION,
  isMirrorPod,
  isStaticPod,
  podFullName,
} from '../../policies/pod/pod-kinds.ts';
import type { Pod } from '../../../types/kubernetes.ts';

/**
 * The pods that the sources want on this node (the kubelet's pod manager): by UID, with mirror pods beside their static pods. A
 * mirror pod belongs to the static pod of its full name; the API server knows the static pod by the UID of the mirror pod.
 */
export class DesiredPods {
  readonly #pods = new Map<string, Pod>();
  readonly #mirrors = new Map<string, Pod>();
  /** Of several pods of one full name, the one that came last. */
  readonly #podsByName = new Map<string, Pod>();
  readonly #mirrorsByName = new Map<string, Pod>();
  /** The UIDs of static pods by those of their mirror pods. */
  readonly #translations = new Map<string, string>();

  /** UIDs of mirror pods whose static pods have ended. */
  readonly #outlived = new Set<string>();

  set(pod: Pod): { readonly isMirror: boolean } {
    const name = podFullName(pod);
    if (isMirrorPod(pod)) {
      this.#mirrors.set(pod.metadata.uid, pod);
      this.#mirrorsByName.set(name, pod);
      this.#pair(pod, this.#podsByName.get(name));
      return { isMirror: true };
    }
    this.#pods.set(pod.metadata.uid, pod);
    this.#podsByName.set(name, pod);
    this.#pair(this.#mirrorsByName.get(name), pod);
    return { isMirror: false };
  }

  delete(pod: Pod): void {
    const { uid } = pod.metadata;
    const name = podFullName(pod);
    if (isMirrorPod(pod)) {
      this.#mirrors.delete(uid);
      this.#mirrorsByName.delete(name);
      this.#translations.delete(uid);
      this.#outlived.delete(uid);
    } else {
      this.#pods.delete(uid);
      this.#podsByName.delete(name);
    }
  }

  clear(): void {
    for (const index of this.#indices()) index.clear();
    this.#outlived.clear();
  }

  get(uid: string): Pod | undefined {
    return this.#pods.get(uid);
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  keys(): Iterable<string> {
    return this.#pods.keys();
  }

  /** Without mirror pods. */
  pods(): Iterable<Pod> {
    return this.#pods.values();
  }

  mirrorPods(): Iterable<Pod> {
    return this.#mirrors.values();
  }

  getByFullName(fullName: string): Pod | undefined {
    return this.#podsByName.get(fullName);
  }

  mirrorPodOf(pod: Pod): Pod | undefined {
    return this.#mirrorsByName.get(podFullName(pod));
  }

  /** Only if it was made of this version of the static pod, in its present life. */
  ownMirrorPodOf(pod: Pod): Pod | undefined {
    const mirrorPod = this.mirrorPodOf(pod);
    const isOwn = mirrorPod !== undefined && isMirrorPodOf(mirrorPod, pod) && !this.isOutlived(mirrorPod);
    return isOwn ? mirrorPod : undefined;
  }

  /** The static pod of that UID is over. If the same manifest is wanted again, it gets another mirror pod. */
  outlive(staticUID: string): void {
    for (const { metadata } of this.#mirrors.values())
      if (metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] === staticUID) this.#outlived.add(metadata.uid);
  }

  isOutlived(mirrorPod: Pod): boolean {
    return this.#outlived.has(mirrorPod.metadata.uid);
  }

  /** Of several pods of one name, the one that came last. */
  staticPodOf(mirrorPod: Pod): Pod | undefined {
    const name = podFullName(mirrorPod);
    return (
      this.#podsByName.get(name) ?? [...this.#pods.values()].findLast((pod) => podFullName(pod) === name)
    );
  }

  /** The UID under which this node knows the pod: for a mirror pod that of its static pod. */
  translateUID(uid: string): string {
    return this.#translations.get(uid) ?? uid;
  }

  /** The same, but not for a mirror pod of an earlier version or an earlier life of the static pod. */
  ownUIDOf(uid: string): string {
    if (this.#outlived.has(uid)) return uid;
    const mirrorPod = this.#mirrors.get(uid);
    return mirrorPod?.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] ?? this.translateUID(uid);
  }

  /** UIDs of static pods and their mirror pods, in both directions; an empty UID where there is no mirror pod. */
  uidTranslations(): {
    readonly podToMirror: ReadonlyMap<string, string>;
    readonly mirrorToPod: ReadonlyMap<string, string>;
  } {
    const podToMirror = new Map<string, string>();
    for (const [uid, pod] of this.#pods) if (isStaticPod(pod)) podToMirror.set(uid, '');
    for (const [mirror, uid] of this.#translations) podToMirror.set(uid, mirror);
    return { podToMirror, mirrorToPod: new Map(this.#translations) };
  }

  /** Mirror pods for whose full names no source wants a pod. */
  orphanedMirrorPods(): Pod[] {
    return [...this.#mirrorsByName].filter(([name]) => !this.#podsByName.has(name)).map(([, pod]) => pod);
  }

  #pair(mirrorPod: Pod | undefined, pod: Pod | undefined): void {
    if (mirrorPod !== undefined && pod !== undefined)
      this.#translations.set(mirrorPod.metadata.uid, pod.metadata.uid);
  }

  #indices(): readonly Map<string, unknown>[] {
    return [this.#pods, this.#mirrors, this.#podsByName, this.#mirrorsByName, this.#translations];
  }
}
