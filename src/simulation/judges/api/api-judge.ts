/** Judges what an agent does at the simulated API server, at the moment at which the server carries it out. */
import { apiPath } from '../../../agent/cluster/service/api-resources.ts';
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  isMirrorPod,
} from '../../../agent/policies/pod/pod-kinds.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { StoredChange } from '../../api/api-store.ts';
import type { ApiWitness, RequestUnderWay } from '../../api/api-witness.ts';
import { isTerminal } from '../../api/served-pod-rules.ts';
import type { Violation } from '../../history.ts';
import { PodObjectJudge, type PodObjectTruth } from './pod-object-judge.ts';

export interface ApiJudgeOptions extends Omit<MirrorPodJudgeOptions, 'violated'> {
  readonly node: number;
  readonly now: () => number;
  readonly truth: PodObjectTruth;
  /** The pod of that name at the API server, also a mirror pod. */
  readonly podAt: (name: string) => Pod | undefined;
  readonly onViolation: (violation: Violation) => void;
}

/** Empty: not known. */
interface JudgedPod {
  readonly uid: string;
  readonly name?: string;
}

export class ApiJudge implements ApiWitness {
  readonly lease: LeaseJudge;
  readonly #options: ApiJudgeOptions;
  readonly #pods: PodObjectJudge;
  readonly #mirrors: MirrorPodJudge;
  /** The request that the server carries out now. */
  #landing: RequestUnderWay | undefined;
  readonly #hasChanged = new WeakSet<RequestUnderWay>();
  /** Deletions of mirror pods that were right when they were sent. */
  readonly #agreed = new WeakSet<RequestUnderWay>();
  /** By path, the UID of a pod whose deletion the server has shown to the agent, and no later state of it. */
  readonly #shownDeleted = new Map<string, string>();
  /** By a deletion, the UID of the pod that its sender knew to be deleted. */
  readonly #knownDeleted = new WeakMap<RequestUnderWay, string>();
  /** By the UID of a pod object, the connection of the agent that has written it last. */
  readonly #writers = new Map<string, number>();
  /** UIDs of pod objects at which a former agent's request came last: the present agent may not know of it when it writes. */
  readonly #overtaken = new Set<string>();
  /** Paths of objects at which something may have changed that the agent does not know of. */
  readonly #disturbed = new Set<string>();
  /** The number of the agent's connection. */
  #connection = 0;

  constructor(options: ApiJudgeOptions) {
    this.#options = options;
    const { now } = options;
    const violated = (invariant: string, subject: { readonly uid: string }, what: string) =>
      this.#violated(invariant, subject, what);
    this.#pods = new PodObjectJudge({ truth: options.truth, violated });
    this.#mirrors = new MirrorPodJudge({
      ...options,
      violated: (subject, what) => violated('mirror pods', subject, what),
    });
    this.lease = new LeaseJudge({ now, violated: (what) => violated('lease', { uid: '' }, what) });
  }

  requestBegan(request: RequestUnderWay): void {
    const { verb, target, connection } = request;
    this.#connection = Math.max(this.#connection, connection);
    if (verb !== 'delete' || target.resource !== 'pods') return;
    const pod = this.#options.podAt(nameOf(target));
    if (pod !== undefined && isMirrorPod(pod) && this.#mirrors.mayBeReplaced(pod)) this.#agreed.add(request);
    const deleted = this.#shownDeleted.get(apiPath(target));
    if (deleted !== undefined) this.#knownDeleted.set(request, deleted);
  }

  requestLands(request: RequestUnderWay): void {
    this.#landing = request;
    if (request.abandoned) this.#disturbed.add(apiPath(request.target));
    else if (request.target.resource === 'pods' && request.verb !== 'delete') this.#shows(request.target);
  }

  /** The answer will show the pod. */
  #shows(target: RequestUnderWay['target']): void {
    const { resource, namespace } = target;
    const name = nameOf(target);
    const path = apiPath({ resource, namespace, name });
    const { deletionTimestamp, uid = '' } = this.#options.podAt(name)?.metadata ?? {};
    if (deletionTimestamp === undefined) this.#shownDeleted.delete(path);
    else this.#shownDeleted.set(path, uid);
  }

  requestEnded(request: RequestUnderWay, answer: string): void {
    const { target, abandoned } = request;
    const path = apiPath(target);
    if (target.resource === 'leases' && (abandoned || answer !== 'done')) this.lease.delayed();
    if (abandoned || answer !== 'done') this.#disturbed.add(path);
    else this.#answered(request, path);
  }

  /** The store has changed. */
  changed({ resource, author, before, after }: StoredChange): void {
    const request = this.#landing;
    if (author === undefined) {
      if (resource === 'pods' && before === undefined && after !== undefined) this.#madeByUser(after as Pod);
      return;
    }
    if (request === undefined) return;
    this.#hasChanged.add(request);
    if (resource === 'leases' && !request.abandoned) this.lease.renewed();
    if (resource === 'pods') this.#podChanged(before as Pod | undefined, after as Pod | undefined, request);
  }

  /** An agent may have read the former object of that UID when it writes to the object that was made again. */
  #madeByUser({ metadata: { namespace, name, uid } }: Pod): void {
    const status = { resource: 'pods', namespace, name, subresource: 'status' } as const;
    if (this.#options.truth.wasMadeAgain(uid)) this.#disturbed.add(apiPath(status));
  }

  #podChanged(before: Pod | undefined, after: Pod | undefined, request: RequestUnderWay): void {
    const { uid } = (after ?? before)?.metadata ?? { uid: '' };
    const isOfFormerAgent = request.connection < this.#connection;
    const isLate =
      request.abandoned || this.#overtaken.delete(uid) || !this.#isOfOneLife(uid, before, request);
    if (isOfFormerAgent) this.#overtaken.add(uid);
    if (after === undefined) {
      this.#writers.delete(uid);
      this.#overtaken.delete(uid);
    } else this.#writers.set(uid, request.connection);
    if (before === undefined) {
      if (after !== undefined) this.#mirrors.made(after);
    } else if (after === undefined) {
      if (isMirrorPod(before)) this.#mirrors.removed(before, { isAgreed: this.#agreed.has(request) });
      else if (!this.#isOfFormerLife(uid, request)) this.#pods.removed(before);
    } else {
      const isMarked =
        before.metadata.deletionTimestamp === undefined && after.metadata.deletionTimestamp !== undefined;
      if (isMarked && !isMirrorPod(before)) this.#pods.marked(before);
      this.#pods.written(before, after, { isLate, isOfFormerAgent });
    }
  }

  /** The agent deletes what it knows to be deleted, and the UID was made again since. */
  #isOfFormerLife(uid: string, request: RequestUnderWay): boolean {
    return this.#knownDeleted.get(request) === uid && this.#options.truth.wasMadeAgain(uid);
  }

  /** An agent that finds nothing of a static pod starts it anew, and does not know what an earlier agent has written. */
  #isOfOneLife(uid: string, before: Pod | undefined, { connection }: RequestUnderWay): boolean {
    if (before === undefined || !isMirrorPod(before)) return true;
    return (this.#writers.get(uid) ?? connection) === connection;
  }

  /** A status is written only if it has a change: each change is written once. */
  #answered(request: RequestUnderWay, path: string): void {
    const { verb, target } = request;
    if (verb !== 'patch' || target.resource !== 'pods') return;
    const isNew = this.#hasChanged.has(request);
    if (!this.#disturbed.delete(path) && !isNew)
      this.#violated(
        'status',
        { uid: '', name: nameOf(target) },
        `${path} is written, although nothing in it is new`,
      );
  }

  #violated(invariant: string, { uid, name = '' }: JudgedPod, what: string): void {
    const { node, onViolation } = this.#options;
    onViolation({ invariant, node, what, ...(uid !== '' && { uid }), ...(name !== '' && { name }) });
  }
}

const nameOf = (target: RequestUnderWay['target']): string => ('name' in target ? target.name : '');

/** After this time the node counts as lost. */
const LEASE_DURATION_MS = 40_000;

export interface LeaseJudgeOptions {
  readonly now: () => number;
  readonly violated: (what: string) => void;
}

/** The lease of the node is renewed in time, whatever its pods do, as long as the API server answers. */
export class LeaseJudge {
  readonly #options: LeaseJudgeOptions;
  /** Since then it must be renewed in time: the last renewal, or the last reason for a delay. */
  #since: number | undefined;

  constructor(options: LeaseJudgeOptions) {
    this.#options = options;
  }

  renewed(): void {
    const overdueMs = this.overdueMs;
    if (overdueMs > 0) this.#options.violated(`the lease is renewed ${String(overdueMs / 1000)} s too late`);
    this.#since = this.#options.now();
  }

  /** A request for the lease failed, or could not be sent. */
  delayed(): void {
    if (this.#since !== undefined) this.#since = this.#options.now();
  }

  /** No agent runs that could renew it. */
  abandoned(): void {
    this.#since = undefined;
  }

  /** By how much the next renewal is late now. */
  get overdueMs(): number {
    const since = this.#since ?? Infinity;
    return Math.max(0, this.#options.now() - since - LEASE_DURATION_MS);
  }
}

interface MirrorPodJudgeOptions {
  /** The name of the static pod of that UID, if there ever was one. */
  readonly staticNameOf: (uid: string) => string | undefined;
  /** The UID of the static pod that is wanted under that name now. */
  readonly wantedUID: (name: string) => string | undefined;
  /** Whether the agent is still ending the pod of that UID. */
  readonly isEnding: (uid: string) => boolean;
  /** Whether the manifest of that UID was removed and came back: then the static pod lives again, and gets another mirror pod. */
  readonly wasWantedAgain: (uid: string) => boolean;
  /** Whether a person has deleted the pod of that UID on the node. */
  readonly wasDeletedByHand: (uid: string) => boolean;
  readonly violated: (subject: { readonly uid: string }, what: string) => void;
}

/** Mirror pods are made of static pods, and are not deleted as long as they are right. */
export class MirrorPodJudge {
  readonly #options: MirrorPodJudgeOptions;

  constructor(options: MirrorPodJudgeOptions) {
    this.#options = options;
  }

  made({ metadata }: Pod): void {
    const { name } = metadata;
    const hash = hashOf(metadata);
    const mirrored = metadata.annotations?.[CONFIG_MIRROR_ANNOTATION];
    if (mirrored !== hash) this.#violated(hash, `the mirror pod ${name} is one of ${String(mirrored)}`);
    if (this.#options.staticNameOf(hash) !== name)
      this.#violated(hash, `the mirror pod ${name} is made of no static pod of that name`);
  }

  /**
   * A mirror pod that has ended may be replaced: the same manifest may be wanted again. `isAgreed`: when the request was sent, the static pod was
   * wanted again, and this was the mirror pod of its earlier life.
   */
  removed(mirrorPod: Pod, { isAgreed = false } = {}): void {
    const { metadata } = mirrorPod;
    const { name, deletionTimestamp } = metadata;
    const hash = hashOf(metadata);
    if (deletionTimestamp !== undefined || isTerminal(mirrorPod)) return;
    const { wantedUID, wasWantedAgain, wasDeletedByHand, isEnding } = this.#options;
    const wanted = wantedUID(name);
    const isDeleted = wasDeletedByHand(hash);
    if (wanted === hash && !wasWantedAgain(hash) && !isDeleted)
      this.#violated(hash, `the mirror pod ${name} is deleted, although it is right`);
    // Another pod of its name may have started, which must have a mirror pod of its own, or the same one again.
    const isOwn = (wanted === undefined && !wasWantedAgain(hash)) || (wanted === hash && isDeleted);
    if (isOwn && isEnding(hash) && !isAgreed)
      this.#violated(hash, `the mirror pod ${name} is deleted before its static pod has ended`);
  }

  /** Whether the mirror pod may be deleted although its static pod is wanted. */
  mayBeReplaced({ metadata }: Pod): boolean {
    const { wantedUID, wasWantedAgain } = this.#options;
    const hash = hashOf(metadata);
    return wantedUID(metadata.name) === hash && wasWantedAgain(hash);
  }

  #violated(uid: string, what: string): void {
    this.#options.violated({ uid }, what);
  }
}

const hashOf = ({ annotations = {} }: Pod['metadata']): string => annotations[CONFIG_HASH_ANNOTATION] ?? '';
