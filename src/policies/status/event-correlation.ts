/**
 * How events that resemble each other become one, as the API server's clients do it: equal events are counted, similar ones are
 * put together, and what comes too often about one object is spam. Times are Unix milliseconds.
 */

/** The settings of client-go's correlator. */
const SIMILAR_MAX = 10;
const SIMILAR_WITHIN_MS = 600_000;
const SPAM_BURST = 25;
/** One event in five minutes, in single precision as there. */
const SPAM_PER_SECOND = Math.fround(1 / 300);

export interface EventFacts {
  readonly source: { readonly component: string; readonly host: string };
  readonly object: {
    readonly apiVersion?: string;
    readonly kind: string;
    readonly namespace?: string;
    readonly name: string;
    readonly uid?: string;
    /** Which container of a pod: `spec.containers{NAME}`. */
    readonly fieldPath?: string;
  };
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** What is remembered of events that differ in nothing but their message. */
export interface SimilarEvents {
  /** Fewer than ten. */
  readonly messages: readonly string[];
  readonly lastAt: number;
}

/** What is remembered of events that are counted as one. */
export interface CountedEvent {
  readonly count: number;
  readonly firstAt: number;
  readonly name: string;
}

/** What an object may still tell before it becomes spam. */
export interface SpamBudget {
  readonly tokens: number;
  readonly at: number;
}

/** Equal events have one key. */
export function eventKey(event: EventFacts): string {
  return JSON.stringify([...aboutOf(event), event.object.fieldPath, event.reason, event.message]);
}

/** Similar events have one key: those on an object of one type and reason, whatever they say. */
export function similarKey(event: EventFacts): string {
  return JSON.stringify([...aboutOf(event), event.reason]);
}

/** What is told about one object in one type shares one budget. */
export function spamKey(event: EventFacts): string {
  return JSON.stringify(aboutOf(event));
}

function aboutOf({ source, object, type }: EventFacts): readonly (string | undefined)[] {
  const { component, host } = source;
  const { apiVersion, kind, namespace, name, uid } = object;
  return [component, host, kind, namespace, name, uid, apiVersion, type];
}

/** `combined`: this message is the tenth of its kind, or one after that; they are told as one event. */
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

export function combinedMessage(message: string): string {
  return `(combined from similar events): ${message}`;
}

/** `name` is that of a new event; one that is counted on keeps its own. */
export function counted(before: CountedEvent | undefined, name: string, now: number): CountedEvent {
  if (before === undefined) return { count: 1, firstAt: now, name };
  return { ...before, count: before.count + 1 };
}

/** Undefined where there is nothing left: the event is spam. */
export function spent(budget: SpamBudget | undefined, now: number): SpamBudget | undefined {
  const { tokens, at } = budget ?? { tokens: SPAM_BURST, at: now };
  const refilled = Math.min(SPAM_BURST, tokens + (Math.max(0, now - at) / 1000) * SPAM_PER_SECOND);
  return refilled < 1 ? undefined : { tokens: refilled - 1, at: now };
}

/** How an event is named: its object, and the time in nanoseconds as a hexadecimal number. */
export function eventName(objectName: string, now: number): string {
  return `${objectName}.${(BigInt(now) * 1_000_000n).toString(16)}`;
}
