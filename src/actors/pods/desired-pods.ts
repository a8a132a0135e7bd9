import { isMirrorPod, podFullName } from '../../policies/pod/pod-kinds.ts';
import type { Pod } from '../../types/kubernetes.ts';

/** The pods that the sources want on this node (the kubelet's pod manager): by UID, with mirror pods beside their static pods. */
export class DesiredPods {
  readonly #pods = new Map<string, Pod>();
  readonly #mirrors = new Map<string, Pod>();

  set(pod: Pod): { readonly isMirror: boolean } {
    if (isMirrorPod(pod)) {
      this.#mirrors.set(podFullName(pod), pod);
      return { isMirror: true };
    }
    this.#pods.set(pod.metadata.uid, pod);
    return { isMirror: false };
  }

  delete(pod: Pod): void {
    if (isMirrorPod(pod)) this.#mirrors.delete(podFullName(pod));
    else this.#pods.delete(pod.metadata.uid);
  }

  clear(): void {
    this.#pods.clear();
    this.#mirrors.clear();
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

  /** Of several pods of one name, the one that came last. */
  staticPodOf(mirrorPod: Pod): Pod | undefined {
    const name = podFullName(mirrorPod);
    return [...this.#pods.values()].findLast((pod) => podFullName(pod) === name);
  }
}
