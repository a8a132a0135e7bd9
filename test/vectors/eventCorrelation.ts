import { type CorrelatedEvent, EventCorrelator } from '../../src/server/event-correlator.ts';
import type { EventFacts } from '../../src/policies/status/event-correlation.ts';
import { rfc3339 } from '../../src/policies/formats/time.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Input {
  readonly events: readonly (Pick<EventFacts, 'type' | 'reason' | 'message'> & {
    /** Unix seconds. */
    readonly at: number;
    readonly involvedObject: EventFacts['object'];
    readonly component?: string;
    /** The server answers 404 to a PATCH. */
    readonly eventGone?: boolean;
    readonly serverError?: 'AlreadyExists' | 'Forbidden' | 'network';
  })[];
}

export const adapter: VectorAdapter = {
  adapt({ events }: Input) {
    const correlator = new EventCorrelator();
    return { results: events.map((event) => callsFor(correlator, event)) };
  },
};

/** The calls by which the client reports a correlated event to the server. */
function callsFor(correlator: EventCorrelator, event: Input['events'][number]) {
  const { at, involvedObject: object, component = 'kubelet', type, reason, message } = event;
  const facts = { source: { component, host: 'node-1' }, object, type, reason, message };
  const correlated = correlator.correlate(facts, at * 1000);
  if (correlated.isSpam) return { skip: true };
  const calls: object[] = [];
  if (correlated.count > 1) calls.push(patchOf(correlated, at));
  if (correlated.count === 1 || event.eventGone === true)
    calls.push(creationOf(correlated, at, component, object));
  return { skip: false, done: event.serverError !== 'network', calls };
}

function patchOf({ name, count, message }: CorrelatedEvent, at: number) {
  return { op: 'patch', name, patch: { count, lastTimestamp: rfc3339(at * 1000), message } };
}

function creationOf(
  { name, count, message, firstAt, combined }: CorrelatedEvent,
  at: number,
  component: string,
  { namespace, fieldPath }: EventFacts['object'],
) {
  const times = { firstTimestamp: firstAt / 1000, lastTimestamp: at };
  const reporting = combined ? {} : { reportingComponent: component };
  const where = fieldPath === undefined ? {} : { fieldPath };
  const event = { name, count, message, ...times, ...reporting, ...where };
  return {
    op: 'create',
    namespace: namespace === undefined || namespace === '' ? 'default' : namespace,
    event,
  };
}
