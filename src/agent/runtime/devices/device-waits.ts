/** Which pods wait for which plugins now. */
import type { Clock } from '../../../types/clock.ts';
import type { PluginWait } from '../../policies/pod/pod-wait.ts';

interface PodWait extends PluginWait {
  readonly uid: string;
}

export class DeviceWaits {
  readonly #clock: Clock;
  readonly #waits = new Set<PodWait>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The one that has lasted longest. */
  of(uid: string): PluginWait | undefined {
    for (const wait of this.#waits) if (wait.uid === uid) return wait;
    return undefined;
  }

  async during<T>(wait: Omit<PodWait, 'since'>, answer: Promise<T>): Promise<T> {
    const noted = { ...wait, since: this.#clock.now() };
    this.#waits.add(noted);
    try {
      return await answer;
    } finally {
      this.#waits.delete(noted);
    }
  }
}
