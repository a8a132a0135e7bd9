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
  hasNoStatusYet,
  type KnownPods,
  outdatedVersions,
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

export interface StatusWriterParts {
  readonly api: ApiServer;
  readonly statusManager: StatusManager;
  readonly pods: KnownPods;
  /** By the UID on this node. A pod that could still run something does not become Failed or Succeeded at the API server. */
  readonly couldHaveRunningContainers: (uid: string) => boolean;
  /** The API server has that version of the status now. */
  readonly onWritten?: (uid: string, entry: VersionedStatus) => void;
  /** Whether the pods at the API server are those of this machine. While they are not, nothing is written. */
  readonly isOwnNode?: () => boolean;
}

/** How often statuses are compared with what the API server has. */
const COMPARE_PERIOD_MS = 10_000;
/** Pods whose statuses are written at the same time. Of one pod, one status is. */
const WRITES_AT_ONCE = 4;
const REQUEST_TIMEOUT_MS = 30_000;
/** So long after an answer with a pod, its next status is written without a look at the pod. A start has about three in a few seconds. */
const RECENT_MS = 10_000;
/** The server may learn of the pod's binding to this node later than the node: some refusals are passing. */
const PASSING_REFUSALS = 2;

/** A pod as the API server had it at that time (Unix ms), as far as a write needs it. */
interface Answer {
  readonly pod: Pod;
  readonly answeredAt: number;
}

/** A version of a status that is being written. */
interface Write {
  readonly version: number;
  readonly done: Promise<void>;
}

export class StatusWriter {
  readonly #context: ActorContext;
  readonly #parts: StatusWriterParts;
  readonly #actor: ActorRefFrom<typeof statusWriterMachine>;
  /** By UID at the API server, the newest version that it has. */
  readonly #written = new Map<string, number>();
  /** By UID at the API server, as it has last answered. */
  readonly #recent = new Map<string, Answer>();
  /** Pods whose status is to be written, in order: the UID at the API server by the UID on this node. */
  readonly #due = new Map<string, string>();
  /** By UID on this node. */
  readonly #underWay = new Map<string, Write>();
  /** Of these, the pods that have come again meanwhile: what is being written is of their former life. */
  readonly #outlived = new Set<string>();
  /** By UID, why the server refused the status, and how often. */
  readonly #refusals = new Map<string, { readonly problem: string; readonly times: number }>();
  /** By UID at the API server, pods of which a status was written, or at least sent. */
  readonly #sent = new Set<string>();
  readonly #delayed: DelayedVersions;
  readonly #compare: Timer;
  readonly #stop = new AbortController();
  #subscription: Subscription | undefined;
  #isLookDue = false;

  constructor(context: ActorContext, parts: StatusWriterParts) {
    this.#context = context;
    this.#parts = parts;
    const { clock } = context;
    this.#delayed = new DelayedVersions(clock, () => this.wake());
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
    return new Set([...this.#due.keys(), ...this.#underWay.keys()]).size;
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
    await Promise.all(Array.from(this.#underWay.values(), ({ done }) => done));
    this.#actor.send({ type: 'STOP' });
  }

  /** Looks for statuses to be written: one has changed, or a static pod has a mirror pod now. */
  wake(): void {
    if (this.#isLookDue) return;
    this.#isLookDue = true;
    // Of many changes in one turn, one look comes.
    queueMicrotask(() => {
      this.#isLookDue = false;
      this.#look(false);
    });
  }

  /** Resolves when the API server has every status, or does not answer. Before an agent ends with its pods, this tells how they ended. */
  async flush(): Promise<void> {
    this.#delayed.clear();
    this.#look(false);
    await waitFor(this.#actor, ({ value }) => value !== 'Writing' && value !== 'Trying');
  }

  /** The API server has answered something else. */
  connected(): void {
    this.#actor.send({ type: 'CONNECTED' });
  }

  #machine(): typeof statusWriterMachine {
    return statusWriterMachine.provide({
      actions: {
        writeSome: () => this.#write(WRITES_AT_ONCE),
        writeOne: () => this.#write(1),
        reportFailure: ({ context, event }) => this.#reportFailure(context, event),
        reportAnswer: () => this.#reportAnswer(),
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
    const [entries, written] = [statusManager.entries(), this.#written];
    if (all) this.#forgetOutdated();
    for (const { uid, apiUID, entry } of podsToWrite({ entries, written, pods, all })) {
      if (!all && this.#delayed.has(uid, entry.version)) continue;
      this.#due.set(uid, apiUID);
      // Others may have changed it.
      if (all) this.#recent.delete(apiUID);
    }
    if (this.#due.size > 0) this.#actor.send({ type: 'DUE' });
  }

  #changed({ uid, canWait }: StatusNews): void {
    const { statusManager, pods } = this.#parts;
    const entry = statusManager.entry(uid);
    const version = entry?.version;
    const apiUID = (entry && apiUIDOf(uid, entry.pod, pods)) ?? uid;
    // A pod that was forgotten and has come again counts its versions anew.
    if (version === 1) {
      this.#forgetPod(apiUID);
      if (this.#underWay.has(uid)) this.#outlived.add(uid);
    }
    // The server has the rest, or is being told it: a write that fails is made again, with the newest version.
    const told = [this.#written.get(apiUID), this.#underWay.get(uid)?.version];
    if (canWait && version !== undefined && told.includes(version - 1)) this.#delayed.add(uid, version);
    else this.wake();
  }

  #forgetOutdated(): void {
    const { statusManager, pods } = this.#parts;
    const known = (uid: string) => statusManager.entry(uid) !== undefined;
    for (const uid of outdatedVersions({ written: this.#written, pods, known })) this.#forgetPod(uid);
    for (const apiUID of this.#recent.keys()) if (!this.#recentOf(apiUID)) this.#recent.delete(apiUID);
    for (const apiUID of this.#sent) if (!known(pods.translateUID(apiUID))) this.#sent.delete(apiUID);
    for (const uid of this.#refusals.keys()) if (!known(uid)) this.#refusals.delete(uid);
  }

  /** That it was told stays known: where it comes again at once, the watch may show it as it was before that. */
  #forgetPod(apiUID: string): void {
    this.#written.delete(apiUID);
    this.#recent.delete(apiUID);
  }

  #recentOf(apiUID: string): Answer | undefined {
    const answer = this.#recent.get(apiUID);
    const ageMs = this.#context.clock.now() - (answer?.answeredAt ?? 0);
    return ageMs >= 0 && ageMs < RECENT_MS ? answer : undefined;
  }

  /** As the watch has shown it, where it has no status yet that could be lost. */
  #asSeen({ uid, apiUID }: PodToWrite): Answer | undefined {
    const { pods } = this.#parts;
    const pod = uid === apiUID && !this.#sent.has(apiUID) ? pods.get(uid) : undefined;
    if (pod === undefined || !hasNoStatusYet(pod)) return undefined;
    return { pod: withoutSpec(pod), answeredAt: this.#context.clock.now() };
  }

  #write(atOnce: number): void {
    // A later comparison finds them again.
    if (this.#parts.isOwnNode?.() === false) this.#due.clear();
    for (const [uid, apiUID] of this.#due) {
      if (this.#underWay.size >= atOnce) return;
      if (this.#underWay.has(uid)) continue;
      this.#due.delete(uid);
      const entry = this.#parts.statusManager.entry(uid);
      if (entry === undefined) continue;
      this.#underWay.set(uid, { version: entry.version, done: this.#writeOf({ uid, apiUID, entry }) });
    }
    if (this.#underWay.size === 0) this.#actor.send({ type: 'ALL_WRITTEN' });
  }

  async #writeOf(write: PodToWrite): Promise<void> {
    const { uid } = write;
    let event: StatusWriterEvent = { type: 'ANSWERED' };
    try {
      await this.#writeFromRecent(write);
      this.#refusals.delete(uid);
    } catch (error) {
      event = this.#notWritten(write, error);
    }
    this.#underWay.delete(uid);
    this.#outlived.delete(uid);
    this.#actor.send(event);
  }

  async #writeFromRecent(write: PodToWrite): Promise<void> {
    const { apiUID, entry } = write;
    const recent = canWriteUnread(entry) ? (this.#recentOf(apiUID) ?? this.#asSeen(write)) : undefined;
    // Only an answer that has come makes it recent again.
    this.#recent.delete(apiUID);
    this.#sent.add(apiUID);
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
      this.#written.set(served, entry.version);
      this.#recent.set(served, recent?.pod === pod ? recent : { pod: withoutSpec(pod), answeredAt: askedAt });
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
      // The status of its new life is due already.
      if (this.#outlived.has(uid)) return;
      step = conversation.next(answer);
    }
    if (step.value === 'written') return;
    this.#recent.delete(apiUID);
    logger.debug({ ...podFields(entry.pod.metadata) }, `At the API server the pod is ${step.value}`);
    // Its status goes with the pod; until then, only a newer one is a reason to look again.
    if (step.value === 'absent') this.#written.set(apiUID, entry.version);
    else if (statusManager.entry(uid) === entry) statusManager.drop(uid);
  }

  /** Undefined where there is no such pod. Of pods that are gone, the server says that they are not of this node. */
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
    const { clock, logger } = this.#context;
    const problem = errorMessage(error);
    if (!isRefusal(error)) {
      this.#due.set(uid, apiUID);
      const askedMs = error instanceof ApiError ? error.retryAfterMs : undefined;
      return { type: 'NOT_ANSWERED', problem, ...(askedMs !== undefined && { askedMs }), now: clock.now() };
    }
    // It is tried again when a status changes, and with the next comparison.
    const known = this.#refusals.get(uid);
    const times = known?.problem === problem ? known.times + 1 : 1;
    this.#refusals.set(uid, { problem, times });
    const toldAt = hasReason(error, 'Forbidden') ? PASSING_REFUSALS + 1 : 1;
    const line = `The API server refuses the status of the pod: ${problem}`;
    logger[times === toldAt ? 'warn' : 'debug']({ ...podFields(entry.pod.metadata) }, line);
    return { type: 'ANSWERED' };
  }

  /** Said once, not with each try. `context`: before the failure. */
  #reportFailure({ problem }: StatusWriterContext, event: StatusWriterEvent): void {
    if (event.type !== 'NOT_ANSWERED') return;
    const line = `Statuses of ${this.lagging} pods could not be written, and are tried again: ${event.problem}`;
    this.#context.logger[problem === undefined ? 'warn' : 'debug']({}, line);
  }

  #reportAnswer(): void {
    this.#context.logger.info({}, 'Statuses of pods are written again');
  }
}

/** The spec is the larger part, and no write needs it. */
function withoutSpec({ metadata, status }: Pod): Pod {
  return { metadata, spec: { containers: [] }, ...(status && { status }) };
}

/** The refusal is about this pod. Of others (401, 429, 5xx) all statuses would get the same answer. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && ![401, 429].includes(error.status);
}
