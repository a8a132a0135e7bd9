/** The events of XState for requests that a machine has invoked, and for its delays. */
import type { DoneActorEvent, ErrorActorEvent } from 'xstate';

export function done<Id extends string, Output>(actorId: Id, output: Output): DoneActorEvent<Output, Id> {
  return { type: `xstate.done.actor.${actorId}`, output, actorId };
}

export function failed<Id extends string, Failure>(
  actorId: Id,
  error: Failure,
): ErrorActorEvent<Failure, Id> {
  return { type: `xstate.error.actor.${actorId}`, error, actorId };
}

/** `after('backOff', 'lease.BackingOff')`: events of a machine do not name its delays. */
export function after(delay: string, state: string): never {
  return { type: `xstate.after.${delay}.${state}` } as never;
}
