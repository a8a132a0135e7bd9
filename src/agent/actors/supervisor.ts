/** The supervisor: the loop, the registry of pod actors, and the handlers of its events. */
import type { StartDelay } from '../policies/admission/start-delay.ts';
import type { KillPodOptions } from '../policies/termination/pod-termination.ts';
import { type Observable } from 'rxjs';
import type { AnyActorRef } from 'xstate';
import type { SupervisorEvent } from '../machines/supervisor-machine.ts';
import type { PodNode } from '../runtime/node/pod-node.ts';
import type { Pleg } from '../runtime/pleg/pleg.ts';
import type { PodRuntime } from '../runtime/pods/pod-runtime.ts';
import { WorkQueue } from '../../system/work-queue.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import { PodWakeUps } from './loop/pod-wake-ups.ts';
import { SourceChanges } from './loop/source-changes.ts';
import type { SupervisorLoop } from './loop/supervisor-loop.ts';
import type { DesiredPods } from './pods/desired-pods.ts';
import { EffectSlots, type PodEffects, providePodMachine } from './pods/pod-actor.ts';
import type { EndedPods } from './pods/ended-pods.ts';
import { PodTerminations } from './pods/pod-terminations.ts';
import { PodLifecycle } from './pods/pod-lifecycle.ts';
import type { PodRegistry } from './pods/pod-registry.ts';
import { PodRemoval } from './pods/pod-removal.ts';
import type { StatusManager } from './pods/status-manager.ts';
import type { ProbeManager } from './probes/probe-manager.ts';
import { PodResizes } from './resize/pod-resizes.ts';
import type { ResizeStates } from './resize/resize-states.ts';
import { PodStarts, type StartGates } from './start/pod-starts.ts';
import { RoomArbiter } from './start/room-arbiter.ts';

export interface SupervisorParts {
  readonly loop: SupervisorLoop;
  readonly registry: PodRegistry;
  /** The pods that the sources want. */
  readonly desired: DesiredPods;
  /** Pods that stay ended until their manifests change. */
  readonly ended: EndedPods;
  readonly statusManager: StatusManager;
  readonly probes: ProbeManager;
  readonly effects: PodEffects;
  readonly states: ResizeStates;
  readonly pleg: Pleg;
  readonly podRuntime: PodRuntime;
  readonly node: PodNode;
  readonly syncFrequencyMs: number;
  readonly nodeFacts: () => NodeFacts;
  /** With the node as the API server has it now; only in a cluster. */
  readonly freshNodeFacts?: () => Promise<NodeFacts>;
  /** Of victims of preemption that are otherwise equal, lower priority goes first. */
  readonly preemptionLowerPriorityFirst: boolean;
  readonly onStopped: () => void;
  /** Puts something between pods and the answers to what they ask before they start: tests do. */
  readonly wrapGates?: (gates: StartGates) => StartGates;
}

export class Supervisor {
  readonly registry: PodRegistry;
  readonly desired: DesiredPods;
  readonly ended: EndedPods;
  /** Emits how far pods have come on the way to their end. */
  readonly ends = new PodTerminations();
  /** The root of the tree of actors. */
  readonly actor: AnyActorRef;
  readonly #parts: SupervisorParts;
  readonly #slots = new EffectSlots();
  readonly #workQueue: WorkQueue;
  readonly #starts: PodStarts;
  readonly #lifecycle: PodLifecycle;
  readonly #resizes: PodResizes;
  readonly #sources: SourceChanges;
  readonly #wakeUps: PodWakeUps;

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
    const { loop, registry, desired, ended, statusManager, pleg, podRuntime, node, effects } = parts;
    const { context, actor } = loop;
    this.registry = registry;
    this.desired = desired;
    this.ended = ended;
    this.actor = actor;
    this.#workQueue = new WorkQueue(context.clock, (uids) => this.send({ type: 'SYNC', uids }));
    const removal = new PodRemoval(context, {
      pleg,
      podRuntime,
      node,
      onOrphanRemoved: () => this.offerRoom(),
    });
    const room = new RoomArbiter(context, {
      ...parts,
      onAdmitted: (uid) => this.#resizes.admitted(uid),
      onRejected: (uid) => this.#resizes.rejected(uid),
      onPromiseOver: (uid) => this.#resizes.promiseOver(uid),
    });
    const starts = new PodStarts({ removal, room, loop });
    const gates = parts.wrapGates?.(starts) ?? starts;
    const machine = providePodMachine(context, {
      ...parts,
      slots: this.#slots,
      workQueue: this.#workQueue,
      gates,
    });
    this.#resizes = new PodResizes(context, { ...parts, room });
    const lifecycle = new PodLifecycle(context, {
      ...parts,
      machine,
      slots: this.#slots,
      ends: this.ends,
      starts,
      removal,
      resizes: this.#resizes,
    });
    const resizes = this.#resizes;
    this.#sources = new SourceChanges(context, { registry, desired, ended, lifecycle, resizes });
    this.#wakeUps = new PodWakeUps(context, { registry, pleg, starts, effects, loop });
    this.#starts = starts;
    this.#lifecycle = lifecycle;
    statusManager.news.subscribe(({ uid }) => ended.record(uid, statusManager.get(uid)));
    this.ends.subscribe(({ uid }, end) => {
      if (end === 'Terminated') resizes.retry('pod_terminated');
      if (end === 'Forgotten') resizes.forget(uid);
      if (end === 'Forgotten') statusManager.forget(uid);
    });
  }

  /** The reason why remains of pods could not be removed may be over. */
  retryOrphans(): void {
    this.#lifecycle.retryOrphans();
  }

  /** Emits when a mirror pod has come, changed or gone. */
  get mirrorPods(): Observable<void> {
    return this.#sources.mirrorPods;
  }

  /** Whether every source has been seen. */
  get synced(): boolean {
    return this.#parts.loop.synced;
  }

  /** What the admitted pods have reserved of the node. */
  get reserved(): PodStarts['reserved'] {
    return this.#starts.reserved;
  }

  /** Why the runtime is not ready, if so. */
  get runtimeProblem(): string | undefined {
    return this.#parts.loop.runtimeProblem;
  }

  /** When the next sync of a waiting pod is due, in Unix milliseconds. */
  nextSyncAt(uid: string): number | undefined {
    return this.#workQueue.dueAt(uid);
  }

  /** The pods for whose end the resize of the pod waits. */
  resizeDelay(uid: string): StartDelay | undefined {
    return this.#resizes.delayOf(uid);
  }

  start(): void {
    const { loop, onStopped } = this.#parts;
    loop.start({ sources: this.#sources, wakeUps: this.#wakeUps, lifecycle: this.#lifecycle, onStopped });
  }

  /** A pod that runs already holds its name: a static pod of that name that comes now waits for it to end. */
  adopt(): void {
    const { pleg } = this.#parts;
    for (const pod of pleg.pods()) if (pleg.runtimeHolds(pod.uid) === 'running') this.#starts.adoptName(pod);
  }

  /** The node may have more resources: pods that wait for room ask again. */
  offerRoom(): void {
    this.#starts.offerRoom();
  }

  send(event: SupervisorEvent): void {
    this.#parts.loop.send(event);
  }

  /** Ends a pod. Resolves when it is Terminated; at once when there is no such pod. */
  async killPod(uid: string, options: KillPodOptions = {}): Promise<void> {
    const { registry } = this;
    if (registry.get(uid) === undefined || registry.isPodKnownTerminated(uid)) return;
    const terminated = this.ends.terminated(uid);
    registry.kill(uid, options);
    await terminated;
  }

  /** Ends a pod that runs and that no source wants. */
  killRuntimePod(pod: PodReference): void {
    this.#lifecycle.killRuntimePod(pod);
  }

  /** Stops routing and asks the effects in flight to come to rest; resolves when they have. */
  async stop(): Promise<void> {
    this.#workQueue.stop();
    this.#starts.stop();
    this.#resizes.stop();
    await this.#slots.close();
    this.#parts.loop.actor.stop();
  }
}
