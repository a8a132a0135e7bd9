/** Metrics of what happens to pods: the kubelet's of its pod workers, and the agent's own of the pods' charts. */
import type { PodEffect, PodMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { Counter, Histogram } from './counters.ts';
import { COUNTED, OWN_BOUNDS, START_BOUNDS, USUAL_BOUNDS } from './metric-names.ts';
import type { Metric } from './metric-text.ts';

const MS_PER_S = 1000;

/** By the event of the chart: how the kubelet calls what it asks of a pod worker. */
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

export class PodMetrics implements PodMeasurements {
  readonly #nowMs: () => number;
  readonly #lives = new Map<string, Life>();
  readonly #inFlight = new Map<PodEffect, number>([
    ['sync', 0],
    ['stop', 0],
    ['clean_up', 0],
  ]);
  readonly #start = new Histogram(COUNTED.podStart, START_BOUNDS);
  readonly #worker = new Histogram(COUNTED.podWorker, USUAL_BOUNDS);
  readonly #workerStart = new Histogram(COUNTED.podWorkerStart, USUAL_BOUNDS);
  readonly #transitions = new Counter(COUNTED.transitions);
  readonly #stateDuration = new Histogram(COUNTED.stateDuration, OWN_BOUNDS);
  readonly #eventToAct = new Histogram(COUNTED.eventToAct, OWN_BOUNDS);
  readonly #effectDuration = new Histogram(COUNTED.effectDuration, OWN_BOUNDS);

  /** `nowMs`: of a clock that is never set. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get effectsInFlight(): ReadonlyMap<PodEffect, number> {
    return this.#inFlight;
  }

  podAdded(uid: string, isNew: boolean): void {
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

  podState(uid: string, state: string): void {
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

  podEvent(uid: string, event: string): void {
    const life = this.#lives.get(uid);
    if (life === undefined || life.event !== undefined || OPERATIONS[event] === undefined) return;
    life.event = event;
    life.eventAtMs = this.#nowMs();
  }

  podPhase(uid: string, phase: string): void {
    const life = this.#lives.get(uid);
    if (life === undefined || life.hasRun || phase !== 'Running') return;
    life.hasRun = true;
    this.#start.observe({}, (this.#nowMs() - life.addedAtMs) / MS_PER_S);
  }

  podForgotten(uid: string): void {
    this.#lives.delete(uid);
  }

  podEffect(uid: string, effect: PodEffect): Stopwatch {
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
    return [
      this.#start,
      this.#worker,
      this.#workerStart,
      this.#transitions,
      this.#stateDuration,
      this.#eventToAct,
      this.#effectDuration,
    ].map((counted) => counted.metric());
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
