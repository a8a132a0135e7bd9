/** How long pods of the API server take from their creation until it knows that they run, as the kubelet measures it. */
import type { PodStart, StartMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { MetricSet, START_BOUNDS } from './counters.ts';
import type { Metric } from './metric-text.ts';

const MS_PER_S = 1000;

/** A pod that has not started yet. */
interface Awaited {
  pulls: number;
  pullsSinceMs: number;
  /** What its images and its init containers took. Pulls at the same time count once. */
  othersMs: number;
}

export class StartMetrics implements StartMeasurements {
  readonly #set = new MetricSet();
  readonly #nowMs: () => number;
  readonly #awaited = new Map<string, Awaited>();
  readonly #sli = this.#set.histogram(
    'kubelet_pod_start_sli_duration_seconds',
    '[ALPHA] Duration in seconds to start a pod, excluding time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch',
    START_BOUNDS,
  );
  readonly #total = this.#set.histogram(
    'kubelet_pod_start_total_duration_seconds',
    '[ALPHA] Duration in seconds to start a pod since creation, including time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch',
    START_BOUNDS,
  );
  #firstNetworkPodS: number | undefined;

  /** `nowMs`: of a clock that is never set. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#set.gauge(
      'kubelet_first_network_pod_start_sli_duration_seconds',
      '[INTERNAL] Duration in seconds to start the first network pod, excluding time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch',
      () => this.#firstNetworkPodS,
    );
  }

  awaited(uid: string): void {
    if (!this.#awaited.has(uid)) this.#awaited.set(uid, { pulls: 0, pullsSinceMs: 0, othersMs: 0 });
  }

  podPull(uid: string): Stopwatch {
    const pod = this.#awaited.get(uid);
    if (pod === undefined) return () => undefined;
    if (pod.pulls === 0) pod.pullsSinceMs = this.#nowMs();
    pod.pulls += 1;
    return () => {
      pod.pulls -= 1;
      if (pod.pulls === 0) pod.othersMs += this.#nowMs() - pod.pullsSinceMs;
    };
  }

  initContainerRan(uid: string, durationMs: number): void {
    const pod = this.#awaited.get(uid);
    if (pod) pod.othersMs += durationMs;
  }

  started(uid: string, { sinceCreationMs, isStateful, hostNetwork }: PodStart): void {
    const pod = this.#awaited.get(uid);
    if (pod === undefined) return;
    this.#awaited.delete(uid);
    this.#total.observe({}, seconds(sinceCreationMs));
    if (isStateful) return;
    const sli = seconds(sinceCreationMs - pod.othersMs);
    this.#sli.observe({}, sli);
    if (!hostNetwork) this.#firstNetworkPodS ??= sli;
  }

  forgotten(uid: string): void {
    this.#awaited.delete(uid);
  }

  metrics(): readonly Metric[] {
    return this.#set.metrics();
  }
}

/** Creation times are from the API server's clock: the difference to this node's clock may be negative. */
function seconds(ms: number): number {
  return Math.max(0, ms) / MS_PER_S;
}
