/** What this agent has set up of a volume. Another agent looks it up on the disk. */
export interface VolumeState<Written> {
  /** The volume as it was set up, so that a changed one is set up again. Undefined until it has been set up. */
  readyAs?: string;
  written?: Written;
  underWay?: Promise<void>;
}

/** The volumes of all pods, by the UIDs of pods and the names of volumes. */
export class VolumeStates<Written> {
  readonly #pods = new Map<string, Map<string, VolumeState<Written>>>();

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  of(uid: string, volume: string): VolumeState<Written> {
    const pod = this.#pods.get(uid) ?? new Map<string, VolumeState<Written>>();
    const state = pod.get(volume) ?? {};
    this.#pods.set(uid, pod.set(volume, state));
    return state;
  }

  /** Runs the work on a volume after all earlier work on it, which its caller may have stopped waiting for. */
  async inTurn(uid: string, volume: string, work: () => Promise<void>): Promise<void> {
    const state = this.of(uid, volume);
    const before = state.underWay;
    const own = before === undefined ? work() : before.then(work, work);
    state.underWay = own;
    try {
      await own;
    } finally {
      if (state.underWay === own) delete state.underWay;
    }
  }

  /** Settles when nothing is being done for a volume of the pod. */
  async atRest(uid: string): Promise<void> {
    const states = [...(this.#pods.get(uid)?.values() ?? [])];
    await Promise.allSettled(states.flatMap(({ underWay }) => underWay ?? []));
  }

  forget(uid: string): void {
    this.#pods.delete(uid);
  }
}
