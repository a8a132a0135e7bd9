/** Hears from a runtime itself what starts and ends, in the order in which that happens, whichever daemon lives. */
import type { Observable, Subscription } from 'rxjs';
import type { Labels } from '../runtime-tap.ts';

/** The main process of a container or of a sandbox starts, or has ended. */
export interface Turn {
  readonly id: string;
  readonly starts: boolean;
}

export const POD_UID = 'io.kubernetes.pod.uid';
const POD_NAME = 'io.kubernetes.pod.name';
export const CONTAINER_NAME = 'io.kubernetes.container.name';

export class Witness {
  readonly #turns: Turn[] = [];
  readonly #made: ReadonlyMap<string, Labels>;
  readonly #subscription: Subscription;

  /** `made`: whose each of them is. */
  constructor(turns: Observable<Turn>, made: ReadonlyMap<string, Labels>) {
    this.#made = made;
    this.#subscription = turns.subscribe((turn) => this.#turns.push(turn));
  }

  stop(): void {
    this.#subscription.unsubscribe();
  }

  /** How often the container has been started. */
  starts(uid: string, container: string): number {
    const labels = this.#turns.filter(({ starts }) => starts).map(({ id }) => this.#made.get(id));
    return labels.filter((one) => one?.[POD_UID] === uid && one[CONTAINER_NAME] === container).length;
  }

  /** What ran beside something that it must not run beside. */
  violations(): readonly string[] {
    const running = new Map<string, Labels>();
    const found: string[] = [];
    for (const { id, starts } of this.#turns) {
      const labels = this.#made.get(id);
      running.delete(id);
      if (!starts || labels === undefined) continue;
      for (const other of running.values()) found.push(...conflict(labels, other));
      running.set(id, labels);
    }
    return found;
  }
}

function conflict(one: Labels, other: Labels): string[] {
  if (one[POD_NAME] !== other[POD_NAME]) return [];
  const [what, where] = [one, other].map((labels) => labels[CONTAINER_NAME]);
  const [uid = '', otherUid = ''] = [one, other].map((labels) => labels[POD_UID]);
  if (uid === otherUid)
    return what === where ? [`I10: ${uid} ran ${what ?? 'its sandbox'} twice at once`] : [];
  // A sandbox that lands late may stand beside another incarnation until it is cleared away: nothing runs in it.
  const bothRun = what !== undefined && where !== undefined;
  return bothRun ? [`I6: ${uid} ran ${what} while ${otherUid} ran ${where}`] : [];
}
