import type { PodReference } from '../../../types/event-recorder.ts';
import { type Logger, podFields } from '../../../types/logger.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../types/runtime-pod.ts';

/** Logs the end of each container instance once. Instances that had ended before the agent started are not logged. */
export class ContainerExitLog {
  readonly #logger: Logger;
  /** Ids of the instances that have been logged or need not be, by the UID of the pod. */
  readonly #known = new Map<string, Set<string>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Called with each status that is read of the pod. */
  read(pod: PodReference, podStatus: RuntimePodStatus): void {
    const { containers } = podStatus;
    const ended = containers.filter(({ state }) => state === 'exited');
    const known = this.#known.get(pod.uid);
    if (known !== undefined) {
      for (const instance of ended.sort((a, b) => a.finishedAt - b.finishedAt)) this.tell(pod, instance);
    }
    // An instance that has been logged may still run in a pod status that was read earlier.
    const kept = containers.filter(({ id, state }) => state === 'exited' || known?.has(id));
    this.#known.set(pod.uid, new Set(kept.map(({ id }) => id)));
  }

  /** The instance has ended. The pod was not read to find this out. */
  tell(pod: PodReference, instance: EndedInstance): void {
    const { id, name: container, restartCount: attempt, exitCode, reason } = instance;
    const known = this.#known.get(pod.uid) ?? new Set();
    if (known.has(id)) return;
    this.#known.set(pod.uid, known.add(id));
    const how = { exitCode, ...(reason !== '' && { exitReason: reason }) };
    this.#logger.info({ ...podFields(pod), container, attempt, ...how }, `Container ended: ${container}`);
  }

  forget(uid: string): void {
    this.#known.delete(uid);
  }
}

export type EndedInstance = Pick<
  RuntimeContainerStatus,
  'id' | 'name' | 'restartCount' | 'exitCode' | 'reason'
>;
