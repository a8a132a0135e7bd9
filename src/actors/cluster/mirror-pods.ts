/** The mirror pods of this node at the API server: made for static pods, made anew, and deleted. No pod waits for this. */
import { ApiError, hasReason } from '../../cluster/service/api-error.ts';
import type { ApiServer } from '../../cluster/service/api-server.ts';
import { mirrorPodDeletion } from '../../policies/mirror-pods/mirror-pod-deletion.ts';
import { type MirrorPodPlan, planMirrorPod } from '../../policies/mirror-pods/mirror-pod-plan.ts';
import { newMirrorPod } from '../../policies/mirror-pods/new-mirror-pod.ts';
import { podFullName } from '../../policies/pod/pod-kinds.ts';
import { isTerminalPhase } from '../../policies/sync/pod-termination.ts';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { Node, Pod } from '../../types/kubernetes.ts';
import { type Logger, podFields } from '../../types/logger.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';

const RETRY_MS = 10_000;
/** A server that does not answer in this time counts as away. */
const ANSWER_MAX_MS = 30_000;

export interface MirrorPodsOptions {
  readonly api: ApiServer;
  readonly desired: DesiredPods;
  readonly nodeName: string;
  /** The node's own object; undefined while it is not known. */
  readonly node: () => Node | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** At most one request is in flight for each full name. After one that had no answer, the name rests for ten seconds. */
export class MirrorPods {
  readonly #options: MirrorPodsOptions;
  /** The static pod that was synced last, by full name. */
  readonly #synced = new Map<string, Pod>();
  /** Full names of the mirror pods that are being made or deleted. */
  readonly #busy = new Map<string, Promise<void>>();
  /** Full names for which no request is sent until the retry. */
  readonly #resting = new Set<string>();
  /** UIDs of orphans that the server has deleted, but the source `api` still shows. */
  readonly #deletedOrphans = new Set<string>();
  /** What went wrong last, by full name: it is logged once. */
  readonly #problems = new Map<string, string>();
  readonly #retry: Timer;
  readonly #abort = new AbortController();

  constructor(options: MirrorPodsOptions) {
    this.#options = options;
    this.#retry = new Timer(options.clock);
  }

  /**
   * The static pod is being synced: it gets its mirror pod if that is missing, or is that of another version, or of an earlier life of
   * the same version: what has ended at the API server does not begin again.
   */
  reconcile(pod: Pod): void {
    this.#check(pod, { isSyncing: true });
  }

  /** The node's object has appeared, or the server answers again. */
  reconcileAll(): void {
    this.#retry.disarm();
    this.#resting.clear();
    const { desired } = this.#options;
    for (const pod of [...this.#synced.values()])
      if (desired.has(pod.metadata.uid)) this.#check(pod, { isSyncing: false });
  }

  /** Deletes the mirror pods whose static pods are gone. One that is still terminating keeps its mirror pod, which shows its end. */
  deleteOrphans(isTerminating: (fullName: string) => boolean): void {
    const { desired } = this.#options;
    this.#forgetTheGone();
    for (const orphan of desired.orphanedMirrorPods()) {
      const name = podFullName(orphan);
      const { uid } = orphan.metadata;
      // Of two static pods of one name the other one may still be wanted.
      const isOrphan = desired.staticPodOf(orphan) === undefined && !isTerminating(name);
      if (isOrphan && this.#isIdle(name) && !this.#deletedOrphans.has(uid))
        this.#run(name, () => this.#deleteOrphan(orphan));
    }
  }

  /** Resolves when no request is in flight. */
  async stop(): Promise<void> {
    this.#abort.abort();
    this.#retry.disarm();
    await Promise.all(this.#busy.values());
  }

  #check(pod: Pod, { isSyncing }: { readonly isSyncing: boolean }): void {
    const name = podFullName(pod);
    this.#synced.set(name, pod);
    if (!this.#isIdle(name)) return;
    const plan = this.#plan(pod, isSyncing);
    if (asksForSomething(plan)) this.#run(name, () => this.#reconcile(name, plan));
  }

  #isIdle(name: string): boolean {
    return !this.#abort.signal.aborted && !this.#busy.has(name) && !this.#resting.has(name);
  }

  #plan(pod: Pod, isSyncing: boolean): MirrorPodPlan {
    const { desired, node } = this.#options;
    const mirrorPod = desired.mirrorPodOf(pod);
    const hasEnded =
      mirrorPod !== undefined && (desired.isOutlived(mirrorPod) || isTerminalPhase(mirrorPod.status?.phase));
    return planMirrorPod({ pod, mirrorPod, node: node(), hasEnded: isSyncing && hasEnded });
  }

  #forgetTheGone(): void {
    const { desired } = this.#options;
    for (const [name, { metadata }] of this.#synced)
      if (!desired.has(metadata.uid)) this.#synced.delete(name);
    const mirrorUIDs = new Set(Array.from(desired.mirrorPods(), ({ metadata: { uid } }) => uid));
    for (const uid of this.#deletedOrphans) if (!mirrorUIDs.has(uid)) this.#deletedOrphans.delete(uid);
  }

  #run(name: string, work: () => Promise<void>): void {
    const run = async () => {
      try {
        await work();
        this.#problems.delete(name);
      } catch (error) {
        this.#failed(name, error);
      } finally {
        this.#busy.delete(name);
      }
    };
    this.#busy.set(name, run());
  }

  /** Again, if meanwhile another static pod of this name was synced. */
  async #reconcile(name: string, plan: MirrorPodPlan): Promise<void> {
    let done: Pod | undefined;
    for (;;) {
      const pod = this.#synced.get(name);
      if (pod === undefined || pod.metadata.uid === done?.metadata.uid) return;
      await this.#carryOut(pod, done === undefined ? plan : this.#plan(pod, true));
      done = pod;
    }
  }

  async #carryOut(pod: Pod, plan: MirrorPodPlan): Promise<void> {
    if (plan.delete !== undefined && !(await this.#delete(plan.delete))) return;
    if (plan.create) await this.#create(pod);
  }

  /** Whether it was there and was deleted. */
  async #delete(mirrorPod: Pod): Promise<boolean> {
    const { api, logger } = this.#options;
    const { uid } = mirrorPod.metadata;
    const { name, namespace, ...options } = mirrorPodDeletion(podFullName(mirrorPod), uid);
    try {
      await api.delete({ resource: 'pods', namespace, name }, { ...options, ...this.#limits() });
    } catch (error) {
      // It is gone, or another one has its name: the source `api` will show it.
      if (hasReason(error, 'NotFound') || hasReason(error, 'Conflict')) return false;
      throw error;
    }
    logger.debug(podFields(mirrorPod.metadata), 'Deleted the mirror pod');
    return true;
  }

  async #create(pod: Pod): Promise<void> {
    const { api, nodeName, node, logger } = this.#options;
    const { namespace } = pod.metadata;
    try {
      await api.create({ resource: 'pods', namespace }, newMirrorPod(pod, nodeName, node()), this.#limits());
    } catch (error) {
      // The source `api` will show it, and whether it is the right one.
      if (hasReason(error, 'AlreadyExists')) return;
      throw error;
    }
    logger.debug(podFields(pod.metadata), 'Made the mirror pod');
  }

  async #deleteOrphan(orphan: Pod): Promise<void> {
    await this.#delete(orphan);
    this.#deletedOrphans.add(orphan.metadata.uid);
  }

  #limits() {
    return { signal: this.#abort.signal, timeoutMs: ANSWER_MAX_MS };
  }

  #failed(name: string, error: unknown): void {
    if (this.#abort.signal.aborted) return;
    const { logger, desired } = this.#options;
    const message = `Cannot bring the mirror pod ${name} up to date, will be tried again: ${errorMessage(error)}`;
    if (this.#problems.get(name) === message) logger.debug({}, message);
    else logger.warn({}, message);
    this.#problems.set(name, message);
    // A mirror pod that the server refuses is made again at the next sync of its static pod. An orphan has no static pod.
    if (isRetriable(error) || desired.getByFullName(name) === undefined)
      this.#rest(name, retryAfterMs(error));
  }

  #rest(name: string, delayMs: number): void {
    this.#resting.add(name);
    if (!this.#retry.isArmed) this.#retry.arm(Math.max(RETRY_MS, delayMs), () => this.reconcileAll());
  }
}

function asksForSomething({ delete: stale, create }: MirrorPodPlan): boolean {
  return stale !== undefined || create;
}

/** There was no answer, or the server was not able to do it. */
function isRetriable(error: unknown): boolean {
  return error instanceof StateletError && error.retriable;
}

function retryAfterMs(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
}
