import type { PodMachine, PodRegistry } from './pod-registry.ts';
import { RUNTIME_ONLY_GRACE_PERIOD_SECONDS } from '../../policies/sync/pod-termination.ts';
import type { Pleg } from '../../runtime/pleg/pleg.ts';
import type { PodNode } from '../../runtime/node/pod-node.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { type Logger, podFields } from '../../types/logger.ts';
import type { PodStarts } from '../start/pod-starts.ts';

export interface PodDeliveryOptions {
  readonly registry: PodRegistry;
  /** With its effects provided. */
  readonly machine: PodMachine;
  readonly pleg: Pleg;
  readonly node: Pick<PodNode, 'unsupportedFields'>;
  readonly starts: PodStarts;
  readonly logger: Logger;
}

/** Hands pods to their actors, which it spawns where there are none. */
export class PodDelivery {
  readonly #options: PodDeliveryOptions;

  constructor(options: PodDeliveryOptions) {
    this.#options = options;
  }

  create(pod: Pod): void {
    const { registry } = this.#options;
    if (registry.get(pod.metadata.uid) === undefined) this.#warnOfUnsupported(pod);
    this.#deliver(pod, 'SyncPodCreate');
  }

  update(pod: Pod): void {
    this.#deliver(pod, 'SyncPodUpdate');
  }

  /** Ends a pod that only the runtime knows. */
  killRuntimePod(pod: PodReference): void {
    this.spawn(pod);
    this.#options.registry.kill(pod.uid, {
      podTerminationGracePeriodSecondsOverride: RUNTIME_ONLY_GRACE_PERIOD_SECONDS,
    });
  }

  /** A new incarnation; an earlier one of the UID must have been forgotten. */
  spawn({ uid, name, namespace }: PodReference): void {
    const { registry, machine, pleg } = this.#options;
    registry.spawn({ uid, name, namespace }, pleg.runtimeHolds(uid), machine);
  }

  #deliver(pod: Pod, type: 'SyncPodCreate' | 'SyncPodUpdate'): void {
    const { registry, pleg, starts } = this.#options;
    const { uid } = pod.metadata;
    if (registry.get(uid) === undefined) {
      this.spawn(pod.metadata);
      if (pleg.runtimeHolds(uid) === 'running') starts.adoptRoom(pod);
    }
    registry.send(uid, { type, pod });
  }

  #warnOfUnsupported(pod: Pod): void {
    const { node, logger } = this.#options;
    const fields = node.unsupportedFields(pod);
    if (fields.length === 0) return;
    const message = `Not supported on this node, without effect: ${fields.join(', ')}`;
    logger.warn(podFields(pod.metadata), message);
  }
}
