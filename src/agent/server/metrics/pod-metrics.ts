/** Metrics of what happens to pods: the kubelet's of its pod workers, and the agent's own of the pods' charts. */
import type { PodEffect, PodMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { MetricSet, START_BOUNDS, USUAL_BOUNDS } from './counters.ts';
import type { Metric } from './metric-text.ts';

const MS_PER_S = 1000;

/** By the event of the chart: the kubelet's name of the operation of a pod worker. */
const OPERATIONS: Readonly<Record<string, string>> = {
  SyncPodCreate: 'create',
  SyncPodUpdate: 'update',
  SyncPodSync: 'sync',
  SyncPodKill: 'kill',
};

interface Life {
  readonly addedAtMs: number;
  readonly isNew: boolean;
  hasRun: boolean;
  hasActed: boolean;
  state: string;
  stateSinceMs: number;
  /** The first event on which no effect has acted yet. */
  event: string | undefined;
  eventAtMs: number;
}

/** In seconds. A chart acts within a tenth of a millisecond, and a pod may wait for ten minutes. */
const OWN_BOUNDS = [0.0001, 0.001, 0.01, 0.1, 1, 10, 60, 600];

export class PodMetrics implements PodMeasurements {
  readonly #set = new MetricSet();
  readonly #nowMs: () => number;
  readonly #lives = new Map<string, Life>();
  readonly #inFlight = new Map<PodEffect, number>([
    ['sync', 0],
    ['stop', 0],
    ['clean_up', 0],
  ]);
  readonly #start = this.#set.histogram(
    'kubelet_pod_start_duration_seconds',
    '[ALPHA] Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run',
    START_BOUNDS,
  );
  readonly #worker = this.#set.histogram(
    'kubelet_pod_worker_duration_seconds',
    '[ALPHA] Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
    USUAL_BOUNDS,
  );
  readonly #workerStart = this.#set.histogram(
    'kubelet_pod_worker_start_duration_seconds',
    '[ALPHA] Duration in seconds from kubelet seeing a pod to starting a worker.',
    USUAL_BOUNDS,
  );
  readonly #transitions = this.#set.counter(
    'statelet_pod_transitions_total',
    'Transitions of the charts of pods from one state to another.',
  );
  readonly #stateDuration = this.#set.histogram(
    'statelet_pod_state_duration_seconds',
    'How long the chart of a pod was in a state, counted when it leaves the state.',
    OWN_BOUNDS,
  );
  readonly #eventToAct = this.#set.histogram(
    'statelet_pod_event_to_act_seconds',
    'Time from an event that is sent to the chart of a pod to the beginning of the effect that acts on it.',
    OWN_BOUNDS,
  );
  readonly #effectDuration = this.#set.histogram(
    'statelet_pod_effect_duration_seconds',
    'How long the effects of pods take.',
    OWN_BOUNDS,
  );

  /** `nowMs`: of a clock that is never set. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get effectsInFlight(): ReadonlyMap<PodEffect, number> {
    return this.#inFlight;
  }

  added(uid: string, isNew: boolean): void {
    const nowMs = this.#nowMs();
    this.#lives.set(uid, {
      addedAtMs: nowMs,
      isNew,
      hasRun: !isNew,
      hasActed: false,
      state: '',
      stateSinceMs: nowMs,
      event: undefined,
      eventAtMs: nowMs,
    });
  }

  inState(uid: string, state: string): void {
    const life = this.#lives.get(uid);
    if (life === undefined || life.state === state) return;
    const nowMs = this.#nowMs();
    if (life.state !== '') {
      this.#transitions.add({ from: life.state, to: state });
      this.#stateDuration.observe({ state: life.state }, (nowMs - life.stateSinceMs) / MS_PER_S);
    }
    life.state = state;
    life.stateSinceMs = nowMs;
  }

  sent(uid: string, event: string): void {
    const life = this.#lives.get(uid);
    if (life === undefined || life.event !== undefined || OPERATIONS[event] === undefined) return;
    life.event = event;
    life.eventAtMs = this.#nowMs();
  }

  inPhase(uid: string, phase: string): void {
    const life = this.#lives.get(uid);
    if (life === undefined || life.hasRun || phase !== 'Running') return;
    life.hasRun = true;
    this.#start.observe({}, (this.#nowMs() - life.addedAtMs) / MS_PER_S);
  }

  forgotten(uid: string): void {
    this.#lives.delete(uid);
  }

  effect(uid: string, effect: PodEffect): Stopwatch {
    const beganMs = this.#nowMs();
    this.#change(effect, 1);
    const cause = this.#acted(uid, beganMs);
    return () => {
      const nowMs = this.#nowMs();
      this.#change(effect, -1);
      this.#effectDuration.observe({ effect }, (nowMs - beganMs) / MS_PER_S);
      if (effect === 'clean_up') {
        this.#worker.observe({ operation_type: 'terminated' }, (nowMs - beganMs) / MS_PER_S);
      } else if (cause !== undefined) {
        const operation = OPERATIONS[cause.event] ?? cause.event;
        this.#worker.observe({ operation_type: operation }, (nowMs - cause.atMs) / MS_PER_S);
      }
    };
  }

  metrics(): readonly Metric[] {
    return this.#set.metrics();
  }

  /** The event on which the effect acts, if it is the first one to do so. */
  #acted(uid: string, nowMs: number): { readonly event: string; readonly atMs: number } | undefined {
    const life = this.#lives.get(uid);
    if (life === undefined) return undefined;
    if (!life.hasActed) {
      life.hasActed = true;
      this.#workerStart.observe({}, (nowMs - life.addedAtMs) / MS_PER_S);
    }
    const { event, eventAtMs: atMs } = life;
    if (event === undefined) return undefined;
    life.event = undefined;
    this.#eventToAct.observe({ event }, (nowMs - atMs) / MS_PER_S);
    return { event, atMs };
  }

  #change(effect: PodEffect, by: 1 | -1): void {
    this.#inFlight.set(effect, (this.#inFlight.get(effect) ?? 0) + by);
  }
}
