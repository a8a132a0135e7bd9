/** One watch of one client: events in their order and sometimes late, bookmarks, and the ways in which a watch ends. */
import type { Subscriber, Subscription } from 'rxjs';
import { ApiError } from '../../agent/cluster/service/api-error.ts';
import type { Collection } from '../../agent/cluster/service/api-resources.ts';
import type {
  ApiObject,
  ConnectionObserver,
  WatchEvent,
  WatchOptions,
} from '../../agent/cluster/service/api-server.ts';
import { answerTo, within } from '../runtime/chance.ts';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { type ApiFaults, planRequest } from './api-faults.ts';
import { type Reachability, SILENCE_LIMIT_MS } from './api-request.ts';
import type { ApiStore, StoredChange, StoredObject } from './api-store.ts';
import { matches, nameSelected } from './field-selectors.ts';
import { expired, tooLargeVersion } from './refusals.ts';

export interface WatchHost {
  readonly clock: Clock;
  readonly store: ApiStore;
  readonly reachability: Reachability;
  readonly faults: ApiFaults;
}

export interface WatchDetails {
  readonly collection: Collection;
  readonly options: WatchOptions;
  readonly observer: ConnectionObserver | undefined;
  /** Throws if the client may not watch this. */
  readonly authorize: () => void;
  /** In [0, 1): for the watch itself without a version, and for the event of each version. */
  readonly chance: (version?: number) => number;
  readonly onOver: (watch: ApiWatch) => void;
}

const BOOKMARK_PERIOD_MS = 60_000;
const EVENT_LATENCY_MS = [0, 3] as const;
const LATE_MS = [500, 20_000] as const;
/** A watch that breaks does so within this time. */
const BREAKS_WITHIN_MS = [0, 120_000] as const;

interface Waiting {
  readonly at: number;
  readonly event: WatchEvent<ApiObject>;
}

export class ApiWatch {
  readonly #host: WatchHost;
  readonly #details: WatchDetails;
  readonly #subscriber: Subscriber<WatchEvent<ApiObject>>;
  readonly #delivery: Timer;
  readonly #bookmark: Timer;
  readonly #end: Timer;
  readonly #waiting: Waiting[] = [];
  #changes: Subscription | undefined;
  #isSilent = false;
  #isOver = false;

  constructor(host: WatchHost, details: WatchDetails, subscriber: Subscriber<WatchEvent<ApiObject>>) {
    this.#host = host;
    this.#details = details;
    this.#subscriber = subscriber;
    this.#delivery = new Timer(host.clock);
    this.#bookmark = new Timer(host.clock);
    this.#end = new Timer(host.clock);
  }

  /** What is watched: `configmaps/default/settings`, or the collection as a whole. */
  get subject(): string {
    const { collection, options } = this.#details;
    const { resource, namespace = '' } = collection;
    return `${resource}/${namespace}/${nameSelected(options.fieldSelector) ?? ''}`;
  }

  begin(): void {
    const { reachability, faults } = this.#host;
    const { fate, refusal, landsAfterMs, tailMs } = planRequest(faults, this.#details.chance());
    if (reachability === 'silent' || fate === 'hung') this.fallSilent();
    else if (reachability === 'refusing' || fate === 'unreached')
      this.#delivery.arm(landsAfterMs, () => this.breakOff());
    else if (fate === 'refused') this.#delivery.arm(landsAfterMs + tailMs, () => this.#fail(refusal));
    else this.#delivery.arm(landsAfterMs + tailMs, () => this.#open());
  }

  /** The connection breaks. */
  breakOff(): void {
    this.#fail(new StateletError('Unavailable', 'the connection of the watch broke'));
  }

  /** No more events come; the client notices that only after a time. */
  fallSilent(): void {
    this.#isSilent = true;
    this.#delivery.disarm();
    this.#end.arm(SILENCE_LIMIT_MS, () => this.breakOff());
  }

  /** The client ends the watch. */
  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#changes?.unsubscribe();
    this.#delivery.disarm();
    this.#bookmark.disarm();
    this.#end.disarm();
    this.#details.onOver(this);
  }

  #open(): void {
    const { store } = this.#host;
    const { options, authorize } = this.#details;
    const since = Number(options.resourceVersion);
    try {
      authorize();
      if (since < store.compacted) throw expired(since, store.compacted);
      if (since > store.version) throw tooLargeVersion(since, store.version);
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#details.observer?.answered();
    this.#armEnd();
    this.#armBookmark();
    for (const change of store.changesSince(since)) this.#take(change);
    this.#changes = store.changes.subscribe((change) => this.#take(change));
  }

  #armEnd(): void {
    const { options, chance } = this.#details;
    const value = chance();
    const afterMs = within(BREAKS_WITHIN_MS, answerTo('lifetime', value));
    const breaks = answerTo('death', value) < this.#host.faults.brokenWatch;
    if (!breaks || afterMs >= 1000 * options.timeoutSeconds)
      this.#end.arm(1000 * options.timeoutSeconds, () => this.#complete());
    else this.#end.arm(afterMs, () => this.#breakSomehow(answerTo('alone', value)));
  }

  #breakSomehow(answer: number): void {
    const { store } = this.#host;
    if (answer < 0.25) this.#complete();
    else if (answer < 0.5) this.breakOff();
    else if (answer < 0.75) this.#fail(expired(0, store.compacted));
    else this.fallSilent();
  }

  #armBookmark(): void {
    this.#bookmark.arm(BOOKMARK_PERIOD_MS, () => {
      this.#armBookmark();
      const { version } = this.#host.store;
      const metadata = { resourceVersion: String(version) };
      if (!this.#isSilent && this.#waiting.length === 0)
        this.#subscriber.next({ type: 'BOOKMARK', object: { metadata } });
    });
  }

  #take(change: StoredChange): void {
    const event = this.#eventOf(change);
    if (event === undefined || this.#isSilent) return;
    const { clock, faults } = this.#host;
    const value = this.#details.chance(change.version);
    const isLate = answerTo('late', value) < faults.lateEvents;
    const delayMs = isLate
      ? within(LATE_MS, answerTo('lateness', value))
      : within(EVENT_LATENCY_MS, answerTo('latency', value));
    const last = this.#waiting.at(-1)?.at ?? 0;
    this.#waiting.push({ at: Math.max(last, clock.now() + delayMs), event });
    if (this.#waiting.length === 1) this.#armDelivery();
  }

  #armDelivery(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    this.#delivery.arm(first.at - this.#host.clock.now(), () => {
      this.#waiting.shift();
      this.#armDelivery();
      this.#subscriber.next(first.event);
    });
  }

  /** Objects that begin to match are added for this client, and those that cease to match are gone. */
  #eventOf({ resource, before, after }: StoredChange): WatchEvent<ApiObject> | undefined {
    if (resource !== this.#details.collection.resource) return undefined;
    const wasSeen = before !== undefined && this.#matches(before);
    if (after !== undefined && this.#matches(after))
      return { type: wasSeen ? 'MODIFIED' : 'ADDED', object: after };
    return wasSeen ? { type: 'DELETED', object: before } : undefined;
  }

  #matches(object: StoredObject): boolean {
    const { collection, options } = this.#details;
    const { namespace } = collection;
    if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
    return matches(object, options.fieldSelector);
  }

  #complete(): void {
    this.stop();
    this.#subscriber.complete();
  }

  #fail(error: unknown): void {
    this.stop();
    if (error instanceof ApiError) this.#details.observer?.answered();
    else this.#details.observer?.failed(errorMessage(error));
    this.#subscriber.error(error);
  }
}
