/**
 * Hears what XState does in a system of actors. `inspect` copies each of five kinds of events for all inspectors, and XState has no public
 * way to hear of microsteps alone, or of the actors that begin and end. This is the only place that uses its private ones.
 */
import type { AnyActorRef, InspectionEvent } from 'xstate';

type WithoutRoot<Event> = Event extends unknown ? Omit<Event, 'rootId'> : never;

/** What an inspector hears. */
export type TappedEvent = WithoutRoot<InspectionEvent>;

interface PrivateSystem {
  _sendInspectionEvent: (event: TappedEvent) => void;
  _register: (sessionId: string, actor: AnyActorRef) => string;
  _unregister: (actor: AnyActorRef) => void;
}

/**
 * For one at a time. `hear` must not throw: its error would be that of the actor. Returns the function that ends this and leaves the
 * system as it was.
 */
export function tapEvents(system: AnyActorRef['system'], hear: (event: TappedEvent) => void): () => void {
  const tapped = system as unknown as PrivateSystem;
  const own = tapped._sendInspectionEvent;
  tapped._sendInspectionEvent = (event) => {
    hear(event);
    own(event);
  };
  return () => {
    tapped._sendInspectionEvent = own;
  };
}

/** The actors that begin and end from now on. One that fails ends too. */
export function tapActors(
  system: AnyActorRef['system'],
  { began, ended }: Readonly<Record<'began' | 'ended', (actor: AnyActorRef) => void>>,
): void {
  const tapped = system as unknown as PrivateSystem;
  const { _register: register, _unregister: unregister } = tapped;
  tapped._register = (sessionId, actor) => {
    began(actor);
    return register(sessionId, actor);
  };
  tapped._unregister = (actor) => {
    ended(actor);
    unregister(actor);
  };
}
