import type { ActorOptions, AnyActorLogic, AnyActorRef } from 'xstate';
import type { SupervisorEvent } from '../machines/supervisor-machine.ts';
import type { AgentContext } from '../../types/agent-context.ts';

/**
 * What an actor works with: the context of the agent, and its place among the actors. An actor hands it on to its children as
 * `{ ...context, parent: actor }`. XState inspects all actors of a system from its root, so `inspect` counts only where there is no parent.
 */
export interface ActorContext extends AgentContext {
  readonly inspect?: ActorOptions<AnyActorLogic>['inspect'];
  /** Without it, the actor is the root of a system of its own. */
  readonly parent?: AnyActorRef;
}

/** The supervisor's loop, for those that send it events. */
export interface Loop {
  send(event: SupervisorEvent): void;
}
