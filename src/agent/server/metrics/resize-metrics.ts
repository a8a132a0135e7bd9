/** Counts changes of the resources of pods, as the kubelet does. */
import type { RequestedResize, ResizeMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { MetricSet } from './counters.ts';
import type { Metric } from './metric-text.ts';

/** In milliseconds. */
const RESIZE_BOUNDS = [
  10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
];

export class ResizeMetrics implements ResizeMeasurements {
  readonly #set = new MetricSet();
  readonly #requested = this.#set.counter(
    'kubelet_container_requested_resizes_total',
    "[ALPHA] Number of requested resizes, counted at the container level. Different resources on the same container are counted separately. The 'requirement' label refers to 'memory' or 'limits'; the 'operation' label can be one of 'add', 'remove', 'increase' or 'decrease'.",
  );
  readonly #infeasible = this.#set.counter(
    'kubelet_pod_infeasible_resizes_total',
    '[ALPHA] Number of infeasible resizes for pods.',
  );
  readonly #accepted = this.#set.counter(
    'kubelet_pod_deferred_accepted_resizes_total',
    '[ALPHA] Cumulative number of resizes that were accepted after being deferred.',
  );
  readonly #duration = this.#set.histogram(
    'kubelet_pod_resize_duration_milliseconds',
    '[ALPHA] Duration in milliseconds to actuate a pod resize',
    RESIZE_BOUNDS,
  );
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  requested({ resource, requirement, operation }: RequestedResize): void {
    this.#requested.add({ operation, requirement, resource });
  }

  infeasible(reason: string): void {
    this.#infeasible.add({ reason_detail: reason });
  }

  deferredAccepted(trigger: string): void {
    this.#accepted.add({ retry_trigger: trigger });
  }

  carriedOut(): Stopwatch {
    const began = this.#nowMs();
    return (outcome) =>
      this.#duration.observe({ success: String(outcome !== 'failure') }, this.#nowMs() - began);
  }

  metrics(): readonly Metric[] {
    return this.#set.metrics();
  }
}
