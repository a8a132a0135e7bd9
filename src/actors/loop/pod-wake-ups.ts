import type { Pleg } from '../../runtime/pleg/pleg.ts';
import type { PodEffects } from '../pods/pod-actor.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';
import type { PodStarts } from '../start/pod-starts.ts';

export interface PodWakeUpsOptions {
  readonly registry: PodRegistry;
  readonly pleg: Pleg;
  readonly starts: PodStarts;
  readonly effects: Pick<PodEffects, 'refreshStatus'>;
}

/** Makes a pod look at the world again: its deadline has come (`SYNC`), the runtime (`PLEG`) or a probe (`PROBE`) has news of it. */
export class PodWakeUps {
  readonly #options: PodWakeUpsOptions;

  constructor(options: PodWakeUpsOptions) {
    this.#options = options;
  }

  sync(uid: string): void {
    this.#options.registry.send(uid, { type: 'SyncPodSync' });
  }

  /** A pod that is ending is not synced any more, but its status still shows whether it is ready. */
  probed(uid: string): void {
    const { registry, effects } = this.#options;
    this.sync(uid);
    const snapshot = registry.get(uid)?.actor.getSnapshot();
    if (snapshot === undefined || !snapshot.hasTag('containersTerminating') || snapshot.hasTag('terminated'))
      return;
    effects.refreshStatus(snapshot.context);
  }

  /** A pod without an actor holds its name while it runs. */
  runtimeChanged(uid: string): void {
    const { registry, pleg, starts } = this.#options;
    if (registry.send(uid, { type: 'SyncPodSync' })) return;
    const pod = pleg.lastSeen(uid);
    if (pod !== undefined && pleg.runtimeHolds(uid) !== 'running') starts.nameFreed(pod);
  }
}
