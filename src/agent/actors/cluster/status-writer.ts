/** The actor that writes pod statuses to the API server, and its effects. No pod waits for it. */
import type { Subscription } from 'rxjs';
import { type ActorRefFrom, type AnyActorRef, waitFor } from 'xstate';
import { ApiError, hasReason } from '../../cluster/service/api-error.ts';
import type { ObjectReference } from '../../cluster/service/api-resources.ts';
import type { ApiServer } from '../../cluster/service/api-server.ts';
import {
  statusWriterMachine,
  type StatusWriterContext,
  type StatusWriterEvent,
} from '../../machines/status-writer-machine.ts';
import { rfc3339 } from '../../policies/formats/time.ts';
import {
  apiUIDOf,
  canWriteUnread,
  type KnownPods,
  podsToWrite,
  type PodToWrite,
  type StatusRequest,
  writeStatus,
} from '../../policies/cluster/status-write.ts';
import type { VersionedStatus } from '../../policies/cluster/status-versions.ts';
import { Timer } from '../../../system/timer.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Pod, PodCondition } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor } from '../agent-actor.ts';
import type { StatusManager, StatusNews } from '../pods/status-manager.ts';
import { DelayedVersions } from './delayed-versions.ts';
import { type Answer, SentStatuses } from './sent-statuses.ts';

export interface StatusWriterParts {
  readonly api: ApiServer;
  readonly statusManager: StatusManager;
  readonly pods: KnownPods;
  /** By the UID on this node. While containers of a pod may run, it does not become Failed or Succeeded at the API server. */
  readonly couldHaveRunningContainers: (uid: string) => boolean;
  /** The API server has that version of the status now. */
  readonly onWritten?: (uid: string, entry: VersionedStatus) => void;
  /** Whether the pods at the API server are those of this machine. While they are not, nothing is written. */
  readonly isOwnNode?: () => boolean;
}

/** How often statuses are compared with what the API server has. */
const COMPARE_PERIOD_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** This many refusals in a row may pass by themselves: the server may learn later than the node that the pod is bound to it. */
const PASSING_REFUSALS = 2;

export class StatusWriter {
  readonly #context: ActorContext;
  readonly #parts: StatusWriterParts;
  readonly #actor: ActorRefFrom<typeof statusWriterMachine>;
  readonly #sent: SentStatuses;
  readonly #delayed: DelayedVersions;
  readonly #compare: Timer;
  /** Pods to be looked at: their status has changed, waits for the next change, or was refused. */
  readonly #changes = new Set<string>();
  readonly #stop = new AbortController();
  #subscription: Subscription | undefined;
  #isLookDue = false;

  constructor(context: ActorContext, parts: StatusWriterParts) {
    this.#context = context;
    this.#parts = parts;
    const { clock } = context;
    this.#sent = new SentStatuses(clock);
    this.#delayed = new DelayedVersions(clock, () => this.#wake());
    this.#compare = new Timer(clock);
    this.#actor = agentActor(context, this.#machine(), {
      id: 'status-writer',
      title: 'the writer of pod statuses',
    });
    this.#actor.subscribe({ error: () => this.#compare.disarm() });
  }

  get actor(): AnyActorRef {
    return this.#actor;
  }

  /** How many pods have a status that the API server does not have yet. */
  get lagging(): number {
    return laggingOf(this.#actor.getSnapshot().context);
  }

  start(): void {
    this.#actor.start();
    this.#subscription = this.#parts.statusManager.news.subscribe((news) => this.#changed(news));
    this.#armComparison();
    this.wake();
  }

  /** Resolves when no request is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#subscription?.unsubscribe();
    this.#compare.disarm();
    this.#delayed.clear();
    await waitFor(this.#actor, ({ status, context }) => status !== 'active' || context.underWay.length === 0);
    this.#actor.send({ type: 'STOP' });
  }

  /** Looks at all statuses: a static pod may have a mirror pod now. */
  wake(): void {
    for (const [uid] of this.#parts.statusManager.entries()) this.#changes.add(uid);
    this.#wake();
  }

  #wake(): void {
    if (this.#isLookDue) return;
    this.#isLookDue = true;
    // Many changes in one turn lead to one look.
    queueMicrotask(() => {
      this.#isLookDue = false;
      this.#look(false);
    });
  }

  /**
   * Resolves when the API server has every status, or does not answer. An agent that ends its pods waits for this, so that the server knows how they
   * ended.
   */
  async flush(): Promise<void> {
    this.#delayed.clear();
    this.#look(false);
    await waitFor(this.#actor, ({ value }) => value !== 'Writing' && value !== 'Trying');
  }

  /** The API server has answered another request. */
  connected(): void {
    this.#actor.send({ type: 'CONNECTED' });
  }

  #machine(): typeof statusWriterMachine {
    return statusWriterMachine.provide({
      actions: {
        write: (_, { uid }) => this.#write(uid),
        reportFailure: ({ context, event }) => this.#reportFailure(context, event),
        reportAnswer: () => this.#context.logger.info({}, 'Statuses of pods are written again'),
      },
    });
  }

  #armComparison(): void {
    this.#compare.arm(COMPARE_PERIOD_MS, () => {
      this.#armComparison();
      this.#look(true);
    });
  }

  #look(all: boolean): void {
    const { statusManager, pods, isOwnNode } = this.#parts;
    if (this.#stop.signal.aborted || isOwnNode?.() === false) return;
    if (all) this.#sent.tidy(pods, (uid) => statusManager.entry(uid) !== undefined);
    const entries = all ? statusManager.entries() : this.#changedEntries();
    const due: PodToWrite[] = [];
    this.#changes.clear();
    for (const write of podsToWrite({ entries, written: this.#sent, pods, all })) {
      if (all || !this.#delayed.has(write.uid, write.entry.version)) due.push(write);
      else this.#changes.add(write.uid);
    }
    if (all) for (const { apiUID } of due) this.#sent.forgetAnswer(apiUID);
    const known = new Set(this.#actor.getSnapshot().context.due);
    const uids = due.map(({ uid }) => uid).filter((uid) => !known.has(uid));
    if (uids.length > 0) this.#actor.send({ type: 'DUE', uids });
  }

  #changedEntries(): readonly (readonly [uid: string, VersionedStatus])[] {
    return [...this.#changes].flatMap((uid) => {
      const entry = this.#parts.statusManager.entry(uid);
      return entry === undefined ? [] : [[uid, entry] as const];
    });
  }

  #changed({ uid, canWait }: StatusNews): void {
    const { statusManager, pods } = this.#parts;
    const entry = statusManager.entry(uid);
    if (entry === undefined) return;
    this.#changes.add(uid);
    const { pod, version } = entry;
    const apiUID = apiUIDOf(uid, pod, pods) ?? uid;
    const isUnderWay = this.#actor.getSnapshot().context.underWay.includes(uid);
    // A pod that was forgotten and has come again counts its versions anew.
    if (version === 1) {
      this.#sent.beginLife(apiUID);
      if (isUnderWay) this.#actor.send({ type: 'CAME_AGAIN', uid });
    }
    // The server has the version before, or it is being written: a write that fails is made again, with the newest version.
    if (canWait && (isUnderWay || this.#sent.get(apiUID) === version - 1)) this.#delayed.add(uid, version);
    else this.#wake();
  }

  #write(uid: string): void {
    const { statusManager, pods, isOwnNode } = this.#parts;
    // While the Node object belongs to another machine, nothing is written: a later comparison finds the status again.
    const entry = isOwnNode?.() === false ? undefined : statusManager.entry(uid);
    const apiUID = entry && apiUIDOf(uid, entry.pod, pods);
    if (entry && apiUID) void this.#writeOf({ uid, apiUID, entry });
    else this.#actor.send({ type: 'DROPPED', uid });
  }

  async #writeOf(write: PodToWrite): Promise<void> {
    let event: StatusWriterEvent = { type: 'ANSWERED', uid: write.uid };
    try {
      await this.#writeFromRecent(write);
      this.#sent.accepted(write.apiUID);
    } catch (error) {
      event = this.#notWritten(write, error);
    }
    this.#actor.send(event);
  }

  async #writeFromRecent(write: PodToWrite): Promise<void> {
    const { uid, apiUID, entry } = write;
    const seen = uid === apiUID ? this.#parts.pods.get(uid) : undefined;
    const recent = canWriteUnread(entry) ? this.#sent.recent(apiUID, seen) : undefined;
    this.#sent.sending(apiUID);
    try {
      await this.#writeWith(write, recent);
    } catch (error) {
      if (recent === undefined || !isRefusal(error)) throw error;
      // Another pod may have taken the name since.
      await this.#writeWith(write, undefined);
    }
  }

  async #writeWith({ uid, apiUID, entry }: PodToWrite, recent: Answer | undefined): Promise<void> {
    const { statusManager, pods, couldHaveRunningContainers } = this.#parts;
    const { clock, logger } = this.#context;
    const askedAt = clock.now();
    const onWritten = (served: string, pod: Pod, disruption: PodCondition | undefined) => {
      if (disruption) statusManager.disruptionTold(uid, disruption);
      this.#sent.written(served, entry.version, recent?.pod === pod ? recent : { pod, answeredAt: askedAt });
      this.#parts.onWritten?.(uid, entry);
    };
    const conversation = writeStatus({
      uid,
      entry,
      pods,
      recent: recent?.pod,
      couldHaveRunningContainers: () => couldHaveRunningContainers(uid),
      now: () => rfc3339(clock.now()),
      onWritten,
    });
    let step = conversation.next();
    while (step.done !== true) {
      const answer = await this.#ask(entry.pod, step.value);
      // The pod has begun a new life, whose status is due already.
      if (this.#actor.getSnapshot().context.outlived.includes(uid)) return;
      step = conversation.next(answer);
    }
    if (step.value === 'written') return;
    logger.debug({ ...podFields(entry.pod.metadata) }, `At the API server the pod is ${step.value}`);
    // The status is dropped with the pod. Until then, only a newer one is a reason to look again.
    if (step.value === 'absent') this.#sent.written(apiUID, entry.version);
    else this.#sent.forgetAnswer(apiUID);
    if (step.value !== 'absent' && statusManager.entry(uid) === entry) statusManager.drop(uid);
  }

  /** Undefined where there is no such pod. Of a pod that is gone, the server says that it is not of this node. */
  async #ask({ metadata: { namespace, name, uid } }: Pod, request: StatusRequest): Promise<Pod | undefined> {
    const { api, pods } = this.#parts;
    const limits = { signal: this.#stop.signal, timeoutMs: REQUEST_TIMEOUT_MS, isOnlyForNow: true };
    const pod: ObjectReference = { resource: 'pods', namespace, name };
    try {
      switch (request.verb) {
        case 'get':
          return await api.get<Pod>(pod, limits);
        case 'patch':
          return await api.patch<Pod>({ ...pod, subresource: 'status' }, request.patch, limits);
        case 'delete':
          await api.delete(pod, { gracePeriodSeconds: 0, uid: request.uid, ...limits });
          return undefined;
      }
    } catch (error) {
      const isGone = hasReason(error, 'Forbidden') && pods.get(uid) === undefined;
      if (isGone || hasReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  #notWritten({ uid, apiUID, entry }: PodToWrite, error: unknown): StatusWriterEvent {
    const problem = errorMessage(error);
    if (!isRefusal(error)) {
      const askedMs = error instanceof ApiError ? error.retryAfterMs : undefined;
      return { type: 'NOT_ANSWERED', uid, problem, askedMs };
    }
    // It is tried again when a status changes, and with the next comparison.
    this.#changes.add(uid);
    const times = this.#sent.refused(apiUID, problem);
    const toldAt = hasReason(error, 'Forbidden') ? PASSING_REFUSALS + 1 : 1;
    const line = `The API server refuses the status of the pod: ${problem}`;
    this.#context.logger[times === toldAt ? 'warn' : 'debug']({ ...podFields(entry.pod.metadata) }, line);
    return { type: 'ANSWERED', uid };
  }

  /** Logs a problem once, not with each try. The context is from before the failure. */
  #reportFailure(context: StatusWriterContext, event: StatusWriterEvent): void {
    if (event.type !== 'NOT_ANSWERED') return;
    const line = `Statuses of ${laggingOf(context)} pods could not be written, and are tried again: ${event.problem}`;
    this.#context.logger[context.problem === undefined ? 'warn' : 'debug']({}, line);
  }
}

function laggingOf({ due, underWay }: StatusWriterContext): number {
  return new Set([...due, ...underWay]).size;
}

/** Whether the server refused this one status. Other errors (401, 429, 5xx) would meet all statuses alike. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && ![401, 429].includes(error.status);
}
