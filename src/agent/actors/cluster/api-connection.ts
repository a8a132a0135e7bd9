/** The actor of the connection to the API server: every request is reported to it. It logs changes of the connection's state. */
import { Observable } from 'rxjs';
import type { ActorRefFrom, AnyActorRef } from 'xstate';
import type { ConnectionObserver } from '../../cluster/service/api-server.ts';
import {
  type ConnectionContext,
  type ConnectionEvent,
  connectionMachine,
} from '../../machines/connection-machine.ts';
import { shortDuration } from '../../policies/formats/duration.ts';
import { clockProblem } from '../../policies/node/lease-renewal.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor } from '../agent-actor.ts';

export interface ApiConnectionState {
  readonly state: 'Connected' | 'Waiting' | 'Unauthorized';
  /** Unix ms. */
  readonly since: number;
  /** What it waits for; undefined while connected, or before the first request has ended. */
  readonly problem: string | undefined;
}

export class ApiConnection implements ConnectionObserver {
  readonly #context: ActorContext;
  readonly #actor: ActorRefFrom<typeof connectionMachine>;
  #isStopped = false;
  #clockDiffers = false;

  /** `kubeconfig`: where the address of the server and the credentials come from. */
  constructor(context: ActorContext, kubeconfig: string) {
    this.#context = context;
    this.#actor = agentActor(context, this.#machine(kubeconfig), {
      id: 'connection',
      title: 'the connection to the API server',
      input: { now: this.#now },
    });
  }

  get actor(): AnyActorRef {
    return this.#actor;
  }

  get current(): ApiConnectionState {
    const { value, context } = this.#actor.getSnapshot();
    return { state: value, ...context };
  }

  start(): void {
    this.#actor.start();
  }

  /** XState lets only a parent stop its child: an actor without a parent is stopped here. */
  stop(): void {
    this.#isStopped = true;
    if (this.#context.parent === undefined) this.#actor.stop();
  }

  /** Calls on each change of the state, until the function that it returns is called. */
  onChange(listener: (current: ApiConnectionState) => void): () => void {
    let last = this.current;
    const subscription = this.#actor.subscribe(() => {
      const { current } = this;
      if (current.state === last.state && current.since === last.since) return;
      last = current;
      listener(current);
    });
    return () => subscription.unsubscribe();
  }

  /** Emits each time when the server answers again after it did not. */
  get recoveries(): Observable<unknown> {
    return new Observable((subscriber) =>
      this.onChange(({ state }) => {
        if (state === 'Connected') subscriber.next(undefined);
      }),
    );
  }

  answered(): void {
    this.#send({ type: 'ANSWERED', now: this.#now });
  }

  unauthorized(problem: string): void {
    this.#send({ type: 'UNAUTHORIZED', problem, now: this.#now });
  }

  failed(problem: string): void {
    this.#send({ type: 'FAILED', problem, now: this.#now });
  }

  /** Logs once that the clocks differ, and once that they agree again. */
  clockDifference(differenceMs: number): void {
    const problem = clockProblem(differenceMs);
    if ((problem !== undefined) === this.#clockDiffers || this.#isStopped) return;
    this.#clockDiffers = problem !== undefined;
    const { logger } = this.#context;
    if (problem !== undefined) logger.warn({}, `API server: ${problem}`);
    else logger.info({}, 'API server: its clock and that of this machine agree again');
  }

  get #now(): number {
    return this.#context.clock.now();
  }

  /** Requests may still end after the agent has stopped. */
  #send(event: ConnectionEvent): void {
    if (!this.#isStopped) this.#actor.send(event);
  }

  #machine(kubeconfig: string): typeof connectionMachine {
    const { logger } = this.#context;
    return connectionMachine.provide({
      actions: {
        reportConnected: ({ context, event }) => logger.info({}, connectedText(context, event)),
        reportWaiting: ({ event }) =>
          logger.warn({ kubeconfig }, `API server: no answer: ${problemOf(event)}`),
        reportUnauthorized: ({ event }) =>
          logger.error(
            { kubeconfig },
            `API server: it does not accept the credentials of this node: ${problemOf(event)}`,
          ),
      },
    });
  }
}

function connectedText({ since, problem }: ConnectionContext, { now }: ConnectionEvent): string {
  if (problem === undefined) return 'API server: connected';
  return `API server: connected after ${shortDuration(now - since)} (${problem})`;
}

function problemOf(event: ConnectionEvent): string {
  return 'problem' in event ? event.problem : '';
}
