/** Remembers events, so that those which resemble earlier ones can be told as one. */
import {
  combinedMessage,
  counted,
  type CountedEvent,
  type EventFacts,
  eventKey,
  eventName,
  similarKey,
  type SimilarEvents,
  type SpamBudget,
  spamKey,
  spent,
  withSimilar,
} from '../policies/status/event-correlation.ts';
import { RecentMap } from './recent-map.ts';

/** As many as client-go remembers of each kind. */
const REMEMBERED_MAX = 4_096;

/** An event as it is to be told. */
export interface CorrelatedEvent extends CountedEvent {
  /** Of all that are told as this one. */
  readonly key: string;
  readonly message: string;
  /** It stands for events of several messages. */
  readonly combined: boolean;
  /** It comes too often to be told. */
  readonly isSpam: boolean;
}

export class EventCorrelator {
  readonly #similar = new RecentMap<string, SimilarEvents>(REMEMBERED_MAX);
  readonly #counted = new RecentMap<string, CountedEvent>(REMEMBERED_MAX);
  readonly #budgets = new RecentMap<string, SpamBudget>(REMEMBERED_MAX);

  /** `now` is Unix milliseconds. */
  correlate(event: EventFacts, now: number): CorrelatedEvent {
    const { message } = event;
    const group = similarKey(event);
    const { similar, combined } = withSimilar(this.#similar.get(group), message, now);
    this.#similar.set(group, similar);
    const key = combined ? group : eventKey(event);
    const count = counted(this.#counted.get(key), eventName(event.object.name, now), now);
    this.#counted.set(key, count);
    return {
      ...{ ...count, key, combined, isSpam: !this.#mayTell(event, now) },
      message: combined ? combinedMessage(message) : message,
    };
  }

  #mayTell(event: EventFacts, now: number): boolean {
    const key = spamKey(event);
    const left = spent(this.#budgets.get(key), now);
    if (left !== undefined) this.#budgets.set(key, left);
    return left !== undefined;
  }
}
