/** The objects that events are about, as the API server gets them. */
import type { PodReference } from '../../../types/event-recorder.ts';
import type { CoreEvent, Pod, PodSpec } from '../../../types/kubernetes.ts';
import { rfc3339 } from '../formats/time.ts';
import { named } from '../formats/lookups.ts';
import { type CorrelatedEvent, type EventFacts, eventName } from './event-correlation.ts';

type EventObject = EventFacts['object'];

/** `pod`: undefined where it is not known by its object any more. */
export function podEventObject(
  { name, namespace, uid }: PodReference,
  container?: string,
  pod?: Pod,
): EventObject {
  const resourceVersion = pod?.metadata.resourceVersion;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    namespace,
    name,
    uid,
    resourceVersion,
    ...(container !== undefined && { fieldPath: containerFieldPath(pod?.spec, container) }),
  };
}

/**
 * `kubectl describe node` finds events by the UID of the node or by its name in the place of the UID: the name is there while the
 * UID is not known.
 */
export function nodeEventObject(name: string, uid: string | undefined): EventObject {
  return { apiVersion: 'v1', kind: 'Node', name, uid: uid ?? name };
}

/** `spec.initContainers{NAME}`. A container that the spec does not have counts as a regular one. */
function containerFieldPath(spec: PodSpec | undefined, container: string): string {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec ?? {};
  const isRegular = containers === undefined || named(containers, container) !== undefined;
  if (!isRegular && named(initContainers, container)) return `spec.initContainers{${container}}`;
  if (!isRegular && named(ephemeralContainers, container)) return `spec.ephemeralContainers{${container}}`;
  return `spec.containers{${container}}`;
}

const NANOSECONDS_PER_MS = 1_000_000n;

/** Names for event objects. Two events of one millisecond get different names. */
export class EventNames {
  #last = 0n;

  /** `otherwise` makes a name where the usual one would be too long; it gets the nanoseconds of the usual one. */
  next(objectName: string, unixMs: number, otherwise: (nanoseconds: bigint) => string): string {
    const now = BigInt(Math.floor(unixMs)) * NANOSECONDS_PER_MS;
    this.#last = now > this.#last ? now : this.#last + 1n;
    return eventName(objectName, this.#last, () => otherwise(this.#last));
  }
}

/** Where events of objects without a namespace are kept. */
const DEFAULT_NAMESPACE = 'default';

export interface EventReport {
  /** The same for all events that the server keeps as one. */
  readonly key: string;
  /** The server has the event already: it gets the patch. If the server has deleted it since, the event is created again. */
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
      // A combined event stands for several events, so it does not name one reporter.
      ...(!combined && { reportingComponent: source.component, reportingInstance: source.host }),
    },
    patch: { count, lastTimestamp, message },
  };
}

/** A newer report that replaces one about the same event that has not been sent. If that would have created the event, so does this. */
export function inPlaceOf(unsent: EventReport, newer: EventReport): EventReport {
  return { ...newer, isUpdate: unsent.isUpdate && newer.isUpdate };
}
