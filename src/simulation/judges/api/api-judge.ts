/** Judges what an agent does at the simulated API server, at the moment at which the server carries it out. */
import { apiPath } from '../../../cluster/service/api-resources.ts';
import { isMirrorPod } from '../../../policies/pod/pod-kinds.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { StoredChange } from '../../api/api-store.ts';
import type { ApiWitness, RequestUnderWay } from '../../api/api-witness.ts';
import type { Violation } from '../../history.ts';
import { LeaseJudge } from './lease-judge.ts';
import { MirrorPodJudge, type MirrorPodJudgeOptions } from './mirror-pod-judge.ts';
import { PodObjectJudge, type PodObjectTruth } from './pod-object-judge.ts';

export interface ApiJudgeOptions extends Omit<MirrorPodJudgeOptions, 'violated'> {
  readonly node: number;
  readonly now: () => number;
  readonly truth: PodObjectTruth;
  readonly onViolation: (violation: Violation) => void;
}

export class ApiJudge implements ApiWitness {
  readonly lease: LeaseJudge;
  readonly #options: ApiJudgeOptions;
  readonly #pods: PodObjectJudge;
  readonly #mirrors: MirrorPodJudge;
  /** The request that the server carries out now. */
  #landing: RequestUnderWay | undefined;
  readonly #hasChanged = new WeakSet<RequestUnderWay>();
  /** Paths of objects at which something may have changed that the agent does not know of. */
  readonly #disturbed = new Set<string>();

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

  requestLands(request: RequestUnderWay): void {
    this.#landing = request;
    if (request.abandoned) this.#disturbed.add(apiPath(request.target));
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
    if (author === undefined || request === undefined) return;
    this.#hasChanged.add(request);
    if (resource === 'leases' && !request.abandoned) this.lease.renewed();
    if (resource === 'pods')
      this.#podChanged(before as Pod | undefined, after as Pod | undefined, request.abandoned);
  }

  #podChanged(before: Pod | undefined, after: Pod | undefined, isLate: boolean): void {
    if (before === undefined) {
      if (after !== undefined) this.#mirrors.made(after);
    } else if (after === undefined) {
      if (isMirrorPod(before)) this.#mirrors.removed(before);
      else this.#pods.removed(before);
    } else this.#pods.written(before, after, { isLate });
  }

  /** A status that says nothing new is not written: of each change, the server hears once. */
  #answered(request: RequestUnderWay, path: string): void {
    const { verb, target } = request;
    if (verb !== 'patch' || target.resource !== 'pods') return;
    const isNew = this.#hasChanged.has(request);
    if (!this.#disturbed.delete(path) && !isNew)
      this.#violated('status', { uid: '' }, `${path} is written, and it says nothing new`);
  }

  #violated(invariant: string, { uid }: { readonly uid: string }, what: string): void {
    const { node, onViolation } = this.#options;
    onViolation({ invariant, node, what, ...(uid !== '' && { uid }) });
  }
}
