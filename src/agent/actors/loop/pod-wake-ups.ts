import type { Pleg } from '../../runtime/pleg/pleg.ts';
import type { ActorContext, Loop } from '../actor-context.ts';
import { inTurns, type PodRegistry } from '../pods/pod-registry.ts';
import type { PodEffects } from '../pods/pod-actor.ts';
import type { PodStarts } from '../start/pod-starts.ts';

export interface PodWakeUpsParts {
  readonly registry: PodRegistry;
  readonly pleg: Pleg;
  readonly starts: PodStarts;
  readonly effects: Pick<PodEffects, 'refreshStatus'>;
  readonly loop: Loop;
}

/**
 * Syncs pods again: when a deadline has come (`SYNC`), when the runtime (`PLEG`) or a probe (`PROBE`) has news of a pod, and when the runtime becomes
 * ready. It also passes on that the runtime is not ready any more.
 */
export class PodWakeUps {
  readonly #context: ActorContext;
  readonly #parts: PodWakeUpsParts;

  constructor(context: ActorContext, parts: PodWakeUpsParts) {
    this.#context = context;
    this.#parts = parts;
  }

  sync(uid: string): void {
    this.#parts.registry.send(uid, { type: 'SyncPodSync' });
  }

  /** A pod that is ending is not synced any more, but its status still shows whether it is ready. */
  probed(uid: string): void {
    const { registry, effects } = this.#parts;
    this.sync(uid);
    const snapshot = registry.get(uid)?.actor.getSnapshot();
    if (snapshot === undefined || !snapshot.hasTag('containersTerminating') || snapshot.hasTag('terminated'))
      return;
    effects.refreshStatus(snapshot.context);
  }

  /** A pod without an actor holds its name while it runs. */
  runtimeChanged(uid: string): void {
    const { registry, pleg, starts } = this.#parts;
    if (registry.send(uid, { type: 'SyncPodSync' })) return;
    const pod = pleg.lastSeen(uid);
    if (pod !== undefined && pleg.runtimeHolds(uid) !== 'running') starts.nameFreed(pod);
  }

  /** `problem`: undefined where the runtime is ready. */
  logRuntime(problem: string | undefined): void {
    const { logger } = this.#context;
    if (problem === undefined) logger.info({}, 'Container runtime is ready');
    else logger.warn({ problem }, 'Container runtime is not ready');
  }

  runtimeIsReady(uid: string): void {
    this.#parts.registry.send(uid, { type: 'RUNTIME_READY' });
  }

  runtimeIsNotReady(uid: string, problem = 'it has not been asked yet'): void {
    this.#parts.registry.send(uid, { type: 'RUNTIME_NOT_READY', problem });
  }

  tellStartingPods(problem: string): void {
    for (const { pod, actor } of [...this.#parts.registry.entries()])
      if (actor.getSnapshot().hasTag('starting')) this.runtimeIsNotReady(pod.uid, problem);
  }

  /** The runtime is ready again, and may have been away: pods that wait for it go on, and all others are synced. */
  resumeAllPods(): void {
    const { registry, loop } = this.#parts;
    const pods = Array.from(registry.entries(), ({ pod }) => pod);
    inTurns(this.#context.clock, pods, ({ uid }) => {
      const snapshot = registry.get(uid)?.actor.getSnapshot();
      // The runtime may have been lost again since the first turn. When it is back, all pods get the event again.
      if (snapshot?.hasTag('starting') === true) loop.send({ type: 'RUNTIME_AWAITED', uid });
      else loop.send({ type: 'SYNC', uids: [uid] });
    });
  }
}
