/** The newest events of the node and its pods, as objects of the Kubernetes API, for those who ask the daemon for them. */
import { EventCorrelator, type EventFacts } from '../policies/cluster/event-correlation.ts';
import {
  EventNames,
  eventReport,
  nodeEventObject,
  podEventObject,
} from '../policies/cluster/event-object.ts';
import { rfc3339 } from '../policies/formats/time.ts';
import type {
  ContainerReference,
  EventRecorder,
  NodeEventRecorder,
  PodReference,
} from '../../types/event-recorder.ts';
import type { CoreEvent, Pod } from '../../types/kubernetes.ts';

/** As the kubelet names itself in events. */
const COMPONENT = 'kubelet';
const KEPT_MAX = 1_000;

export interface RecentEventsOptions {
  readonly nodeName: string;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** By UID; undefined where the pod is not known by its object. */
  readonly podOf: (uid: string) => Pod | undefined;
  readonly keptMax?: number;
}

export interface EventChange {
  /** MODIFIED: an event that has happened again. */
  readonly type: 'ADDED' | 'MODIFIED';
  readonly event: CoreEvent;
}

interface Kept {
  readonly version: number;
  readonly event: CoreEvent;
}

/** Equal events are one event with a count. When there are too many, those that have not happened for longest are forgotten. */
export class RecentEvents implements EventRecorder, NodeEventRecorder {
  readonly #options: RecentEventsOptions;
  readonly #correlator = new EventCorrelator();
  readonly #names = new EventNames();
  /** Those that happened last come last. */
  readonly #kept = new Map<string, Kept>();
  readonly #listeners = new Set<(change: EventChange) => void>();
  #version = 0;

  constructor(options: RecentEventsOptions) {
    this.#options = options;
  }

  /** Rises with each event. */
  get version(): number {
    return this.#version;
  }

  event(
    pod: PodReference,
    type: EventFacts['type'],
    reason: string,
    message: string,
    about?: ContainerReference,
  ): void {
    const object = podEventObject(pod, about?.container, this.#options.podOf(pod.uid));
    this.#record({ object, type, reason, message });
  }

  nodeEvent(type: EventFacts['type'], reason: string, message: string): void {
    this.#record({ object: nodeEventObject(this.#options.nodeName, undefined), type, reason, message });
  }

  /** The oldest first. `after`: only those that happened after that version. */
  list(after = 0): readonly CoreEvent[] {
    const events: CoreEvent[] = [];
    for (const { version, event } of this.#kept.values()) if (version > after) events.push(event);
    return events;
  }

  /** Hears of each event from now on. Returns the function that ends this. */
  watch(listener: (change: EventChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #record(event: Omit<EventFacts, 'source'>): void {
    const { nodeName, now, keptMax = KEPT_MAX } = this.#options;
    const facts = { ...event, source: { component: COMPONENT, host: nodeName } };
    const at = now();
    const name = this.#names.next(
      event.object.name,
      at,
      (nanoseconds) => `statelet.${nanoseconds.toString(16)}`,
    );
    const correlated = this.#correlator.correlate(facts, at, name);
    const { event: object } = eventReport(facts, correlated, at);
    const { key } = correlated;
    const isKnown = this.#kept.delete(key);
    this.#version += 1;
    const metadata = {
      ...object.metadata,
      creationTimestamp: rfc3339(correlated.firstAt),
      resourceVersion: String(this.#version),
    };
    const kept = { version: this.#version, event: { ...object, metadata } };
    this.#kept.set(key, kept);
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > keptMax && !oldest.done) this.#kept.delete(oldest.value);
    for (const listener of this.#listeners)
      listener({ type: isKnown ? 'MODIFIED' : 'ADDED', event: kept.event });
  }
}
