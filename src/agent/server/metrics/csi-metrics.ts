import type { CsiMeasurements } from '../../../types/measurements.ts';
import { MetricSet, STORAGE_BOUNDS } from './counters.ts';
import type { Metric } from './metric-text.ts';

const MS_PER_S = 1000;

/** Measures the calls to CSI drivers. */
export class CsiMetrics implements CsiMeasurements {
  readonly #set = new MetricSet();
  readonly #nowMs: () => number;
  readonly #operations = this.#set.histogram(
    'csi_operations_seconds',
    '[ALPHA] Container Storage Interface operation duration with gRPC error code status total',
    STORAGE_BOUNDS,
  );

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  operation(driver: string, method: string): (code: string) => void {
    const beganMs = this.#nowMs();
    const labels = { driver_name: driver, method_name: method, migrated: 'false' };
    return (code) =>
      this.#operations.observe({ ...labels, grpc_status_code: code }, (this.#nowMs() - beganMs) / MS_PER_S);
  }

  metrics(): readonly Metric[] {
    return this.#set.metrics();
  }
}
