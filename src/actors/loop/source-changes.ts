import { isMirrorPod } from '../../policies/pod/pod-kinds.ts';
import { needsReadinessSync } from '../../policies/status/status-changes.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { type Logger, podFields } from '../../types/logger.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import type { EndedPods } from '../pods/ended-pods.ts';
import type { PodDelivery } from '../pods/pod-delivery.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';
import type { PodRetirement } from '../pods/pod-retirement.ts';

export interface SourceChangesOptions {
  readonly registry: PodRegistry;
  readonly desired: DesiredPods;
  readonly ended: Pick<EndedPods, 'forget'>;
  readonly delivery: PodDelivery;
  readonly retirement: PodRetirement;
  /** Begins the life of a pod on this node. */
  readonly create: (pod: Pod) => void;
  /** A mirror pod has come. */
  readonly onMirrorPod: (() => void) | undefined;
  readonly logger: Logger;
}

/** What the sources say of their pods (`CONFIG.*`): the desired pods follow it, and the pods' actors are told. */
export class SourceChanges {
  readonly #options: SourceChangesOptions;

  constructor(options: SourceChangesOptions) {
    this.#options = options;
  }

  add(pods: readonly Pod[], source: string): void {
    this.#log(pods, `Added by source ${source}`);
    const { desired, create } = this.#options;
    const byAge = pods.toSorted((a, b) => age(a).localeCompare(age(b)));
    for (const pod of byAge) {
      const { isMirror } = desired.set(pod);
      if (isMirror) this.#updateStaticPodOf(pod);
      else create(pod);
    }
  }

  update(pod: Pod): void {
    const { desired, ended, delivery, create } = this.#options;
    const { isMirror } = desired.set(pod);
    if (isMirror) this.#updateStaticPodOf(pod);
    else if (ended.forget(pod.metadata.uid)) create(pod);
    else delivery.update(pod);
  }

  /** Nothing is ended yet: before all sources have been seen, another one may still want the pod. */
  drop(pod: Pod): void {
    const { desired, ended } = this.#options;
    desired.delete(pod);
    ended.forget(pod.metadata.uid);
  }

  /** No source wants them any more. */
  remove(pods: readonly Pod[], source: string): void {
    this.#log(pods, `Removed by source ${source}`);
    for (const pod of pods) {
      if (isMirrorPod(pod)) this.#updateStaticPodOf(pod);
      else this.#options.retirement.endUnwanted(pod.metadata.uid);
    }
  }

  /** Its status at the API server has changed. As a rule this node has written it, and there is nothing to do. */
  reconcile(pod: Pod): void {
    const { desired, registry } = this.#options;
    desired.set(pod);
    if (!isMirrorPod(pod) && needsReadinessSync(pod))
      registry.send(pod.metadata.uid, { type: 'SyncPodSync', pod });
  }

  #updateStaticPodOf(mirrorPod: Pod): void {
    const { onMirrorPod, desired, delivery } = this.#options;
    onMirrorPod?.();
    const pod = desired.staticPodOf(mirrorPod);
    if (pod !== undefined) delivery.update(pod);
  }

  #log(pods: readonly Pod[], message: string): void {
    for (const { metadata } of pods) this.#options.logger.info(podFields(metadata), message);
  }
}

function age({ metadata }: Pod): string {
  return metadata.creationTimestamp ?? '';
}
