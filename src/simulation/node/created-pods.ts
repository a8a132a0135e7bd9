import type { SourceName } from './simulated-sources.ts';
import type { PodSpec } from '../../types/kubernetes.ts';

interface CreatedPod {
  readonly uid: string;
  readonly name: string;
  readonly source: SourceName;
  readonly spec: PodSpec;
}

/** All pods that a simulation has created on a node, by UID, also pods that are not wanted any more. */
export class CreatedPods {
  readonly #pods = new Map<string, CreatedPod>();
  readonly #resized = new Map<string, readonly PodSpec[]>();

  add(pod: CreatedPod): void {
    this.#pods.set(pod.uid, pod);
  }

  nameOf(uid: string): string | undefined {
    return this.#pods.get(uid)?.name;
  }

  specOf(uid: string): PodSpec | undefined {
    return this.#pods.get(uid)?.spec;
  }

  /** The source wants it with these resources from now on. */
  resized(uid: string, spec: PodSpec): void {
    this.#resized.set(uid, [...(this.#resized.get(uid) ?? []), spec]);
  }

  /** As it was created, and with all resources that it was to have since then. */
  specsOf(uid: string): readonly PodSpec[] {
    const spec = this.specOf(uid);
    return spec ? [spec, ...(this.#resized.get(uid) ?? [])] : [];
  }

  isStatic(uid: string): boolean {
    return this.#pods.get(uid)?.source === 'file';
  }

  /** Whether it is an ordinary pod of a manifest. */
  isLocal(uid: string): boolean {
    return this.#pods.get(uid)?.source === 'local';
  }

  /** Whether the pod came from a manifest: of those with one name, only one may run. */
  isOfManifest(uid: string): boolean {
    return this.isStatic(uid) || this.isLocal(uid);
  }
}
