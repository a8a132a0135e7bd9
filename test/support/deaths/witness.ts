/** Records the starts and ends of containers in their order, from the runtime itself and not from a daemon. */
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

  /** `made`: the labels of each sandbox and container, which name its pod. */
  constructor(turns: Observable<Turn>, made: ReadonlyMap<string, Labels>) {
    this.#made = made;
    this.#subscription = turns.subscribe((turn) => this.#turns.push(turn));
  }

  stop(): void {
    this.#subscription.unsubscribe();
  }

  /** The number of starts of the container. */
  starts(uid: string, container: string): number {
    const labels = this.#turns.filter(({ starts }) => starts).map(({ id }) => this.#made.get(id));
    return labels.filter((one) => one?.[POD_UID] === uid && one[CONTAINER_NAME] === container).length;
  }

  /** Containers that ran at the same time and must not. */
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
  // A late sandbox may exist beside another incarnation until it is removed: no container runs in it.
  const bothRun = what !== undefined && where !== undefined;
  return bothRun ? [`I6: ${uid} ran ${what} while ${otherUid} ran ${where}`] : [];
}
