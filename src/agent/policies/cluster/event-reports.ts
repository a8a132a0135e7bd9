import type {
  ContainerReference,
  EventRecorder,
  NodeEventRecorder,
  PodReference,
} from '../../../types/event-recorder.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { type CorrelatedEvent, EventCorrelator, type EventFacts } from './event-correlation.ts';
import {
  EventNames,
  type EventReport,
  eventReport,
  nodeEventObject,
  podEventObject,
} from './event-object.ts';

/** As the kubelet names itself in events. */
const COMPONENT = 'kubelet';

export interface EventReportsParts {
  readonly nodeName: string;
  /** Undefined until the node is registered. */
  readonly nodeUID?: () => string | undefined;
  /** By UID; undefined where the pod is not known by its object. */
  readonly podOf: (uid: string) => Pod | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** A name for an event whose usual name would be too long. */
  readonly otherName: (nanoseconds: bigint) => string;
}

/** Makes events of the API from events of the node and its pods: equal ones are one event with a count. */
export abstract class EventReports implements EventRecorder, NodeEventRecorder {
  readonly #parts: EventReportsParts;
  readonly #correlator = new EventCorrelator();
  readonly #names = new EventNames();

  constructor(parts: EventReportsParts) {
    this.#parts = parts;
  }

  event(
    pod: PodReference,
    type: EventFacts['type'],
    reason: string,
    message: string,
    about?: ContainerReference,
  ): void {
    const object = podEventObject(pod, about?.container, this.#parts.podOf(pod.uid));
    this.#report({ object, type, reason, message });
  }

  nodeEvent(type: EventFacts['type'], reason: string, message: string): void {
    const { nodeName, nodeUID } = this.#parts;
    this.#report({ object: nodeEventObject(nodeName, nodeUID?.()), type, reason, message });
  }

  protected abstract take(report: EventReport, correlated: CorrelatedEvent): void;

  #report(event: Omit<EventFacts, 'source'>): void {
    const { nodeName, now, otherName } = this.#parts;
    const facts = { ...event, source: { component: COMPONENT, host: nodeName } };
    const at = now();
    const name = this.#names.next(event.object.name, at, otherName);
    const correlated = this.#correlator.correlate(facts, at, name);
    this.take(eventReport(facts, correlated, at), correlated);
  }
}
