/** Counts what device plugins do, as the kubelet does. */
import type { DeviceMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { MetricSet, USUAL_BOUNDS } from './counters.ts';
import type { Metric } from './metric-text.ts';

const MS_PER_S = 1000;

export class DeviceMetrics implements DeviceMeasurements {
  readonly #set = new MetricSet();
  readonly #registrations = this.#set.counter(
    'kubelet_device_plugin_registration_total',
    '[ALPHA] Cumulative number of device plugin registrations. Broken down by resource name.',
  );
  readonly #allocations = this.#set.histogram(
    'kubelet_device_plugin_alloc_duration_seconds',
    '[ALPHA] Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.',
    USUAL_BOUNDS,
  );
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
    return this.#set.metrics();
  }
}
