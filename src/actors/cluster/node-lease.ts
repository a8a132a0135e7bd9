/** The actor of the node's lease, and its effects. It shares nothing with the pods but the event loop. */
import { type ActorOptions, type ActorRefFrom, type AnyActorRef, createActor } from 'xstate';
import { hasReason, isSameProblem } from '../../cluster/service/api-error.ts';
import type { Collection, ObjectReference } from '../../cluster/service/api-resources.ts';
import type { ApiServer, RequestOptions } from '../../cluster/service/api-server.ts';
import { type LeaseContext, type LeaseEvent, leaseMachine } from '../../machines/lease-machine.ts';
import {
  LEASE_NAMESPACE,
  leaseBackOffMs,
  renewalDelayMs,
  renewedLease,
} from '../../policies/node-status/lease-renewal.ts';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Lease } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';

export interface NodeLeaseOptions {
  /** Of the heartbeats. */
  readonly api: ApiServer;
  readonly nodeName: string;
  readonly leaseDurationSeconds: number;
  /** Of a request. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly parent?: AnyActorRef;
  readonly inspect?: ActorOptions<typeof leaseMachine>['inspect'];
}

export interface NodeLeaseState {
  readonly state: string;
  /** Since when the lease is renewed, or cannot be renewed, or its node is not known. Unix ms. */
  readonly since: number;
  /** Unix ms; undefined if it was not renewed yet. */
  readonly renewedAt: number | undefined;
  /** Why it was not renewed. */
  readonly problem: string | undefined;
}

type Answer = Extract<LeaseEvent, { type: 'LEASE_FOUND' | 'LEASE_CREATED' | 'RENEWED' }>;

export class NodeLease {
  readonly #options: NodeLeaseOptions;
  readonly #actor: ActorRefFrom<typeof leaseMachine>;
  readonly #timer: Timer;
  readonly #collection: Collection = { resource: 'leases', namespace: LEASE_NAMESPACE };
  readonly #target: ObjectReference;
  #request: AbortController | undefined;
  /** Only a parent can stop its actor: after a stop, this one hears no more. */
  #isStopped = false;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
    const { clock, nodeName, parent, inspect } = options;
    this.#timer = new Timer(clock);
    this.#target = { ...this.#collection, name: nodeName };
    this.#actor = createActor(this.#machine(), {
      id: 'lease',
      input: { now: clock.now() },
      ...(parent && { parent }),
      ...(inspect && { inspect }),
    });
    this.#actor.subscribe({ error: (error: unknown) => this.#failed(error) });
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
    this.#send({ type: 'NODE_KNOWN', uid, now: this.#options.clock.now() });
  }

  /** The Node object is gone, or of another machine: the lease is not written any more. */
  nodeLost(): void {
    this.#send({ type: 'NODE_LOST', now: this.#options.clock.now() });
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer.disarm();
    this.#abort();
    if (this.#options.parent === undefined) this.#actor.stop();
  }

  #machine(): typeof leaseMachine {
    const { random, leaseDurationSeconds } = this.#options;
    return leaseMachine.provide({
      actions: {
        ensureLease: ({ context }) =>
          void this.#ask('ENSURE_FAILED', (request) => this.#ensured(context, request)),
        renewLease: ({ context }) =>
          void this.#ask('RENEWAL_FAILED', (request) => this.#renewed(context, request)),
        abortRequest: () => this.#abort(),
        armBackOff: ({ context }) => this.#arm(leaseBackOffMs(context.readFailures)),
        armRenewal: () => this.#arm(renewalDelayMs(leaseDurationSeconds, random())),
        disarmTimer: () => this.#timer.disarm(),
        reportFailure: ({ context, event }) => this.#reportFailure(context, event),
        reportRenewal: ({ context }) => this.#reportRenewal(context),
      },
    });
  }

  #arm(delayMs: number): void {
    this.#timer.arm(delayMs, () => this.#send({ type: 'LEASE_DUE' }));
  }

  #abort(): void {
    this.#request?.abort();
    this.#request = undefined;
  }

  /** What comes after the abort is dropped: the machine waits for something else by then. */
  async #ask(
    failure: 'ENSURE_FAILED' | 'RENEWAL_FAILED',
    ask: (request: RequestOptions) => Promise<Answer>,
  ): Promise<void> {
    const { signal } = (this.#request = new AbortController());
    let event: LeaseEvent;
    try {
      event = await ask({ timeoutMs: this.#options.timeoutMs, signal });
    } catch (error) {
      const isOutdated = hasReason(error, 'Conflict') || hasReason(error, 'NotFound');
      const type = failure === 'RENEWAL_FAILED' && isOutdated ? 'LEASE_OUTDATED' : failure;
      event = { type, problem: errorMessage(error), now: this.#options.clock.now() };
    }
    if (!signal.aborted) this.#send(event);
  }

  async #ensured({ nodeUid }: LeaseContext, request: RequestOptions): Promise<Answer> {
    const { api, clock } = this.#options;
    try {
      return { type: 'LEASE_FOUND', lease: await api.get<Lease>(this.#target, request) };
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
    }
    const lease = this.#contentOf(undefined, nodeUid);
    const created = await api.create<Lease>(this.#collection, lease, request);
    return { type: 'LEASE_CREATED', lease: created, now: clock.now() };
  }

  async #renewed({ lease, nodeUid }: LeaseContext, request: RequestOptions): Promise<Answer> {
    const { api, clock } = this.#options;
    const content = this.#contentOf(lease, nodeUid);
    const renewed = await api.update<Lease>(this.#target, content, request);
    return { type: 'RENEWED', lease: renewed, now: clock.now() };
  }

  #contentOf(base: Lease | undefined, nodeUid: string | undefined): Lease {
    const { nodeName, leaseDurationSeconds, clock } = this.#options;
    return renewedLease(base, { nodeName, nodeUid, leaseDurationSeconds, now: clock.now() });
  }

  #send(event: LeaseEvent): void {
    if (!this.#isStopped && this.#actor.getSnapshot().status === 'active') this.#actor.send(event);
  }

  /** Each new problem is a line, not each try. `context`: before the failure. */
  #reportFailure({ problem }: LeaseContext, event: LeaseEvent): void {
    if (!('problem' in event)) return;
    const isNew = !isSameProblem(event.problem, problem);
    const line = `The node's lease could not be renewed, and is tried again: ${event.problem}`;
    this.#options.logger[isNew ? 'warn' : 'debug']({}, line);
  }

  #reportRenewal({ problem }: LeaseContext): void {
    if (problem !== undefined) this.#options.logger.info({}, "The node's lease is renewed again");
  }

  #failed(error: unknown): void {
    this.#timer.disarm();
    this.#abort();
    const message = `The actor of the node's lease failed, and does not run any more: ${errorMessage(error)}`;
    this.#options.logger.error({ err: error }, message);
  }
}
