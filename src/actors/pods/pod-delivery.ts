import type { PodMachine, PodRegistry } from './pod-registry.ts';
import { deletionKill, showsNoRunningContainer } from '../../policies/termination/ended-pod.ts';
import { RUNTIME_ONLY_GRACE_PERIOD_SECONDS } from '../../policies/termination/pod-termination.ts';
import type { Pleg } from '../../runtime/pleg/pleg.ts';
import type { PodNode } from '../../runtime/node/pod-node.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import { type Logger, podFields } from '../../types/logger.ts';
import type { PodStarts } from '../start/pod-starts.ts';
import type { EndedPods } from './ended-pods.ts';
import type { StatusManager } from './status-manager.ts';

export interface PodDeliveryOptions {
  readonly registry: PodRegistry;
  /** With its effects provided. */
  readonly machine: PodMachine;
  readonly pleg: Pleg;
  readonly node: Pick<PodNode, 'unsupportedFields'>;
  readonly starts: PodStarts;
  readonly ended: Pick<EndedPods, 'of'>;
  readonly statusManager: Pick<StatusManager, 'restore'>;
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
    const { registry, pleg, starts, ended } = this.#options;
    const { uid } = pod.metadata;
    const isNew = registry.get(uid) === undefined;
    if (isNew) {
      this.spawn(pod.metadata);
      if (pleg.runtimeHolds(uid) === 'running') starts.adoptRoom(pod);
    }
    const end = isNew ? ended.of(pod) : undefined;
    if (end === undefined) registry.send(uid, { type, pod });
    else if (end.status === undefined)
      registry.send(uid, { type: 'SyncPodKill', pod, options: deletionKill(end) });
    else registry.send(uid, { type, pod: this.#restored(pod, end.status) });
  }

  /** A pod that ended under an earlier agent. If that was killed meanwhile, something may still run, or its end was not seen. */
  #restored(pod: Pod, status: PodStatus): Pod {
    const { statusManager, pleg } = this.#options;
    const ended = { ...pod, status };
    if (showsNoRunningContainer(status) && pleg.runtimeHolds(pod.metadata.uid) !== 'running')
      statusManager.restore(ended);
    return ended;
  }

  #warnOfUnsupported(pod: Pod): void {
    const { node, logger } = this.#options;
    const fields = node.unsupportedFields(pod);
    if (fields.length === 0) return;
    const message = `Not supported on this node, without effect: ${fields.join(', ')}`;
    logger.warn(podFields(pod.metadata), message);
  }
}
