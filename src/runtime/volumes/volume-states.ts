import type { VolumeState } from './kinds/volume-kind.ts';

/** The volumes of all pods, by the UIDs of pods and the names of volumes. */
export class VolumeStates {
  readonly #pods = new Map<string, Map<string, VolumeState>>();

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  of(uid: string, volume: string): VolumeState {
    const pod = this.#pods.get(uid) ?? new Map<string, VolumeState>();
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
