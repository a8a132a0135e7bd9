/** What the API server is told of an event, after correlation. */
import type { CoreEvent } from '../../types/kubernetes.ts';
import { rfc3339 } from '../formats/time.ts';
import type { EventFacts } from './event-correlation.ts';
import type { CorrelatedEvent } from './event-correlator.ts';

/** Where events of objects without a namespace are kept. */
const DEFAULT_NAMESPACE = 'default';

export interface EventReport {
  /** The same for all events that the server keeps as one. */
  readonly key: string;
  /** The server has been told of it before: it gets the patch. If it has forgotten the event, the event is created. */
  readonly isUpdate: boolean;
  readonly event: CoreEvent & {
    readonly metadata: { readonly name: string; readonly namespace: string };
  };
  readonly patch: { readonly count: number; readonly lastTimestamp: string; readonly message: string };
}

/** `now` is Unix milliseconds. */
export function eventReport(facts: EventFacts, correlated: CorrelatedEvent, now: number): EventReport {
  const { source, object, type, reason } = facts;
  const { key, name, count, firstAt, message, combined } = correlated;
  const lastTimestamp = rfc3339(now);
  const namespace =
    object.namespace === undefined || object.namespace === '' ? DEFAULT_NAMESPACE : object.namespace;
  return {
    key,
    isUpdate: count > 1,
    event: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace },
      involvedObject: object,
      reason,
      message,
      type,
      count,
      firstTimestamp: rfc3339(firstAt),
      lastTimestamp,
      source,
      // A combined event stands for several, and says of none who reported it.
      ...(!combined && { reportingComponent: source.component, reportingInstance: source.host }),
    },
    patch: { count, lastTimestamp, message },
  };
}

/** A newer report about the same event in place of one that was not sent: where that would have been created, this is. */
export function inPlaceOf(unsent: EventReport, newer: EventReport): EventReport {
  return { ...newer, isUpdate: unsent.isUpdate && newer.isUpdate };
}
