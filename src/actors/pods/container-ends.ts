import type { PodReference } from '../../types/event-recorder.ts';
import { type Logger, podFields } from '../../types/logger.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../types/runtime-pod.ts';

/** Tells of each instance of a container that has ended, once. Those that had ended before the agent came are no news. */
export class ContainerEnds {
  readonly #logger: Logger;
  /** Instances that have been told of, or need not be, by the pod's UID. */
  readonly #known = new Map<string, Set<string>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The pod has been read. */
  read(pod: PodReference, podStatus: RuntimePodStatus): void {
    const { containers } = podStatus;
    const ended = containers.filter(({ state }) => state === 'exited');
    const known = this.#known.get(pod.uid);
    if (known !== undefined) {
      for (const instance of ended.sort((a, b) => a.finishedAt - b.finishedAt)) this.tell(pod, instance);
    }
    // One that is told of may still be seen running by whoever looks at what was read before.
    const kept = containers.filter(({ id, state }) => state === 'exited' || known?.has(id));
    this.#known.set(pod.uid, new Set(kept.map(({ id }) => id)));
  }

  /** The instance has ended, which is seen without the pod being read. */
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
