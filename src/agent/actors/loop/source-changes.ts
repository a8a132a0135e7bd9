import { equalJson } from '../../policies/formats/canonical-json.ts';
import { needsReadinessSync } from '../../policies/status/status-changes.ts';
import { Subject } from 'rxjs';
import { byAge, isMirrorPod } from '../../policies/pod/pod-kinds.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import type { EndedPods } from '../pods/ended-pods.ts';
import type { PodLifecycle } from '../pods/pod-lifecycle.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';
import type { PodResizes } from '../resize/pod-resizes.ts';

export interface SourceChangesParts {
  readonly registry: PodRegistry;
  readonly desired: DesiredPods;
  readonly ended: Pick<EndedPods, 'forget'>;
  readonly lifecycle: PodLifecycle;
  readonly resizes: PodResizes;
}

/** Handles the changes of the sources (`CONFIG.*`): updates the desired pods, and passes the changes on to the actors. */
export class SourceChanges {
  /** Emits when a mirror pod has come, changed or gone. */
  readonly mirrorPods = new Subject<void>();
  readonly #context: AgentContext;
  readonly #parts: SourceChangesParts;

  constructor(context: AgentContext, parts: SourceChangesParts) {
    this.#context = context;
    this.#parts = parts;
  }

  add(pods: readonly Pod[], source: string): void {
    this.#log(pods, `Added by source ${source}`);
    const { desired, lifecycle, resizes } = this.#parts;
    for (const pod of pods.toSorted(byAge)) {
      const { isMirror } = desired.set(pod);
      if (isMirror) this.#updateStaticPodOf(pod);
      else lifecycle.create(pod);
    }
    resizes.retry('pods_added');
  }

  update(pod: Pod): void {
    const { desired, ended, lifecycle, resizes } = this.#parts;
    const before = desired.get(pod.metadata.uid);
    const { isMirror } = desired.set(pod);
    if (isMirror) this.#updateStaticPodOf(pod);
    else if (ended.forget(pod.metadata.uid)) lifecycle.create(pod);
    else {
      resizes.updated(before, pod);
      lifecycle.update(pod);
    }
  }

  /** Does not end the pod yet: before all sources have been seen, another one may still want it. */
  drop(pod: Pod): void {
    const { desired, ended } = this.#parts;
    desired.delete(pod);
    ended.forget(pod.metadata.uid);
  }

  /** No source wants them any more. */
  remove(pods: readonly Pod[], source: string): void {
    this.#log(pods, `Removed by source ${source}`);
    for (const pod of pods) {
      if (isMirrorPod(pod)) this.#updateStaticPodOf(pod);
      else this.#parts.lifecycle.endUnwanted(pod.metadata.uid);
    }
    this.#parts.resizes.retry('pods_removed');
  }

  /** Its status at the API server has changed. As a rule this node has written it, and there is nothing to do. */
  reconcile(pod: Pod): void {
    const { desired, registry, resizes } = this.#parts;
    const before = desired.get(pod.metadata.uid);
    desired.set(pod);
    if (!isMirrorPod(pod) && (needsReadinessSync(pod) || !hasSameClaims(before, pod)))
      registry.send(pod.metadata.uid, { type: 'SyncPodSync', pod: resizes.asAllocated(pod) });
  }

  #updateStaticPodOf(mirrorPod: Pod): void {
    const { desired, lifecycle } = this.#parts;
    this.mirrorPods.next();
    const pod = desired.staticPodOf(mirrorPod);
    if (pod !== undefined) lifecycle.update(pod);
  }

  #log(pods: readonly Pod[], message: string): void {
    for (const { metadata } of pods) this.#context.logger.info(podFields(metadata), message);
  }
}

/** Only the status says which claims were made for the pod. */
function hasSameClaims(before: Pod | undefined, { status: after }: Pod): boolean {
  return (['resourceClaimStatuses', 'extendedResourceClaimStatus'] as const).every((field) =>
    equalJson(before?.status?.[field] ?? null, after?.[field] ?? null),
  );
}
