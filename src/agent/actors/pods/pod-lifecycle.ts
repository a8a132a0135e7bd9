/**
 * The lives of pods on this node: makes their actors, passes their pods on, replaces actors that fail, and forgets them. Housekeeping compares the
 * wanted pods with the actors and with the runtime, and makes them agree.
 */
import { deletionKill, showsNoRunningContainer } from '../../policies/termination/ended-pod.ts';
import { planHousekeeping } from '../../policies/pod-actions/wanted-pods.ts';
import {
  isTerminalPhase,
  RUNTIME_ONLY_GRACE_PERIOD_SECONDS,
} from '../../policies/termination/pod-termination.ts';
import type { PodEvent } from '../../machines/pod-context.ts';
import { isManifestPod } from '../../policies/pod/pod-kinds.ts';
import type { PodNode } from '../../runtime/node/pod-node.ts';
import type { Pleg } from '../../runtime/pleg/pleg.ts';
import type { PodRuntime } from '../../runtime/pods/pod-runtime.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { PodReference } from '../../../types/event-recorder.ts';
import type { Pod, PodStatus } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { ActorContext, Loop } from '../actor-context.ts';
import type { ProbeManager } from '../probes/probe-manager.ts';
import type { PodResizes } from '../resize/pod-resizes.ts';
import type { PodStarts } from '../start/pod-starts.ts';
import type { DesiredPods } from './desired-pods.ts';
import type { EffectSlots } from './pod-actor.ts';
import type { EndedPods } from './ended-pods.ts';
import { inTurns, type PodEntry, type PodMachine, type PodRegistry, uidOfActor } from './pod-registry.ts';
import type { PodTerminations } from './pod-terminations.ts';
import type { PodRemoval } from './pod-removal.ts';
import type { StatusManager } from './status-manager.ts';

/** A pod actor that failed is replaced after this time. */
const REVIVE_DELAY_MS = 1_000;

export interface PodLifecycleParts {
  readonly registry: PodRegistry;
  /** With its effects provided. */
  readonly machine: PodMachine;
  readonly slots: EffectSlots;
  readonly desired: DesiredPods;
  readonly ended: EndedPods;
  readonly ends: PodTerminations;
  readonly starts: PodStarts;
  readonly resizes: Pick<PodResizes, 'recall' | 'asAllocated' | 'sourcesReady'>;
  readonly removal: PodRemoval;
  readonly node: Pick<PodNode, 'unsupportedFields'>;
  readonly pleg: Pleg;
  readonly podRuntime: Pick<PodRuntime, 'collectBackOffGarbage'>;
  readonly probes: Pick<ProbeManager, 'keepOnly'>;
  readonly statusManager: StatusManager;
  readonly loop: Loop;
}

export class PodLifecycle {
  readonly #context: ActorContext;
  readonly #parts: PodLifecycleParts;
  /** UIDs of the pods that are being retired. */
  readonly #retiring = new Set<string>();
  /** The agent ends its pods before it stops. */
  #isExiting = false;

  constructor(context: ActorContext, parts: PodLifecycleParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** Begins the life of a pod on this node. A pod that has finished and is wanted anew is retired first. */
  create(pod: Pod): void {
    this.#create(pod);
    this.#retireIfDue(pod.metadata.uid);
  }

  update(pod: Pod): void {
    this.#deliver(pod, 'SyncPodUpdate');
  }

  /** Ends a pod that only the runtime knows. */
  killRuntimePod(pod: PodReference): void {
    this.#spawn(pod);
    const options = { podTerminationGracePeriodSecondsOverride: RUNTIME_ONLY_GRACE_PERIOD_SECONDS };
    this.#parts.registry.kill(pod.uid, options);
  }

  #create(pod: Pod): void {
    if (this.#parts.registry.get(pod.metadata.uid) === undefined) this.#warnOfUnsupported(pod);
    this.#deliver(pod, 'SyncPodCreate');
  }

  /** A new incarnation; an earlier one of the UID must have been forgotten. */
  #spawn({ uid, name, namespace }: PodReference): void {
    const { registry, machine, pleg } = this.#parts;
    registry.spawn({ uid, name, namespace }, pleg.runtimeHolds(uid), machine);
  }

  #deliver(desired: Pod, type: 'SyncPodCreate' | 'SyncPodUpdate'): void {
    const { registry, pleg, starts, ended, resizes } = this.#parts;
    const { uid } = desired.metadata;
    const isNew = registry.get(uid) === undefined;
    const holds = pleg.runtimeHolds(uid);
    if (isNew && holds !== 'nothing') resizes.recall(desired);
    const pod = resizes.asAllocated(desired);
    if (isNew) {
      this.#spawn(pod.metadata);
      if (holds === 'running') starts.adoptRoom(pod);
    }
    const end = isNew ? ended.of(desired) : undefined;
    if (end === undefined) registry.send(uid, { type, pod });
    else if (end.status === undefined)
      registry.send(uid, { type: 'SyncPodKill', pod, options: deletionKill(end) });
    else registry.send(uid, { type, pod: this.#restored(pod, end.status) });
  }

  /** A pod that ended under an earlier agent. If that agent was killed, something may still run, or no status shows the end. */
  #restored(pod: Pod, status: PodStatus): Pod {
    const { statusManager, pleg } = this.#parts;
    const ended = { ...pod, status };
    if (showsNoRunningContainer(status) && pleg.runtimeHolds(pod.metadata.uid) !== 'running')
      statusManager.restore(ended);
    return ended;
  }

  #warnOfUnsupported(pod: Pod): void {
    const fields = this.#parts.node.unsupportedFields(pod);
    if (fields.length === 0) return;
    const message = `Not supported on this node, without effect: ${fields.join(', ')}`;
    this.#context.logger.warn(podFields(pod.metadata), message);
  }

  actorFailed(actorId: string, error: unknown): void {
    const { clock, logger } = this.#context;
    const entry = this.#parts.registry.get(uidOfActor(actorId));
    if (entry === undefined) return;
    logger.error(
      { ...podFields(entry.pod), err: error },
      `The pod's actor failed, and is started anew: ${errorMessage(error)}`,
    );
    clock.setTimeout(() => void this.#revive(entry), REVIVE_DELAY_MS);
  }

  /** Replaces a failed actor once its effect is at rest. A pod that was ending goes on ending (I1). */
  async #revive(entry: PodEntry): Promise<void> {
    const { registry, slots, desired } = this.#parts;
    const { uid } = entry.pod;
    slots.abort(entry.actor);
    await slots.atRest(entry.actor);
    if (registry.get(uid) !== entry) return;
    registry.forget(uid);
    this.#spawn(entry.pod);
    const pod = desired.get(uid);
    const { ending, kill } = interruptedEnd(entry);
    if (pod !== undefined && !ending) this.#create(pod);
    else registry.send(uid, kill);
    for (const event of entry.backlog) registry.send(uid, event);
  }

  /** Name and room go to other pods before other parts get the event. */
  terminated(uid: string): void {
    const { registry, starts, ends } = this.#parts;
    const entry = registry.get(uid);
    if (entry === undefined) return;
    starts.ended(entry.pod);
    ends.tell(entry.pod, 'Terminated');
  }

  /** The snapshot of its actor may not show this yet. */
  finished(uid: string, restartRequested: boolean): void {
    const { registry, ends } = this.#parts;
    const entry = registry.get(uid);
    if (entry === undefined) return;
    this.#logFinished(entry.pod);
    ends.tell(entry.pod, 'Finished');
    this.#retireUnlessWanted(uid, restartRequested);
  }

  #logFinished(pod: PodReference): void {
    const { phase, reason } = this.#parts.statusManager.get(pod.uid) ?? {};
    const how = isTerminalPhase(phase) ? [phase, reason && `(${reason})`] : ['stopped'];
    this.#context.logger.info(podFields(pod), `Finished: ${how.filter(Boolean).join(' ')}`);
  }

  // Finished pods that no source wants, or that are wanted anew, are forgotten. The latter start again.

  /** No source wants the pod any more. */
  endUnwanted(uid: string): void {
    this.#parts.registry.kill(uid);
    this.#retireIfDue(uid);
  }

  /** Does not wait for the next housekeeping. */
  #retireIfDue(uid: string): void {
    const snapshot = this.#parts.registry.get(uid)?.actor.getSnapshot();
    if (snapshot?.hasTag('finished') === true)
      this.#retireUnlessWanted(uid, snapshot.context.restartRequested);
  }

  #retireUnlessWanted(uid: string, restartRequested: boolean): void {
    if (restartRequested || !this.#parts.desired.has(uid)) void this.#retire(uid);
  }

  /** Removes the pod from the runtime first: a new pod of this UID must not find its exited containers. */
  async #retire(uid: string): Promise<void> {
    const { registry, desired, ends } = this.#parts;
    const entry = registry.get(uid);
    if (entry === undefined || this.#retiring.has(uid)) return;
    this.#retiring.add(uid);
    const isRemoved = await this.#removeFromRuntime(entry.pod);
    this.#retiring.delete(uid);
    if (!isRemoved || registry.get(uid) !== entry) return;
    registry.forget(uid);
    ends.tell(entry.pod, 'Forgotten');
    this.#checkAllGone();
    const wanted = desired.get(uid);
    if (wanted !== undefined) this.#restart(wanted);
  }

  #restart(pod: Pod): void {
    this.#context.measurements?.turnover.restarted(isManifestPod(pod));
    this.create(pod);
  }

  /** Resolves to false where it failed, or is under way already. */
  async #removeFromRuntime(pod: PodReference): Promise<boolean> {
    try {
      return await this.#parts.removal.remove(pod);
    } catch (error) {
      const message = `Cannot remove what is left of the pod, will be tried again: ${errorMessage(error)}`;
      this.#context.logger.warn(podFields(pod), message);
      return false;
    }
  }

  /** From now on, pods that no source wants may be removed. */
  sourcesReady(): void {
    const { removal, loop, resizes } = this.#parts;
    resizes.sourcesReady();
    removal.beginOrphans();
    loop.send({ type: 'HOUSEKEEPING' });
  }

  retryOrphans(): void {
    this.#parts.removal.retryOrphans();
    this.#parts.loop.send({ type: 'HOUSEKEEPING' });
  }

  cleanUp(): void {
    const { registry, desired, ended, removal, pleg, podRuntime, statusManager, probes } = this.#parts;
    const plan = planHousekeeping({ desired, known: this.#knownPods(), runtimePods: pleg.pods() });
    for (const uid of plan.retire) void this.#retire(uid);
    // An agent that exits with its pods wants none any more.
    if (!this.#isExiting) ended.keepOnly((uid) => desired.has(uid));
    const isKnown = (uid: string) => registry.get(uid) !== undefined || desired.has(uid);
    statusManager.keepOnly(isKnown);
    probes.keepOnly(isKnown);
    for (const uid of plan.kill) registry.kill(uid);
    for (const uid of plan.start) {
      const pod = desired.get(uid);
      if (pod !== undefined) this.#restart(pod);
    }
    for (const pod of plan.killRuntimePods) {
      this.#context.measurements?.turnover.orphaned();
      this.killRuntimePod(pod);
    }
    for (const pod of plan.removeRuntimePods) void this.#removeFromRuntime(pod);
    removal.removeOrphans(isKnown);
    podRuntime.collectBackOffGarbage();
  }

  *#knownPods() {
    for (const { pod, actor } of this.#parts.registry.entries()) {
      const snapshot = actor.getSnapshot();
      yield {
        uid: pod.uid,
        finished: snapshot.hasTag('finished'),
        terminationRequested: snapshot.hasTag('terminationRequested'),
        restartRequested: snapshot.context.restartRequested,
      };
    }
  }

  killAll(): void {
    const { registry, desired, pleg } = this.#parts;
    this.#isExiting = true;
    desired.clear();
    for (const pod of pleg.pods()) {
      if (registry.get(pod.uid) === undefined) this.killRuntimePod(pod);
    }
    const uids = Array.from(registry.entries(), ({ pod }) => pod.uid);
    inTurns(this.#context.clock, uids, (uid) => this.endUnwanted(uid));
    this.#checkAllGone();
  }

  #checkAllGone(): void {
    const { registry, loop } = this.#parts;
    if (this.#isExiting && registry.size === 0) loop.send({ type: 'ALL_PODS_GONE' });
  }
}

/** Whether a failed actor was ending its pod, and the kill for its successor. */
function interruptedEnd({ actor }: PodEntry): { ending: boolean; kill: PodEvent } {
  const snapshot = actor.getSnapshot();
  const { pod, gracePeriodSeconds, evicted, statusOverride: podStatus } = snapshot.context;
  const options = {
    podTerminationGracePeriodSecondsOverride: gracePeriodSeconds ?? RUNTIME_ONLY_GRACE_PERIOD_SECONDS,
    evict: evicted,
    podStatus,
  };
  return { ending: snapshot.hasTag('terminationRequested'), kill: { type: 'SyncPodKill', pod, options } };
}
