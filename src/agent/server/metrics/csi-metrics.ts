import type { CsiMeasurements } from '../../../types/measurements.ts';
import { Histogram } from './counters.ts';
import { COUNTED, STORAGE_BOUNDS } from './metric-names.ts';
import type { Metric } from './metric-text.ts';

const MS_PER_S = 1000;

/** What CSI drivers are asked. */
export class CsiMetrics implements CsiMeasurements {
  readonly #nowMs: () => number;
  readonly #operations = new Histogram(COUNTED.csiOperations, STORAGE_BOUNDS);

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
    return [this.#operations.metric()];
  }
}
