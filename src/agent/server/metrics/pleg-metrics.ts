/** How the agent learns of changes in the runtime, by lists and by events, as the kubelet's metrics. */
import type { PlegMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { MetricSet, USUAL_BOUNDS } from './counters.ts';
import type { Metric } from './metric-text.ts';

const MS_PER_S = 1000;

export class PlegMetrics implements PlegMeasurements {
  readonly #set = new MetricSet();
  readonly #nowMs: () => number;
  readonly #relistDuration = this.#set.histogram(
    'kubelet_pleg_relist_duration_seconds',
    '[ALPHA] Duration in seconds for relisting pods in PLEG.',
    USUAL_BOUNDS,
  );
  readonly #relistInterval = this.#set.histogram(
    'kubelet_pleg_relist_interval_seconds',
    '[ALPHA] Interval in seconds between relisting in PLEG.',
    USUAL_BOUNDS,
  );
  readonly #podRelistDuration = this.#set.histogram(
    'kubelet_pleg_pod_relist_duration_seconds',
    '[ALPHA] Duration in seconds for relisting a single pod in PLEG.',
    USUAL_BOUNDS,
  );
  readonly #streams = this.#set.counter(
    'kubelet_evented_pleg_connection_success_count',
    '[ALPHA] The number of times a streaming client was obtained to receive CRI Events.',
  );
  readonly #streamErrors = this.#set.counter(
    'kubelet_evented_pleg_connection_error_count',
    '[ALPHA] The number of errors encountered during the establishment of streaming connection with the CRI runtime.',
  );
  readonly #latency = this.#set.histogram(
    'kubelet_evented_pleg_connection_latency_seconds',
    '[ALPHA] The latency of streaming connection with the CRI runtime, measured in seconds.',
    USUAL_BOUNDS,
  );
  #relistedAtMs: number | undefined;

  /** `nowMs`: of a clock that is never set. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    for (const counter of [this.#streams, this.#streamErrors]) counter.add({}, 0);
  }

  relist(): Stopwatch {
    const nowMs = this.#nowMs();
    if (this.#relistedAtMs !== undefined)
      this.#relistInterval.observe({}, (nowMs - this.#relistedAtMs) / MS_PER_S);
    this.#relistedAtMs = nowMs;
    return this.#relistDuration.startTimer(this.#nowMs);
  }

  podRelist(): Stopwatch {
    return this.#podRelistDuration.startTimer(this.#nowMs);
  }

  eventsAsked(): void {
    this.#streams.add();
  }

  eventsFailed(): void {
    this.#streamErrors.add();
  }

  eventHeard(delayMs: number): void {
    this.#latency.observe({}, delayMs / MS_PER_S);
  }

  metrics(): readonly Metric[] {
    return this.#set.metrics();
  }
}
