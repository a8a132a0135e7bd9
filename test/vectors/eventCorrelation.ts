import {
  EventCorrelator,
  type EventFacts,
  eventName,
} from '../../src/agent/policies/cluster/event-correlation.ts';
import { eventReport, type EventReport } from '../../src/agent/policies/cluster/event-object.ts';
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
  const name = eventName(object.name, BigInt(at) * 1_000_000_000n, () => 'uuid');
  const correlated = correlator.correlate(facts, at * 1000, name);
  if (correlated.isSpam) return { skip: true };
  const report = eventReport(facts, correlated, at * 1000);
  const calls: object[] = [];
  if (report.isUpdate) calls.push({ op: 'patch', name: report.event.metadata.name, patch: report.patch });
  if (!report.isUpdate || event.eventGone === true) calls.push(creationOf(report));
  return { skip: false, done: event.serverError !== 'network', calls };
}

function creationOf({ event }: EventReport) {
  const { metadata, involvedObject, count, message, reportingComponent } = event;
  const { fieldPath } = involvedObject;
  return {
    op: 'create',
    namespace: metadata.namespace,
    event: {
      name: metadata.name,
      count,
      message,
      firstTimestamp: seconds(event.firstTimestamp),
      lastTimestamp: seconds(event.lastTimestamp),
      ...(reportingComponent !== undefined && { reportingComponent }),
      ...(fieldPath !== undefined && { fieldPath }),
    },
  };
}

function seconds(time: string | undefined): number {
  return Date.parse(time ?? '') / 1000;
}
