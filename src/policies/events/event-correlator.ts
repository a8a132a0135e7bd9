/** Remembers events, so that repeated and similar events are combined into one with a count. */
import {
  combinedMessage,
  counted,
  type CountedEvent,
  type EventFacts,
  eventKey,
  similarKey,
  type SimilarEvents,
  type SpamBudget,
  spamKey,
  spent,
  withSimilar,
} from './event-correlation.ts';
import { RecentMap } from './recent-map.ts';

/** As in client-go. */
const REMEMBERED_MAX = 4_096;

/** An event after correlation. */
export interface CorrelatedEvent extends CountedEvent {
  /** The same for all events that are combined into this one. */
  readonly key: string;
  readonly message: string;
  /** It stands for events with several messages. */
  readonly combined: boolean;
  /** Events of its pod come too often: it is not shown. */
  readonly isSpam: boolean;
}

export class EventCorrelator {
  readonly #similar = new RecentMap<string, SimilarEvents>(REMEMBERED_MAX);
  readonly #counted = new RecentMap<string, CountedEvent>(REMEMBERED_MAX);
  readonly #budgets = new RecentMap<string, SpamBudget>(REMEMBERED_MAX);

  /** `now` is Unix milliseconds, `name` the name of the event if it is a new one. */
  correlate(event: EventFacts, now: number, name = ''): CorrelatedEvent {
    const { message } = event;
    const group = similarKey(event);
    const { similar, combined } = withSimilar(this.#similar.get(group), message, now);
    this.#similar.set(group, similar);
    const key = combined ? group : eventKey(event);
    const count = counted(this.#counted.get(key), name, now);
    this.#counted.set(key, count);
    return {
      ...count,
      key,
      combined,
      isSpam: !this.#spend(event, now),
      message: combined ? combinedMessage(message) : message,
    };
  }

  /** Whether the budget of the event's pod allows one more event. */
  #spend(event: EventFacts, now: number): boolean {
    const key = spamKey(event);
    const left = spent(this.#budgets.get(key), now);
    if (left !== undefined) this.#budgets.set(key, left);
    return left !== undefined;
  }
}
