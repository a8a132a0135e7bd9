import type { Subscriber } from 'rxjs';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import type { ContainerEvent, ContainerEventType, ContainerStateName } from '../../types/cri.ts';
import type { EventFaults, RuntimeFaults } from './call-faults.ts';
import { answerTo, type Latencies, type Question, type Random, type Range, within } from './chance.ts';
import type { SimulatedPod } from './world.ts';
import type { SimulatedSandbox } from './simulated-sandbox.ts';

const NS_PER_MS = 1e6;

const EVENT_OF_STATE: Readonly<Partial<Record<ContainerStateName, ContainerEventType>>> = {
  CONTAINER_CREATED: 'CONTAINER_CREATED_EVENT',
  CONTAINER_RUNNING: 'CONTAINER_STARTED_EVENT',
  CONTAINER_EXITED: 'CONTAINER_STOPPED_EVENT',
};

export interface EventStreamsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly latencies: Latencies;
  readonly faultsOf: (uid: string) => RuntimeFaults;
  readonly pod: (uid: string) => SimulatedPod;
  readonly pods: () => Iterable<SimulatedPod>;
}

/** One subscription of one client. */
export interface EventStream {
  readonly connection: number;
  readonly subscriber: Subscriber<ContainerEvent>;
  /** Events with this number or a lower one happened before the stream was opened: they are not sent to it. */
  since: number;
  /** What was removed while the stream was broken; undefined while it is not broken. */
  missed: ContainerEvent[] | undefined;
}

interface SentEvent {
  readonly event: ContainerEvent;
  readonly sequence: number;
}

/** Sends events to clients, as the CRI client does. Faults may lose, delay, double and reorder them. */
export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #streams = new Set<EventStream>();
  #sequence = 0;
  /** To be sent in the next microtask. */
  #atOnce: SentEvent[] = [];
  readonly #reconnect: Timer;
  #reconnects = 0;
  #broken = false;

  constructor(options: EventStreamsOptions) {
    this.#options = options;
    this.#reconnect = new Timer(options.clock);
  }

  open(connection: number, subscriber: Subscriber<ContainerEvent>): EventStream {
    const stream: EventStream = {
      connection,
      subscriber,
      since: this.#sequence,
      missed: this.#broken ? [] : undefined,
    };
    this.#streams.add(stream);
    return stream;
  }

  close(stream: EventStream): void {
    this.#streams.delete(stream);
  }

  /** The client's process is gone: its streams get nothing more, not even a completion. */
  cut(connection: number): void {
    for (const stream of this.#streams) if (stream.connection === connection) this.#streams.delete(stream);
  }

  /** The client has closed its connection. */
  complete(connection: number): void {
    for (const stream of [...this.#streams]) {
      if (stream.connection === connection) stream.subscriber.complete();
    }
  }

  tell(type: ContainerEventType, id: string, sandbox: SimulatedSandbox): void {
    const { clock, latencies, faultsOf } = this.#options;
    const pod = this.#options.pod(sandbox.uid);
    const ordinal = pod.next('Event');
    if (this.#streams.size === 0) return;
    const event = eventOf(type, id, { sandbox, nowMs: clock.now() });
    if (type === 'CONTAINER_DELETED_EVENT') for (const { missed } of this.#streams) missed?.push(event);
    const sent = { event, sequence: ++this.#sequence };
    const faults = faultsOf(pod.uid).events;
    const latency = latencies.Event;
    if (faults === undefined && latency === undefined) {
      this.#sendSoon(sent);
      return;
    }
    const value = this.#options.random(`${pod.uid}/Event/${ordinal}`);
    const { delayMs, inOrder, againAfterMs } = planEvent(faults, latency, value);
    if (againAfterMs !== undefined) this.#sendAfter(sent, againAfterMs);
    if (delayMs === undefined) return;
    if (inOrder && latency !== undefined) this.#sendInOrder(sent, pod, delayMs);
    else this.#sendAfter(sent, delayMs);
  }

  /** The runtime went down. */
  breakAll(): void {
    this.#broken = true;
    this.#reconnect.disarm();
    for (const stream of this.#streams) stream.missed ??= [];
  }

  /**
   * The runtime is back: clients reconnect, and get an event for each present state in place of the events they have
   * missed.
   */
  mendAll(): void {
    const { random, latencies } = this.#options;
    const { Reconnect } = latencies;
    const mend = () => {
      this.#broken = false;
      for (const stream of [...this.#streams]) this.#repeatStates(stream);
    };
    this.#reconnects += 1;
    const delayMs = Reconnect === undefined ? 0 : within(Reconnect, random(`/Reconnect/${this.#reconnects}`));
    this.#reconnect.arm(delayMs, mend);
  }

  #repeatStates(stream: EventStream): void {
    const { missed } = stream;
    if (missed === undefined) return;
    const nowMs = this.#options.clock.now();
    stream.missed = undefined;
    stream.since = this.#sequence;
    const next = (type: ContainerEventType, id: string, sandbox: SimulatedSandbox) =>
      stream.subscriber.next(eventOf(type, id, { sandbox, nowMs }));
    for (const pod of this.#options.pods()) {
      for (const sandbox of pod.sandboxes) {
        next(sandbox.ready ? 'CONTAINER_STARTED_EVENT' : 'CONTAINER_STOPPED_EVENT', sandbox.id, sandbox);
        for (const { id, state } of sandbox.containers) {
          const type = EVENT_OF_STATE[state];
          if (type !== undefined) next(type, id, sandbox);
        }
      }
    }
    for (const event of missed) stream.subscriber.next({ ...event, createdAt: nowMs * NS_PER_MS });
  }

  /** Sends the event after all earlier ones of its pod. Timers of a real clock may fire out of order, hence the queue. */
  #sendInOrder(sent: SentEvent, pod: SimulatedPod, delayMs: number): void {
    const { clock } = this.#options;
    const now = clock.now();
    pod.lastEventAt = Math.max(now + delayMs, pod.lastEventAt);
    pod.eventsToTell.push(() => this.#send(sent));
    clock.setTimeout(() => pod.eventsToTell.shift()?.(), pod.lastEventAt - now);
  }

  #sendAfter(sent: SentEvent, delayMs: number): void {
    if (delayMs <= 0) this.#sendSoon(sent);
    else this.#options.clock.setTimeout(() => this.#send(sent), delayMs);
  }

  /** Sends the event in a microtask: never from within the call that causes it. */
  #sendSoon(sent: SentEvent): void {
    if (this.#atOnce.push(sent) > 1) return;
    queueMicrotask(() => {
      const due = this.#atOnce;
      this.#atOnce = [];
      for (const each of due) this.#send(each);
    });
  }

  #send({ event, sequence }: SentEvent): void {
    for (const { subscriber, since, missed } of this.#streams) {
      if (missed === undefined && sequence > since) subscriber.next(event);
    }
  }
}

function eventOf(
  containerEventType: ContainerEventType,
  containerId: string,
  { sandbox, nowMs }: { sandbox: SimulatedSandbox; nowMs: number },
): ContainerEvent {
  const createdAt = nowMs * NS_PER_MS;
  return { containerId, containerEventType, createdAt, podSandboxMetadata: sandbox.metadata };
}

/** When and how often an event is sent. */
export interface EventPlan {
  /** Undefined: it is lost. */
  readonly delayMs: number | undefined;
  /** It is sent after all earlier events of its pod. */
  readonly inOrder: boolean;
  /** When it is sent a second time; undefined: it is not. */
  readonly againAfterMs: number | undefined;
}

const LATENESS_MS: Range = [1000, 30_000];

const OVERTAKEN_MS: Range = [1, 500];

const AGAIN_MS: Range = [0, 2000];

const NO_LATENCY: Range = [0, 0];

/** `value` decides everything that is left to chance. */
export function planEvent(
  faults: EventFaults | undefined,
  latency: Range | undefined,
  value: number,
): EventPlan {
  const happens = (question: Question & keyof EventFaults): boolean =>
    answerTo(question, value) < (faults?.[question] ?? 0);
  const againAfterMs = happens('doubled') ? within(AGAIN_MS, answerTo('again', value)) : undefined;
  if (happens('lost')) return { delayMs: undefined, inOrder: false, againAfterMs };
  const delayMs = within(latency ?? NO_LATENCY, answerTo('latency', value));
  if (happens('late')) {
    return {
      delayMs: delayMs + within(LATENESS_MS, answerTo('lateness', value)),
      inOrder: false,
      againAfterMs,
    };
  }
  if (happens('reordered')) {
    return {
      delayMs: delayMs + within(OVERTAKEN_MS, answerTo('overtaken', value)),
      inOrder: false,
      againAfterMs,
    };
  }
  return { delayMs, inOrder: true, againAfterMs };
}
