/** The actor of a ResourceClaim, and its effects. */
import { type ActorRefFrom, type SnapshotFrom, waitFor } from 'xstate';
import { resourceClaimMachine } from '../../machines/resource-claim-machine.ts';
import type { ClaimState } from '../../policies/dra/claim-devices.ts';
import type { NodeDrivers } from '../../runtime/dra/node-drivers.ts';
import { StateletError } from '../../../types/errors.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor, requestActor, timedFailures } from '../agent-actor.ts';

type Snapshot = SnapshotFrom<typeof resourceClaimMachine>;

export interface ResourceClaimParts {
  readonly drivers: Pick<NodeDrivers, 'prepare' | 'unprepare'>;
  /** Resolves when the checkpoint names the claims that drivers may have prepared. */
  readonly save: () => Promise<void>;
  /** Called when the state changes, or another pod waits. */
  readonly onStep: (pods: readonly string[]) => void;
  /** Called when the claim is unprepared and no pod uses it. */
  readonly onGone: () => void;
}

export class ResourceClaimActor {
  readonly #context: ActorContext;
  readonly #parts: ResourceClaimParts;
  readonly #actor: ActorRefFrom<typeof resourceClaimMachine>;
  /** How many pods wait for it. */
  #waiting = 0;

  constructor(context: ActorContext, claim: ClaimState, parts: ResourceClaimParts) {
    this.#context = context;
    this.#parts = parts;
    const name = `${claim.namespace}/${claim.name}`;
    this.#actor = agentActor(context, this.#machine(), {
      id: `resourceClaim ${name}`,
      title: `the resource claim ${name}`,
      input: { claim, now: context.clock.now() },
    });
    this.#actor.subscribe(({ context }) => parts.onStep(context.pods));
    this.#actor.start();
  }

  get snapshot(): Snapshot {
    return this.#actor.getSnapshot();
  }

  /** Resolves when it is prepared. Rejects when that has failed, and as soon as the signal aborts. */
  async use(pod: string, signal: AbortSignal): Promise<void> {
    this.#actor.send({ type: 'WANTED', pod, now: this.#context.clock.now() });
    this.#waiting += 1;
    try {
      const snapshot = await waitFor(
        this.#actor,
        (one) => one.matches('Prepared') || one.matches('Failed') || one.status !== 'active',
        { signal },
      );
      if (!snapshot.matches('Prepared')) throw failureIn(snapshot);
    } finally {
      this.#waiting -= 1;
      // If no pod waits any more, the preparation is aborted: a pod that is ending must not get devices.
      if (signal.aborted && this.#waiting === 0)
        this.#actor.send({ type: 'GIVEN_UP', now: this.#context.clock.now() });
    }
  }

  /**
   * Resolves when the pod does not use the claim any more. Rejects if it was the last one and a driver fails to unprepare the
   * claim.
   */
  async leave(pod: string, signal: AbortSignal): Promise<void> {
    this.#actor.send({ type: 'LEFT', pod, now: this.#context.clock.now() });
    const holds = ({ context }: Snapshot) => context.pods.includes(pod);
    const snapshot = await waitFor(
      this.#actor,
      (one) => !holds(one) || one.matches('UnprepareFailed') || one.status !== 'active',
      { signal },
    );
    if (holds(snapshot)) throw failureIn(snapshot);
  }

  stop(): void {
    this.#actor.send({ type: 'STOP' });
  }

  #machine(): typeof resourceClaimMachine {
    const { clock } = this.#context;
    const { drivers, save, onGone } = this.#parts;
    const failureOf = timedFailures(clock);
    return resourceClaimMachine.provide({
      actors: {
        // The checkpoint names the claim before a driver prepares it, so that the next agent can unprepare it.
        prepare: requestActor(async (claim, signal) => {
          await save();
          signal.throwIfAborted();
          return { drivers: await drivers.prepare(claim, claim.asker, signal), now: clock.now() };
        }, failureOf),
        unprepare: requestActor(async (claim, signal) => {
          await drivers.unprepare(claim, claim.asker, signal);
          return clock.now();
        }, failureOf),
      },
      actions: {
        // While an action runs, the actor has not ended yet.
        forget: () => queueMicrotask(onGone),
      },
    });
  }
}

function failureIn({ context: { problem = 'the agent stops' } }: Snapshot): StateletError {
  return new StateletError('Unavailable', problem);
}
