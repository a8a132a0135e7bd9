import type { Pleg } from '../../runtime/pleg/pleg.ts';
import type { Clock } from '../../types/clock.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import { inTurns } from '../pods/in-turns.ts';
import type { PodDelivery } from '../pods/pod-delivery.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';
import type { PodRetirement } from '../pods/pod-retirement.ts';

export interface ExitWithPodsOptions {
  readonly registry: PodRegistry;
  readonly desired: DesiredPods;
  readonly pleg: Pick<Pleg, 'pods'>;
  readonly delivery: PodDelivery;
  readonly retirement: PodRetirement;
  readonly clock: Clock;
  readonly onAllGone: () => void;
}

/** The exit of an agent that ends its pods before it stops. */
export class ExitWithPods {
  readonly #options: ExitWithPodsOptions;
  #hasBegun = false;

  constructor(options: ExitWithPodsOptions) {
    this.#options = options;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  killAllPods(): void {
    const { registry, desired, pleg, delivery, retirement, clock } = this.#options;
    this.#hasBegun = true;
    desired.clear();
    for (const pod of pleg.pods()) {
      if (registry.get(pod.uid) === undefined) delivery.killRuntimePod(pod);
    }
    const uids = Array.from(registry.entries(), ({ pod }) => pod.uid);
    inTurns(clock, uids, (uid) => retirement.endUnwanted(uid));
    this.reportWhenAllGone();
  }

  reportWhenAllGone(): void {
    const { registry, onAllGone } = this.#options;
    if (this.#hasBegun && registry.size === 0) onAllGone();
  }
}
