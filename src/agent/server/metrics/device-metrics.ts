/** Counts what device plugins do, as the kubelet does. */
import type { DeviceMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { Counter, Histogram } from './counters.ts';
import { COUNTED, USUAL_BOUNDS } from './metric-names.ts';
import type { Metric } from './metric-text.ts';

const MS_PER_S = 1000;

export class DeviceMetrics implements DeviceMeasurements {
  readonly #registrations = new Counter(COUNTED.deviceRegistrations);
  readonly #allocations = new Histogram(COUNTED.deviceAllocations, USUAL_BOUNDS);
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  registered(resource: string): void {
    this.#registrations.add({ resource_name: resource });
  }

  allocated(resource: string): Stopwatch {
    const began = this.#nowMs();
    return () => this.#allocations.observe({ resource_name: resource }, (this.#nowMs() - began) / MS_PER_S);
  }

  metrics(): readonly Metric[] {
    return [this.#registrations, this.#allocations].map((one) => one.metric());
  }
}
