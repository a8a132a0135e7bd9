/**
 * Hears what XState tells its inspectors, for a fraction of what `inspect` costs, which copies each event for all of them. XState
 * has no public way to hear of microsteps alone. This is the only place that takes the private one.
 */
import type { AnyActorRef, InspectionEvent } from 'xstate';

type WithoutRoot<Event> = Event extends unknown ? Omit<Event, 'rootId'> : never;

export type TappedEvent = WithoutRoot<InspectionEvent>;
type Hear = (event: TappedEvent) => void;

interface Tapped {
  _sendInspectionEvent: Hear;
}

interface Tap {
  readonly own: Hear;
  readonly hear: Set<Hear>;
}

const TAPS = new WeakMap<object, Tap>();

/**
 * `hear` must not throw: its error would be that of the actor. Returns the function that ends this; the system is as it was before once
 * the last one has ended.
 */
export function tapSystem(system: AnyActorRef['system'], hear: Hear): () => void {
  const tapped = system as unknown as Tapped;
  const tap = TAPS.get(system) ?? { own: tapped._sendInspectionEvent, hear: new Set<Hear>() };
  TAPS.set(system, tap);
  tap.hear.add(hear);
  route(tapped, tap);
  return () => {
    if (!tap.hear.delete(hear)) return;
    route(tapped, tap);
  };
}

function route(tapped: Tapped, { own, hear }: Tap): void {
  const [first, ...others] = hear;
  if (first === undefined) tapped._sendInspectionEvent = own;
  else if (others.length === 0) {
    tapped._sendInspectionEvent = (event) => {
      first(event);
      own(event);
    };
  } else {
    tapped._sendInspectionEvent = (event) => {
      for (const one of hear) one(event);
      own(event);
    };
  }
}
