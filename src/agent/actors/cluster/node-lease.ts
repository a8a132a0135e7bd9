/** The actor of the node's lease, and its effects. It has nothing in common with the pods but the event loop. */
import type { ActorRefFrom, AnyActorRef } from 'xstate';
import { hasReason, isSameProblem } from '../../cluster/service/api-error.ts';
import type { Collection } from '../../cluster/service/api-resources.ts';
import type { ApiServer } from '../../cluster/service/api-server.ts';
import {
  type LeaseAnswer,
  type LeaseContext,
  type LeaseFailure,
  leaseMachine,
} from '../../machines/lease-machine.ts';
import { LEASE_NAMESPACE, renewalDelayMs, renewedLease } from '../../policies/node/lease-renewal.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Lease } from '../../../types/kubernetes.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor, requestActor } from '../agent-actor.ts';

export interface NodeLeaseParts {
  /** Of the heartbeats. */
  readonly api: ApiServer;
  readonly nodeName: string;
  readonly leaseDurationSeconds: number;
  /** Of a request. */
  readonly timeoutMs: number;
}

export interface NodeLeaseState {
  readonly state: string;
  /** Since when the lease has been in its state: renewed, not renewed, or without a known node. Unix ms. */
  readonly since: number;
  /** Unix ms; undefined if it was not renewed yet. */
  readonly renewedAt: number | undefined;
  /** Why it was not renewed. */
  readonly problem: string | undefined;
}

const COLLECTION: Collection = { resource: 'leases', namespace: LEASE_NAMESPACE };

export class NodeLease {
  readonly #context: ActorContext;
  readonly #parts: NodeLeaseParts;
  readonly #actor: ActorRefFrom<typeof leaseMachine>;

  constructor(context: ActorContext, parts: NodeLeaseParts) {
    this.#context = context;
    this.#parts = parts;
    const input = { now: context.clock.now() };
    this.#actor = agentActor(context, this.#machine(), { id: 'lease', title: "the node's lease", input });
  }

  get actor(): AnyActorRef {
    return this.#actor;
  }

  get current(): NodeLeaseState {
    const { value, context } = this.#actor.getSnapshot();
    const { since, renewedAt, problem } = context;
    return { state: value, since, renewedAt, problem };
  }

  start(): void {
    this.#actor.start();
  }

  /** The Node object with this UID is of this machine: its lease is kept from now on. */
  nodeKnown(uid: string): void {
    this.#actor.send({ type: 'NODE_KNOWN', uid, now: this.#context.clock.now() });
  }

  /** The Node object is gone, or of another machine: the lease is not written any more. */
  nodeLost(): void {
    this.#actor.send({ type: 'NODE_LOST', now: this.#context.clock.now() });
  }

  stop(): void {
    this.#actor.send({ type: 'STOP' });
  }

  #machine(): typeof leaseMachine {
    const { clock, random, logger } = this.#context;
    const { leaseDurationSeconds } = this.#parts;
    const failureOf = (error: unknown): LeaseFailure => ({
      problem: errorMessage(error),
      isOutdated: hasReason(error, 'Conflict') || hasReason(error, 'NotFound'),
      now: clock.now(),
    });
    return leaseMachine.provide({
      actors: {
        ensureLease: requestActor((context, signal) => this.#ensured(context, signal), failureOf),
        renewLease: requestActor((context, signal) => this.#renewed(context, signal), failureOf),
      },
      delays: { renewal: () => renewalDelayMs(leaseDurationSeconds, random()) },
      actions: {
        /** Logs a line for each new problem, not for each try. The context is from before the failure. */
        reportFailure: ({ context, event }) => {
          if (!('error' in event)) return;
          const { problem } = event.error;
          const line = `The node's lease could not be renewed, and is tried again: ${problem}`;
          logger[isSameProblem(problem, context.problem) ? 'debug' : 'warn']({}, line);
        },
        reportRenewal: ({ context }) => {
          if (context.problem !== undefined) logger.info({}, "The node's lease is renewed again");
        },
      },
    });
  }

  async #ensured(context: LeaseContext, signal: AbortSignal): Promise<LeaseAnswer> {
    const { api, nodeName, timeoutMs } = this.#parts;
    const request = { timeoutMs, signal };
    try {
      return { lease: await api.get<Lease>({ ...COLLECTION, name: nodeName }, request) };
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
    }
    const lease = await api.create<Lease>(COLLECTION, this.#contentOf(undefined, context), request);
    return { lease, renewedAt: this.#context.clock.now() };
  }

  async #renewed(context: LeaseContext, signal: AbortSignal): Promise<LeaseAnswer> {
    const { api, nodeName, timeoutMs } = this.#parts;
    const content = this.#contentOf(context.lease, context);
    const lease = await api.update<Lease>({ ...COLLECTION, name: nodeName }, content, { timeoutMs, signal });
    return { lease, renewedAt: this.#context.clock.now() };
  }

  #contentOf(base: Lease | undefined, { nodeUid }: LeaseContext): Lease {
    const { nodeName, leaseDurationSeconds } = this.#parts;
    return renewedLease(base, { nodeName, nodeUid, leaseDurationSeconds, now: this.#context.clock.now() });
  }
}
