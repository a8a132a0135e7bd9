/** Sends events to the API server, one after the other. A caller that records an event never waits for the server. */
import type { ApiServer } from '../../cluster/service/api-server.ts';
import { ApiError, hasNoNamespace, hasReason } from '../../cluster/service/api-error.ts';
import { type CorrelatedEvent, isLogOnly } from '../../policies/cluster/event-correlation.ts';
import { type EventReport, inPlaceOf } from '../../policies/cluster/event-object.ts';
import { EventReports, type EventReportsParts } from '../../policies/cluster/event-reports.ts';
import { sleep, Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { EventRecorder } from '../../../types/event-recorder.ts';

/** As in client-go. */
const QUEUED_MAX = 1_000;
const TRIES_MAX = 12;
const RETRY_MS = 10_000;
/** A server that does not answer in this time counts as away. */
const ANSWER_MAX_MS = 30_000;
/** For how long an agent that ends sends the events that wait. */
const LAST_EVENTS_MAX_MS = 2_000;

export interface EventSenderParts extends Pick<EventReportsParts, 'nodeName' | 'nodeUID' | 'podOf'> {
  readonly api: ApiServer;
  readonly uuid: () => string;
}

type Context = Pick<AgentContext, 'clock' | 'random' | 'logger'>;

export class EventSender extends EventReports {
  readonly #context: Context;
  readonly #api: ApiServer;
  /** Reports whose sending has not begun, oldest first: one for each event object. */
  readonly #queue = new Map<string, EventReport>();
  /** The agent ends: nothing is tried again. */
  readonly #stopping = new AbortController();
  /** Aborts the request in flight. */
  readonly #abort = new AbortController();
  #sending: Promise<void> | undefined;
  #isRefused = false;

  constructor(context: Context, { api, uuid, ...parts }: EventSenderParts) {
    super({ ...parts, now: () => context.clock.now(), otherName: uuid });
    this.#context = context;
    this.#api = api;
  }

  override event(...args: Parameters<EventRecorder['event']>): void {
    const [, , reason] = args;
    if (!isLogOnly(reason)) super.event(...args);
  }

  /** Takes no more events, and sends those that wait, if the server answers. Resolves when no request is in flight. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const limit = new Timer(this.#context.clock);
    limit.arm(LAST_EVENTS_MAX_MS, () => this.#abort.abort());
    await this.#sending;
    limit.disarm();
  }

  protected override take(report: EventReport, { isSpam }: CorrelatedEvent): void {
    if (!isSpam && !this.#stopping.signal.aborted) this.#enqueue(report);
  }

  /** While the server is away, an event that happens again changes only the count of the report that waits. */
  #enqueue(report: EventReport): void {
    const unsent = this.#queue.get(report.key);
    if (unsent === undefined && this.#queue.size >= QUEUED_MAX) {
      this.#context.logger.debug({ reason: report.event.reason }, 'Too many events wait: one is not sent');
      return;
    }
    this.#queue.set(report.key, unsent === undefined ? report : inPlaceOf(unsent, report));
    this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    // The caller goes on first.
    await Promise.resolve();
    for (const [key, report] of this.#queue) {
      this.#queue.delete(key);
      await this.#send(report);
    }
    this.#sending = undefined;
  }

  async #send(report: EventReport): Promise<void> {
    const { clock, random } = this.#context;
    for (let tries = 1; !this.#abort.signal.aborted; tries += 1) {
      try {
        await this.#write(report);
        this.#isRefused = false;
        return;
      } catch (error) {
        if (this.#isOver(report, tries, error)) return;
        // The server does not answer: it would not answer the others either.
        if (this.#stopping.signal.aborted) this.#abort.abort();
        // A random delay, so that not all nodes come back at the same moment.
        const delayMs = tries === 1 ? random() * RETRY_MS : RETRY_MS;
        await sleep(clock, delayMs, this.#stopping.signal).catch(() => undefined);
      }
    }
  }

  async #write({ isUpdate, event, patch }: EventReport): Promise<void> {
    const api = this.#api;
    const collection = { resource: 'events', namespace: event.metadata.namespace } as const;
    const options = { signal: this.#abort.signal, timeoutMs: ANSWER_MAX_MS };
    if (isUpdate) {
      try {
        await api.patch({ ...collection, name: event.metadata.name }, patch, options);
        return;
      } catch (error) {
        // The server forgets events after an hour.
        if (!hasReason(error, 'NotFound')) throw error;
      }
    }
    await api.create(collection, event, options);
  }

  /** What the server refused is not sent again; where there was no answer, some more times. */
  #isOver({ event }: EventReport, tries: number, error: unknown): boolean {
    if (this.#abort.signal.aborted) return true;
    const isRefused = error instanceof ApiError;
    if (!isRefused && tries < TRIES_MAX) return false;
    const { logger } = this.#context;
    const fields = { reason: event.reason, object: `${event.metadata.namespace}/${event.metadata.name}` };
    const what = isRefused ? 'The API server refused an event' : 'An event could not be sent';
    const message = `${what}: ${errorMessage(error)}`;
    // The event exists: the answer to an earlier request was lost. Or its namespace is gone: pods that end with it still record events.
    const isExpected = hasReason(error, 'AlreadyExists') || hasNoNamespace(error);
    if (this.#isRefused || isExpected) logger.debug(fields, message);
    else logger.warn(fields, message);
    this.#isRefused = isRefused && !isExpected;
    return true;
  }
}
