import type { ContainerEvent, ContainerEventType, PodSandboxMetadata } from '../../../types/cri.ts';

/** An event as a runtime tells it. */
export interface Happening {
  readonly id: string;
  readonly type: ContainerEventType;
  /** Unix nanoseconds. */
  readonly createdAt: number;
  /** The runtime may still show the state from before. */
  readonly early?: boolean;
  /** Where it is known already. */
  readonly pod?: PodSandboxMetadata;
}

export interface HintsOptions {
  /** Undefined where it is not known, at least not yet. */
  readonly podOf: (id: string) => PodSandboxMetadata | undefined;
  /** Asks the runtime. */
  readonly lookUp: (id: string) => Promise<PodSandboxMetadata | undefined>;
  /** Resolves once the runtime shows what has happened; with the time in Unix nanoseconds, unless that is the event's own. */
  readonly whenShown: (happening: Happening) => Promise<number | undefined>;
  readonly emit: (event: ContainerEvent) => void;
}

/** Makes hints of happenings: finds the pod, waits where the runtime is behind itself, and keeps the order of each id. */
export class Hints {
  readonly #options: HintsOptions;
  readonly #queues = new Map<string, Promise<void>>();

  constructor(options: HintsOptions) {
    this.#options = options;
  }

  tell(happening: Happening): void {
    const { id, early } = happening;
    const before = this.#queues.get(id);
    const pod = happening.pod ?? this.#options.podOf(id);
    if (before === undefined && pod !== undefined && early !== true) {
      this.#emit(happening, pod);
      return;
    }
    const queue = (before ?? Promise.resolve())
      .then(() => this.#tellLater(happening))
      .finally(() => {
        if (this.#queues.get(id) === queue) this.#queues.delete(id);
      });
    this.#queues.set(id, queue);
  }

  /** What cannot be found out is not told: the relist will see it. */
  async #tellLater(happening: Happening): Promise<void> {
    const { podOf, lookUp, whenShown } = this.#options;
    const { id, early } = happening;
    try {
      const pod = happening.pod ?? podOf(id) ?? (await lookUp(id));
      if (pod === undefined) return;
      const shownAt = early === true ? await whenShown(happening) : undefined;
      this.#emit({ ...happening, createdAt: shownAt ?? happening.createdAt }, pod);
    } catch {
      // The runtime does not answer, or was closed.
    }
  }

  #emit({ id, type, createdAt }: Happening, podSandboxMetadata: PodSandboxMetadata): void {
    this.#options.emit({ containerId: id, containerEventType: type, createdAt, podSandboxMetadata });
  }
}
