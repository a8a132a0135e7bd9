import type { ContainerEvent, ContainerEventType, PodSandboxMetadata } from '../../../types/cri.ts';

/** An event from the runtime, before its pod is known. */
export interface RawEvent {
  readonly id: string;
  readonly type: ContainerEventType;
  /** Unix nanoseconds. */
  readonly createdAt: number;
  /** Whether the runtime's status may still show the state before the event. */
  readonly early?: boolean;
  /** If the event names the pod. */
  readonly pod?: PodSandboxMetadata;
}

export interface HintsOptions {
  /** Undefined if the pod is not known yet. */
  readonly podOf: (id: string) => PodSandboxMetadata | undefined;
  /** Asks the runtime for the pod. */
  readonly lookUp: (id: string) => Promise<PodSandboxMetadata | undefined>;
  /** Resolves when the runtime's status shows the event: to that time in Unix nanoseconds, or undefined for the event's own time. */
  readonly whenShown: (raw: RawEvent) => Promise<number | undefined>;
  readonly emit: (event: ContainerEvent) => void;
}

/** Turns events into hints: finds the pod, waits until the status shows the event, and keeps the order of each id's events. */
export class Hints {
  readonly #options: HintsOptions;
  readonly #queues = new Map<string, Promise<void>>();

  constructor(options: HintsOptions) {
    this.#options = options;
  }

  tell(raw: RawEvent): void {
    const { id, early } = raw;
    const before = this.#queues.get(id);
    const pod = raw.pod ?? this.#options.podOf(id);
    if (before === undefined && pod !== undefined && early !== true) {
      this.#emit(raw, pod);
      return;
    }
    const queue = (before ?? Promise.resolve())
      .then(() => this.#tellLater(raw))
      .finally(() => {
        if (this.#queues.get(id) === queue) this.#queues.delete(id);
      });
    this.#queues.set(id, queue);
  }

  /** If the pod is not found, there is no hint: the relist will find the change. */
  async #tellLater(raw: RawEvent): Promise<void> {
    const { podOf, lookUp, whenShown } = this.#options;
    const { id, early } = raw;
    try {
      const pod = raw.pod ?? podOf(id) ?? (await lookUp(id));
      if (pod === undefined) return;
      const shownAt = early === true ? await whenShown(raw) : undefined;
      this.#emit({ ...raw, createdAt: shownAt ?? raw.createdAt }, pod);
    } catch {
      // The runtime does not answer, or the connection was closed.
    }
  }

  #emit({ id, type, createdAt }: RawEvent, podSandboxMetadata: PodSandboxMetadata): void {
    this.#options.emit({ containerId: id, containerEventType: type, createdAt, podSandboxMetadata });
  }
}
