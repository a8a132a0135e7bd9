import { sleep } from '../../../../system/timer.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import type { Clock } from '../../../../types/clock.ts';
import type { ContainerEvent, ContainerEventType, PodSandboxMetadata } from '../../../../types/cri.ts';
import { errorKind } from '../../../../types/errors.ts';
import type { Channel } from '../calls/channel.ts';
import type { ContainerEventResponse } from '../messages/container-messages.ts';
import { type Envelope, SUBSCRIBE } from '../messages/containerd-messages.ts';
import { GET_CONTAINER_EVENTS } from '../messages/methods.ts';

/** The wait between two attempts: doubling, as for a runtime that is down. */
const FIRST_DELAY_MS = 100;
const NS_PER_MS = 1e6;
const MAX_DELAY_MS = 5000;
/** A source that has ended this often in a row without an event counts as missing. */
const ATTEMPTS = 5;

export interface EventFeedOptions {
  readonly channel: Channel;
  readonly tell: (raw: RawEvent) => void;
  /** Emits the present states in place of events that were missed. Rejects if the runtime does not answer (yet). */
  readonly repeatStates: () => Promise<void>;
}

type Context = Pick<AgentContext, 'clock' | 'logger' | 'measurements'>;

interface Ending {
  /** `missing`: the runtime has no such source. `fruitless`: the source ended without an event. */
  readonly how: 'missing' | 'fruitless' | 'lost';
  /** Whether the runtime was up in between. */
  readonly wasUp: boolean;
}

/**
 * Listens to the first source of events that the runtime has, and again after it broke, until `signal` aborts. If the
 * runtime has no source, warns and resolves.
 */
export async function feedEvents(
  context: Context,
  options: EventFeedOptions,
  signal: AbortSignal,
): Promise<void> {
  let [source, other] = EVENT_SOURCES;
  let missing = 0;
  let failures = 0;
  let gap = false;
  let delayMs = FIRST_DELAY_MS;
  while (!signal.aborted) {
    const { how, wasUp } = await listen(context, options, source, gap, signal);
    failures = how === 'fruitless' ? failures + 1 : 0;
    if (how === 'missing' || failures === ATTEMPTS) {
      [source, other] = [other, source];
      missing += 1;
      failures = 0;
      if (missing < EVENT_SOURCES.length) continue;
      context.logger.warn({}, withoutEvents(options.channel.endpoint));
      return;
    }
    if (how === 'lost') missing = 0;
    gap = true;
    if (wasUp) delayMs = FIRST_DELAY_MS;
    await pause(context.clock, delayMs, signal);
    delayMs = Math.min(2 * delayMs, MAX_DELAY_MS);
  }
}

async function listen(
  { clock, measurements }: Context,
  { channel, tell, repeatStates }: EventFeedOptions,
  source: EventSource,
  gap: boolean,
  signal: AbortSignal,
): Promise<Ending> {
  const ended = new AbortController();
  const begunAt = clock.now();
  let heard = false as boolean;
  // As with the kubelet, these are of CRI's events alone.
  const measured = source === criEvents ? measurements?.pleg : undefined;
  const tellHeard = (raw: RawEvent): void => {
    heard = true;
    measured?.eventHeard(clock.now() - raw.createdAt / NS_PER_MS);
    tell(raw);
  };
  measured?.eventsAsked();
  if (gap) void untilDone(clock, repeatStates, ended.signal);
  const kind = await source(channel, tellHeard, signal).then(() => undefined, errorKind);
  ended.abort();
  if (!signal.aborted) measured?.eventsFailed();
  // An idle runtime has no events: a long stream without one counts as up, too.
  const wasUp = heard || clock.now() - begunAt >= MAX_DELAY_MS;
  if (kind === 'Unimplemented') return { how: 'missing', wasUp };
  return { how: heard || kind === 'Unavailable' || kind === 'Canceled' ? 'lost' : 'fruitless', wasUp };
}

async function untilDone(clock: Clock, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (let delayMs = FIRST_DELAY_MS; !signal.aborted; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
    try {
      await work();
      return;
    } catch {
      await pause(clock, delayMs, signal);
    }
  }
}

/** Resolves early when the signal aborts. */
const pause = (clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> =>
  sleep(clock, delayMs, signal).catch(() => undefined);

const withoutEvents = (endpoint: string): string =>
  `the container runtime at ${endpoint} sends no events: changes are only seen by relisting`;

/** An event from the runtime, before its pod is known. */
export interface RawEvent {
  readonly id: string;
  readonly type: ContainerEventType;
  /** Unix nanoseconds. */
  readonly createdAt: number;
  /** Whether the runtime's status may still show the state before the event. */
  readonly early?: boolean;
  /** If the event names the pod. */
  readonly pod?: PodSandboxMetadata;
}

export interface HintsOptions {
  /** Undefined if the pod is not known yet. */
  readonly podOf: (id: string) => PodSandboxMetadata | undefined;
  /** Asks the runtime for the pod. */
  readonly lookUp: (id: string) => Promise<PodSandboxMetadata | undefined>;
  /** Resolves when the runtime's status shows the event: to that time in Unix nanoseconds, or undefined for the event's own time. */
  readonly whenShown: (raw: RawEvent) => Promise<number | undefined>;
  readonly emit: (event: ContainerEvent) => void;
}

/** Turns events into hints: finds the pod, waits until the status shows the event, and keeps the order of each id's events. */
export class Hints {
  readonly #options: HintsOptions;
  readonly #queues = new Map<string, Promise<void>>();

  constructor(options: HintsOptions) {
    this.#options = options;
  }

  tell(raw: RawEvent): void {
    const { id, early } = raw;
    const before = this.#queues.get(id);
    const pod = raw.pod ?? this.#options.podOf(id);
    if (before === undefined && pod !== undefined && early !== true) {
      this.#emit(raw, pod);
      return;
    }
    const queue = (before ?? Promise.resolve())
      .then(() => this.#emitLater(raw))
      .finally(() => {
        if (this.#queues.get(id) === queue) this.#queues.delete(id);
      });
    this.#queues.set(id, queue);
  }

  /** If the pod is not found, there is no hint: the relist will find the change. */
  async #emitLater(raw: RawEvent): Promise<void> {
    const { podOf, lookUp, whenShown } = this.#options;
    const { id, early } = raw;
    try {
      const pod = raw.pod ?? podOf(id) ?? (await lookUp(id));
      if (pod === undefined) return;
      const shownAt = early === true ? await whenShown(raw) : undefined;
      this.#emit({ ...raw, createdAt: shownAt ?? raw.createdAt }, pod);
    } catch {
      // The runtime does not answer, or the connection was closed.
    }
  }

  #emit({ id, type, createdAt }: RawEvent, podSandboxMetadata: PodSandboxMetadata): void {
    this.#options.emit({ containerId: id, containerEventType: type, createdAt, podSandboxMetadata });
  }
}

/** The namespace of containerd's CRI plugin. */
const NAMESPACE = 'k8s.io';

/**
 * A task is the running part of a container or a sandbox. It is deleted after its end; containerd's CRI plugin shows the end
 * about 15 ms after that event. The plugin forgets a container after the event of its deletion. Commands inside a container
 * delete no task when they exit.
 */
const TYPE_OF_TOPIC: Readonly<Record<string, ContainerEventType>> = {
  '/containers/create': 'CONTAINER_CREATED_EVENT',
  '/tasks/start': 'CONTAINER_STARTED_EVENT',
  '/tasks/delete': 'CONTAINER_STOPPED_EVENT',
  '/containers/delete': 'CONTAINER_DELETED_EVENT',
};

const EARLY: ReadonlySet<ContainerEventType> = new Set([
  'CONTAINER_STOPPED_EVENT',
  'CONTAINER_DELETED_EVENT',
]);

/** Passes on events until the runtime ends the stream, which resolves, or something fails. */
type EventSource = (channel: Channel, tell: (raw: RawEvent) => void, signal: AbortSignal) => Promise<void>;

/** CRI's own service, which not every runtime has; containerd has it since 1.7. */
const criEvents: EventSource = (channel, tell, signal) => {
  const onAnswer = (event: ContainerEventResponse): void => {
    const { containerId: id, containerEventType: type, createdAt, podSandboxStatus } = event;
    tell({ id, type, createdAt, pod: podSandboxStatus?.metadata });
  };
  return channel.listen(GET_CONTAINER_EVENTS, {}, { signal, onAnswer });
};

const containerdEvents: EventSource = (channel, tell, signal) => {
  const filters = Object.keys(TYPE_OF_TOPIC).map((topic) => `namespace==${NAMESPACE},topic=="${topic}"`);
  const headers = { 'containerd-namespace': NAMESPACE };
  const onAnswer = ({ topic, timestamp, event }: Envelope): void => {
    const type = TYPE_OF_TOPIC[topic];
    const id = event?.value?.id;
    if (type === undefined || id === undefined) return;
    const createdAt = (timestamp?.seconds ?? 0) * 1e9 + (timestamp?.nanos ?? 0);
    tell({ id, type, createdAt, early: EARLY.has(type) });
  };
  return channel.listen(SUBSCRIBE, { filters }, { signal, headers, onAnswer });
};

/** The sources, in the order in which they are tried. */
const EVENT_SOURCES: readonly [EventSource, EventSource] = [criEvents, containerdEvents];
