/** Which pods wait for which plugins now. */
import { Subject } from 'rxjs';
import type { Clock } from '../../../types/clock.ts';
import type { PluginWait } from '../../policies/pod/pod-wait.ts';
import type { PodWaits } from '../node/pod-waits.ts';

interface NotedWait extends PluginWait {
  readonly uid: string;
}

export class DeviceWaits implements PodWaits {
  readonly waitChanges = new Subject<readonly string[]>();
  readonly #clock: Clock;
  readonly #waits = new Set<NotedWait>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The one that has lasted longest. */
  waitOf(uid: string): PluginWait | undefined {
    for (const wait of this.#waits) if (wait.uid === uid) return wait;
    return undefined;
  }

  async during<T>(wait: Omit<NotedWait, 'since'>, answer: Promise<T>): Promise<T> {
    const noted = { ...wait, since: this.#clock.now() };
    this.#waits.add(noted);
    this.waitChanges.next([wait.uid]);
    try {
      return await answer;
    } finally {
      this.#waits.delete(noted);
      this.waitChanges.next([wait.uid]);
    }
  }
}
