/** The newest events of the node and its pods, as objects of the Kubernetes API, for those who ask the daemon for them. */
import type { CorrelatedEvent } from '../policies/cluster/event-correlation.ts';
import type { EventReport } from '../policies/cluster/event-object.ts';
import { EventReports, type EventReportsParts } from '../policies/cluster/event-reports.ts';
import { rfc3339 } from '../policies/formats/time.ts';
import type { CoreEvent } from '../../types/kubernetes.ts';

const KEPT_MAX = 1_000;

export interface RecentEventsOptions extends Pick<EventReportsParts, 'nodeName' | 'podOf' | 'now'> {
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
export class RecentEvents extends EventReports {
  readonly #keptMax: number;
  /** Those that happened last come last. */
  readonly #kept = new Map<string, Kept>();
  readonly #listeners = new Set<(change: EventChange) => void>();
  #version = 0;

  constructor({ keptMax = KEPT_MAX, ...parts }: RecentEventsOptions) {
    super({ ...parts, otherName: (nanoseconds) => `statelet.${nanoseconds.toString(16)}` });
    this.#keptMax = keptMax;
  }

  /** Rises with each event. */
  get version(): number {
    return this.#version;
  }

  /** The oldest first. `after`: only those that happened after that version. */
  list(after = 0): readonly CoreEvent[] {
    const events: CoreEvent[] = [];
    for (const { version, event } of this.#kept.values()) if (version > after) events.push(event);
    return events;
  }

  /** Calls the listener with each event, until the returned function is called. */
  watch(listener: (change: EventChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  protected override take({ event: object }: EventReport, { key, firstAt }: CorrelatedEvent): void {
    const isKnown = this.#kept.delete(key);
    this.#version += 1;
    const metadata = {
      ...object.metadata,
      creationTimestamp: rfc3339(firstAt),
      resourceVersion: String(this.#version),
    };
    const kept = { version: this.#version, event: { ...object, metadata } };
    this.#kept.set(key, kept);
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > this.#keptMax && !oldest.done) this.#kept.delete(oldest.value);
    for (const listener of this.#listeners)
      listener({ type: isKnown ? 'MODIFIED' : 'ADDED', event: kept.event });
  }
}
