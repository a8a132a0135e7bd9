/** The mirror pods of this node at the API server: made for static pods, made anew, and deleted. No pod waits for this. */
import { hasReason, retryAfterMs } from '../../cluster/service/api-error.ts';
import type { ApiServer } from '../../cluster/service/api-server.ts';
import {
  mirrorPodDeletion,
  type MirrorPodPlan,
  newMirrorPod,
  planMirrorPod,
} from '../../policies/cluster/mirror-pod.ts';
import { podFullName } from '../../policies/pod/pod-kinds.ts';
import { isTerminalPhase } from '../../policies/termination/pod-termination.ts';
import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Node, Pod } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { EndedPods } from '../pods/ended-pods.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';

const RETRY_MS = 10_000;
/** A server that does not answer in this time counts as away. */
const ANSWER_MAX_MS = 30_000;

export interface MirrorPodsParts {
  readonly api: ApiServer;
  readonly desired: DesiredPods;
  /** The static pods that a person has deleted on this node: they have no mirror pods once they have ended. */
  readonly deleted: Pick<EndedPods, 'has'>;
  readonly nodeName: string;
  /** The node's own object; undefined while it is not known. */
  readonly node: () => Node | undefined;
}

/** At most one request is in flight for each full name. After one that had no answer, the name rests for ten seconds. */
export class MirrorPods {
  readonly #context: AgentContext;
  readonly #parts: MirrorPodsParts;
  /** The static pod that was synced last, by full name. */
  readonly #synced = new Map<string, Pod>();
  /** Full names of the mirror pods that are being made or deleted. */
  readonly #busy = new Map<string, Promise<void>>();
  /** Full names for which something was to be done when they were busy. */
  readonly #again = new Set<string>();
  /** Full names for which no request is sent until the retry. */
  readonly #resting = new Set<string>();
  /** UIDs of orphans that the server has deleted, but the source `api` still shows. */
  readonly #deletedOrphans = new Set<string>();
  /** What went wrong last, by full name: it is logged once. */
  readonly #problems = new Map<string, string>();
  readonly #retry: Timer;
  readonly #abort = new AbortController();

  constructor(context: AgentContext, parts: MirrorPodsParts) {
    this.#context = context;
    this.#parts = parts;
    this.#retry = new Timer(context.clock);
  }

  /** The static pod is being synced: it gets its mirror pod if that is missing or is that of another version. */
  reconcile(pod: Pod): void {
    const name = podFullName(pod);
    this.#synced.set(name, pod);
    if (!asksForSomething(this.#plan(pod))) return;
    if (this.#busy.has(name)) this.#again.add(name);
    if (this.#isIdle(name)) this.#run(name, () => this.#reconcile(pod));
  }

  /** The node's object has appeared, or the server answers again. */
  reconcileAll(): void {
    this.#retry.disarm();
    this.#resting.clear();
    for (const name of [...this.#synced.keys()]) this.reconcileAgain(name);
  }

  /** The same for the static pod of that full name that was synced last, if it is still wanted. */
  reconcileAgain(fullName: string): void {
    const pod = this.#synced.get(fullName);
    if (pod !== undefined && this.#parts.desired.has(pod.metadata.uid)) this.reconcile(pod);
  }

  /**
   * Deletes the mirror pods of static pods that are gone, that a person has deleted, or that wait to start again. A static pod that is still
   * terminating keeps its mirror pod, which shows its end.
   */
  deleteOrphans(isTerminating: (fullName: string) => boolean): void {
    this.#forgetTheGone();
    const orphans = this.#orphans().filter((orphan) => !isTerminating(podFullName(orphan)));
    for (const orphan of [...orphans, ...this.#outlived()]) {
      const name = podFullName(orphan);
      const isDue = !this.#deletedOrphans.has(orphan.metadata.uid);
      if (isDue && this.#isIdle(name)) this.#run(name, () => this.#deleteOrphan(orphan));
    }
  }

  /** Resolves when no request is in flight. */
  async stop(): Promise<void> {
    this.#abort.abort();
    this.#retry.disarm();
    await Promise.all(this.#busy.values());
  }

  #orphans(): Pod[] {
    const { desired, deleted } = this.#parts;
    const staticUIDOf = (mirrorPod: Pod) => desired.staticPodOf(mirrorPod)?.metadata.uid;
    return [
      // If two static pods had this name, the other one may still be wanted.
      ...desired.orphanedMirrorPods().filter((mirrorPod) => staticUIDOf(mirrorPod) === undefined),
      ...[...desired.mirrorPods()].filter((mirrorPod) => deleted.has(staticUIDOf(mirrorPod) ?? '')),
    ];
  }

  /** Mirror pods that show a static pod as running which waits to start again. */
  #outlived(): Pod[] {
    const { desired } = this.#parts;
    return [...desired.mirrorPods()].filter(
      (mirrorPod) => desired.isOutlived(mirrorPod) && !isTerminalPhase(mirrorPod.status?.phase),
    );
  }

  #isIdle(name: string): boolean {
    return !this.#abort.signal.aborted && !this.#busy.has(name) && !this.#resting.has(name);
  }

  #plan(pod: Pod): MirrorPodPlan {
    const { desired, deleted, node } = this.#parts;
    if (deleted.has(pod.metadata.uid)) return { create: false };
    const mirrorPod = desired.mirrorPodOf(pod);
    const isOutlived = mirrorPod !== undefined && desired.isOutlived(mirrorPod);
    return planMirrorPod({ pod, mirrorPod, isOutlived, node: node() });
  }

  #forgetTheGone(): void {
    const { desired } = this.#parts;
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
        if (this.#again.delete(name)) this.reconcileAgain(name);
      }
    };
    this.#busy.set(name, run());
  }

  async #reconcile(pod: Pod): Promise<void> {
    const isMade = await this.#carryOut(pod, this.#plan(pod));
    const name = podFullName(pod);
    // That the new mirror pod is not seen yet is no reason to make another one.
    if (isMade && this.#synced.get(name)?.metadata.uid === pod.metadata.uid) this.#again.delete(name);
  }

  /** Whether a mirror pod was made. */
  async #carryOut(pod: Pod, plan: MirrorPodPlan): Promise<boolean> {
    if (plan.delete !== undefined && !(await this.#delete(plan.delete))) return false;
    return plan.create && (await this.#create(pod));
  }

  /** Whether its name is free now. */
  async #delete(mirrorPod: Pod): Promise<boolean> {
    const { api } = this.#parts;
    const { logger } = this.#context;
    const { uid } = mirrorPod.metadata;
    const { name, namespace, ...options } = mirrorPodDeletion(podFullName(mirrorPod), uid);
    try {
      await api.delete({ resource: 'pods', namespace, name }, { ...options, ...this.#limits() });
    } catch (error) {
      if (hasReason(error, 'NotFound')) return true;
      // Another pod has taken the name: the source `api` will show it.
      if (hasReason(error, 'Conflict')) return false;
      throw error;
    }
    logger.debug(podFields(mirrorPod.metadata), 'Deleted the mirror pod');
    return true;
  }

  /** Whether its name was free. */
  async #create(pod: Pod): Promise<boolean> {
    const { api, nodeName, node } = this.#parts;
    const { logger } = this.#context;
    const { namespace } = pod.metadata;
    try {
      await api.create({ resource: 'pods', namespace }, newMirrorPod(pod, nodeName, node()), this.#limits());
    } catch (error) {
      // The source `api` will show the existing pod, and whether it is the right one.
      if (hasReason(error, 'AlreadyExists')) return false;
      throw error;
    }
    logger.debug(podFields(pod.metadata), 'Made the mirror pod');
    return true;
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
    const { logger } = this.#context;
    const { desired } = this.#parts;
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
