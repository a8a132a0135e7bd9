/** Passes the lives of pods on to the measurements: states, events and effects. */
import { stateName } from './transitions.ts';
import { isStartAwaited } from '../policies/status/phase.ts';
import type {
  AgentMeasurements,
  ContainerType,
  PodEffect,
  PodMeasurements,
} from '../../types/measurements.ts';
import type { ContainerStatus, PodStatus } from '../../types/kubernetes.ts';
import type { PodContext, PodEvent } from '../machines/pod-machine.ts';
import type { PodEffects } from './pods/pod-actor.ts';
import type { PodTerminations } from './pods/pod-terminations.ts';
import type { PodEntry, PodObserver } from './pods/pod-registry.ts';
import type { StatusManager } from './pods/status-manager.ts';

const nothing = () => undefined;

export function podObserver({ pods, starts }: Pick<AgentMeasurements, 'pods' | 'starts'>): PodObserver {
  return {
    spawned: ({ pod: { uid }, actor }: PodEntry) => {
      pods.added(uid, actor.getSnapshot().context.runtimeHolds === 'nothing');
      // The failure of an actor goes to the registry's parent.
      actor.subscribe({ next: ({ value }) => pods.inState(uid, stateName(value)), error: nothing });
    },
    sent: (uid, event) => {
      pods.sent(uid, event.type);
      if (event.type === 'SyncPodCreate' && isStartAwaited(event.pod)) starts.awaited(uid);
    },
  };
}

export function measuredEffects(effects: PodEffects, pods: PodMeasurements): PodEffects {
  type Run = (context: PodContext, signal: AbortSignal) => Promise<PodEvent>;
  const timed =
    (effect: PodEffect, run: Run): Run =>
    async (context, signal) => {
      const end = pods.effect(context.uid, effect);
      try {
        return await run(context, signal);
      } finally {
        end();
      }
    };
  return {
    syncPod: timed('sync', (context, signal) => effects.syncPod(context, signal)),
    stopPod: timed('stop', (context, signal) => effects.stopPod(context, signal)),
    cleanUpPod: timed('clean_up', (context, signal) => effects.cleanUpPod(context, signal)),
    refreshStatus: (context) => effects.refreshStatus(context),
  };
}

/** Measures when pods begin to run, and when they are gone. */
export function measurePods(
  measurements: AgentMeasurements,
  { statusManager, ends }: { readonly statusManager: StatusManager; readonly ends: PodTerminations },
): void {
  const shownEnds = new ShownEnds(measurements);
  statusManager.news.subscribe(({ uid }) => {
    const status = statusManager.get(uid);
    if (status?.phase !== undefined) measurements.pods.inPhase(uid, status.phase);
    if (status !== undefined) shownEnds.shown(uid, status);
  });
  ends.subscribe(({ uid }, end) => {
    if (end !== 'Forgotten') return;
    measurements.pods.forgotten(uid);
    measurements.starts.forgotten(uid);
    shownEnds.forget(uid);
  });
}

/** As with the kubelet, an end counts when the status of the pod first shows it. */
class ShownEnds {
  readonly #measurements: AgentMeasurements;
  /** By UID, the containers that the last status has shown as terminated. */
  readonly #terminated = new Map<string, ReadonlySet<string>>();

  constructor(measurements: AgentMeasurements) {
    this.#measurements = measurements;
  }

  shown(uid: string, status: PodStatus): void {
    const before = this.#terminated.get(uid);
    const now = new Set<string>();
    const lists: readonly (readonly [ContainerType, readonly ContainerStatus[] | undefined])[] = [
      ['init_container', status.initContainerStatuses],
      ['container', status.containerStatuses],
      ['ephemeral_container', status.ephemeralContainerStatuses],
    ];
    for (const [type, statuses = []] of lists) {
      for (const { name, state } of statuses) {
        if (state?.terminated === undefined) continue;
        now.add(name);
        if (before?.has(name) === true) continue;
        const { exitCode, reason = '' } = state.terminated;
        this.#measurements.turnover.containerTerminated(type, exitCode, reason);
        if (type === 'init_container')
          this.#measurements.starts.initContainerRan(uid, durationMs(state.terminated));
      }
    }
    if (now.size > 0 || before !== undefined) this.#terminated.set(uid, now);
  }

  forget(uid: string): void {
    this.#terminated.delete(uid);
  }
}

type ContainerEnd = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

/** In whole seconds, as the status tells it. */
function durationMs({ startedAt = '', finishedAt = '' }: ContainerEnd): number {
  return Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)) || 0;
}

export function measureRelist(measurements: AgentMeasurements | undefined, relist: Promise<void>): void {
  if (measurements === undefined) return;
  const end = measurements.pleg.relist();
  relist.then(
    () => end('success'),
    () => end('failure'),
  );
}
