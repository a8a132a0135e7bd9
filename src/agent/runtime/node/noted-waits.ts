import { Subject } from 'rxjs';
import type { Clock } from '../../../types/clock.ts';
import type { PluginWait, PodWait, VolumeWait } from '../../policies/pod/pod-wait.ts';
import type { PodWaits } from './pod-waits.ts';

interface Waiting {
  readonly uid: string;
}

type Begun = (Omit<PluginWait, 'since'> | Omit<VolumeWait, 'since'>) & Waiting;

/** Which pods wait for answers of which plugins now. */
export class NotedWaits implements PodWaits {
  readonly waitChanges: Subject<readonly string[]>;
  readonly #clock: Clock;
  readonly #waits = new Set<PodWait & Waiting>();

  constructor(clock: Clock, waitChanges = new Subject<readonly string[]>()) {
    this.#clock = clock;
    this.waitChanges = waitChanges;
  }

  /** The one that has lasted longest. */
  waitOf(uid: string): PodWait | undefined {
    for (const wait of this.#waits) if (wait.uid === uid) return wait;
    return undefined;
  }

  async during<T>(wait: Begun, answer: Promise<T>): Promise<T> {
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
