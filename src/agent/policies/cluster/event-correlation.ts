/**
 * How several events become one, as in clients of the API server: equal events are counted, similar events are combined, and
 * too many events about one object are dropped as spam. Times are Unix milliseconds.
 */
import { RecentMap } from '../formats/lookups.ts';
import { takeToken, type TokenBucket } from '../formats/token-bucket.ts';

/** The settings of client-go's correlator. */
const SIMILAR_MAX = 10;
const SIMILAR_WITHIN_MS = 600_000;
/** One event in five minutes, in single precision as in client-go. */
const SPAM_LIMIT = { perSecond: Math.fround(1 / 300), burst: 25 };

export interface EventFacts {
  readonly source: { readonly component: string; readonly host: string };
  readonly object: {
    readonly apiVersion?: string;
    readonly kind: string;
    readonly namespace?: string;
    readonly name: string;
    readonly uid?: string;
    /** The version of the pod that the event is about. Events are equal whatever it is. */
    readonly resourceVersion?: string;
    /** The container of a pod: `spec.containers{NAME}`. */
    readonly fieldPath?: string;
  };
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The memory of events that differ only in their message. */
interface SimilarEvents {
  /** The latest different ones, fewer than ten. */
  readonly messages: readonly string[];
  readonly lastAt: number;
}

/** The memory of equal events, which are counted as one. */
interface CountedEvent {
  readonly count: number;
  readonly firstAt: number;
  readonly name: string;
}

/** Equal events have one key. */
export function eventKey(event: EventFacts): string {
  return JSON.stringify([...subjectOf(event), event.object.fieldPath, event.reason, event.message]);
}

/** Similar events have one key: events about one object with the same type and reason, whatever their message. */
export function similarKey(event: EventFacts): string {
  return JSON.stringify([...subjectOf(event), event.reason]);
}

/** Events about one object with the same type share one budget. */
export function spamKey(event: EventFacts): string {
  return JSON.stringify(subjectOf(event));
}

function subjectOf({ source, object, type }: EventFacts): readonly (string | undefined)[] {
  const { component, host } = source;
  const { apiVersion, kind, namespace, name, uid } = object;
  return [component, host, kind, namespace, name, uid, apiVersion, type];
}

/** `combined`: this is at least the tenth different message, so that it is reported as part of a combined event. */
export function withSimilar(
  similar: SimilarEvents | undefined,
  message: string,
  now: number,
): { readonly similar: SimilarEvents; readonly combined: boolean } {
  const isRecent = similar !== undefined && now - similar.lastAt <= SIMILAR_WITHIN_MS;
  const before = isRecent ? similar.messages.filter((other) => other !== message) : [];
  const messages = [...before, message];
  const combined = messages.length >= SIMILAR_MAX;
  return { similar: { messages: combined ? messages.slice(1) : messages, lastAt: now }, combined };
}

function combinedMessage(message: string): string {
  return `(combined from similar events): ${message}`;
}

/** `name` is the name of a new event; an event that is counted again keeps its own. */
export function counted(before: CountedEvent | undefined, name: string, now: number): CountedEvent {
  if (before === undefined) return { count: 1, firstAt: now, name };
  return { ...before, count: before.count + 1 };
}

/** The budget of an object after one more event; undefined where it is used up, and the event is spam. */
export function spent(budget: TokenBucket | undefined, now: number): TokenBucket | undefined {
  return takeToken(budget, now, SPAM_LIMIT);
}

/** The longest name that the API server accepts for an event. */
const NAME_LENGTH_MAX = 253;

/**
 * The name of a new event: its object, and the time in nanoseconds as a hexadecimal number. Where that would be too long, the
 * name is `otherwise`.
 */
export function eventName(objectName: string, unixNanoseconds: bigint, otherwise: () => string): string {
  const name = `${objectName}.${unixNanoseconds.toString(16)}`;
  return name.length <= NAME_LENGTH_MAX ? name : otherwise();
}

/** As in client-go. */
const REMEMBERED_MAX = 4_096;

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
  readonly #budgets = new RecentMap<string, TokenBucket>(REMEMBERED_MAX);

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

/** Reasons that the kubelet does not have: why a pod waits. Its chart and `/pods` show them, and events would only repeat them. */
const LOG_ONLY: ReadonlySet<string> = new Set([
  'RuntimeNotReady',
  'RemovingFormerPod',
  'NameTaken',
  'MakingRoom',
]);

/** Whether events of this reason are logged, and not sent to the API server. */
export function isLogOnly(reason: string): boolean {
  return LOG_ONLY.has(reason);
}
