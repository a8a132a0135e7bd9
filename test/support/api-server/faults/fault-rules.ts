/** Which requests fail, and how. A test sets them over the control socket of the double. */
import { MASTERS, type User } from '../context.ts';
import type { ResourceRequest, Verb } from '../requests.ts';

/** A rule without a verb, a resource or a name is for all of them. Requests of administrators never fail: tests make them. */
export interface RequestPattern {
  readonly verb?: Verb;
  /** `pods`. */
  readonly resource?: string;
  /** Default: the object itself and all its subresources. */
  readonly subresource?: string;
  /** Of a watch: the name of the event's object. */
  readonly name?: string;
}

/** Of answers. */
export type AnswerFault =
  /** Nothing is carried out. `head`: the head of the answer is sent, and no body. */
  | { readonly kind: 'hang'; readonly after?: 'head' }
  /** Waits until the rule is lifted, and is carried out then. */
  | { readonly kind: 'hold' }
  | { readonly kind: 'delay'; readonly delayMs: number }
  /** Another answer. Nothing is carried out. */
  | {
      readonly kind: 'answer';
      readonly code: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** It is carried out, and the connection ends instead of an answer, without a word of TLS. */
  | { readonly kind: 'lose' }
  /**
   * It is carried out, and half of the answer is sent. `end`: as if it were the whole. `length`: the head tells the length of the whole, and the
   * stream ends. `break`: the connection ends, without a word of TLS.
   */
  | { readonly kind: 'half'; readonly how: 'end' | 'length' | 'break' }
  /** It is carried out, and so many bytes of the answer are sent at a time. */
  | { readonly kind: 'drip'; readonly bytes: number; readonly everyMs: number }
  /** An answer that goes on and on. Nothing is carried out. */
  | { readonly kind: 'giant'; readonly bytes: number };

/** Of the events of watches that have begun. */
export type EventFault =
  | { readonly kind: 'forget' }
  | { readonly kind: 'twice' }
  /** It comes after the next one. */
  | { readonly kind: 'swap' }
  /** From this event on the watch tells nothing more, and stays open. */
  | { readonly kind: 'silence' }
  /** Half of the event is sent, then the watch ends: as if it were whole, or with the connection. */
  | { readonly kind: 'cut'; readonly how: 'end' | 'break' };

export type Fault = AnswerFault | EventFault;

export interface FaultRule extends RequestPattern {
  /** Of an event: only of this type. */
  readonly event?: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  /** So many requests, or events. Default: all until the rule is lifted. */
  readonly times?: number;
  readonly fault: Fault;
}

export interface FaultyRequest {
  readonly asked: ResourceRequest;
  readonly user: User;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** The client's port, which identifies the connection. */
  readonly remotePort: number | undefined;
}

const EVENT_FAULTS: ReadonlySet<string> = new Set(['forget', 'twice', 'swap', 'silence', 'cut']);

export function isOfEvents(fault: Fault): fault is EventFault {
  return EVENT_FAULTS.has(fault.kind);
}

/** `name`: of the object that is concerned. */
export function isMatch(pattern: RequestPattern, { asked, user }: FaultyRequest, name = asked.name): boolean {
  if (user.groups.includes(MASTERS)) return false;
  return (
    is(pattern.verb, asked.verb) &&
    is(pattern.resource, asked.type.plural) &&
    is(pattern.subresource, asked.subresource) &&
    is(pattern.name, name)
  );
}

function is(wanted: string | undefined, found: string): boolean {
  return wanted === undefined || wanted === found;
}
