/** Actors of the agent, and the requests that their charts invoke. */
import {
  type Actor,
  type ActorOptions,
  type AnyActorLogic,
  type AnyActorRef,
  type AnyStateMachine,
  createActor as createXStateActor,
  fromPromise,
  type InputFrom,
  type PromiseActorLogic,
} from 'xstate';
import type { Clock } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import type { TimedFailure } from '../../types/timed-failure.ts';
import type { ActorContext } from './actor-context.ts';

const RUNNING = new WeakMap<AnyActorRef['system'], Set<AnyActorRef>>();
const NONE: ReadonlySet<AnyActorRef> = new Set();

/**
 * Makes all actors of the agent but those of pods, which the registry keeps. XState has no list of actors that can be read, so `runningActors` is
 * one: an actor is in it from its start to its end.
 */
export const createActor = ((logic: AnyActorLogic, options: ActorOptions<AnyActorLogic> = {}) => {
  const actor: AnyActorRef = createXStateActor(logic, options);
  const running = RUNNING.get(actor.system) ?? new Set();
  RUNNING.set(actor.system, running);
  const end = () => void running.delete(actor);
  // The first actor of a system lasts as long as the system does. XState itself reports its failure only while nobody subscribes to it.
  if (options.parent === undefined) running.add(actor);
  else actor.subscribe({ next: () => void running.add(actor), error: end, complete: end });
  return actor;
}) as unknown as typeof createXStateActor;

export function runningActors({ system }: AnyActorRef): ReadonlySet<AnyActorRef> {
  return RUNNING.get(system) ?? NONE;
}

export interface AgentActorOptions<Machine extends AnyStateMachine> {
  readonly id: string;
  /** For the log: `the node's lease`. */
  readonly title: string;
  readonly input?: InputFrom<Machine>;
}

/** Not started yet. The delays of its chart pass by the clock of the agent. If it fails, the log says so. */
export function agentActor<Machine extends AnyStateMachine>(
  { clock, logger, parent, inspect }: Pick<ActorContext, 'clock' | 'logger' | 'parent' | 'inspect'>,
  machine: Machine,
  { id, title, input }: AgentActorOptions<Machine>,
): Actor<Machine> {
  const options = { id, input, clock, parent, inspect } as ActorOptions<Machine>;
  const actor = createActor<Machine>(machine, ...([options] as never));
  actor.subscribe({
    error: (error: unknown) => {
      const message = `The actor of ${title} failed, and does not run any more: ${errorMessage(error)}`;
      logger.error({ err: error }, message);
    },
  });
  return actor;
}

/**
 * A request that a chart invokes. It is aborted when the chart leaves the invoking state. The chart gets a failure as plain facts, so that a record
 * can keep them.
 */
export function requestActor<Output, Input>(
  ask: (input: Input, signal: AbortSignal) => Promise<Output>,
  factsOf: (error: unknown) => object,
): PromiseActorLogic<Output, Input> {
  return fromPromise<Output, Input>(async ({ input, signal }) => {
    try {
      return await ask(input, signal);
    } catch (error) {
      // oxlint-disable-next-line typescript/only-throw-error -- no error: it becomes what an event says
      throw factsOf(error);
    }
  });
}

/** Since when actors are in their states. A state that is entered anew from itself does not count anew. */
export class StateTimes {
  readonly #clock: Clock;
  readonly #visits = new WeakMap<AnyActorRef, { readonly state: string; readonly sinceMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** To be called with each snapshot of the actor. */
  note(actor: AnyActorRef, state: string): void {
    if (this.#visits.get(actor)?.state !== state)
      this.#visits.set(actor, { state, sinceMs: this.#clock.now() });
  }

  /** Unix ms; undefined until the actor starts. */
  since(actor: AnyActorRef): number | undefined {
    return this.#visits.get(actor)?.sinceMs;
  }
}

/** For `requestActor`: the facts of a failure, with its time. */
export function timedFailures(clock: Clock): (error: unknown) => TimedFailure {
  return (error) => ({ problem: errorMessage(error), now: clock.now() });
}
