/** Counts changes of the resources of pods, as the kubelet does. */
import type { RequestedResize, ResizeMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { Counter, Histogram } from './counters.ts';
import { COUNTED, RESIZE_BOUNDS } from './metric-names.ts';
import type { Metric } from './metric-text.ts';

export class ResizeMetrics implements ResizeMeasurements {
  readonly #requested = new Counter(COUNTED.resizesRequested);
  readonly #infeasible = new Counter(COUNTED.resizesInfeasible);
  readonly #accepted = new Counter(COUNTED.resizesAccepted);
  readonly #duration = new Histogram(COUNTED.resizeDuration, RESIZE_BOUNDS);
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
    return [this.#requested, this.#infeasible, this.#accepted, this.#duration].map((one) => one.metric());
  }
}
