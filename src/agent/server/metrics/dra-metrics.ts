/** Counts what DRA drivers are asked, as the kubelet does. */
import type { DraMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { Histogram } from './counters.ts';
import { COUNTED, DRA_BOUNDS, GAUGES } from './metric-names.ts';
import { type Metric, metric } from './metric-text.ts';

const MS_PER_S = 1000;
/** Of all drivers. */
const ANY_DRIVER = '<any>';

export class DraMetrics implements DraMeasurements {
  readonly #operations = new Histogram(COUNTED.draOperations, DRA_BOUNDS);
  readonly #calls = new Histogram(COUNTED.draCalls, DRA_BOUNDS);
  readonly #nowMs: () => number;
  #claims: readonly (readonly [driver: string, count: number])[] = [];

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  operation(name: 'PrepareResources' | 'UnprepareResources'): Stopwatch {
    const began = this.#nowMs();
    return (outcome) => {
      const labels = { operation_name: name, is_error: String(outcome === 'failure') };
      this.#operations.observe(labels, (this.#nowMs() - began) / MS_PER_S);
    };
  }

  called(driver: string, method: string): (code: string) => void {
    const began = this.#nowMs();
    return (code) => {
      const labels = { driver_name: driver, method_name: method, grpc_status_code: code };
      this.#calls.observe(labels, (this.#nowMs() - began) / MS_PER_S);
    };
  }

  claimsInUse(all: number, byDriver: ReadonlyMap<string, number>): void {
    this.#claims = [[ANY_DRIVER, all], ...byDriver];
  }

  metrics(): readonly Metric[] {
    const inUse = this.#claims.map(([driver, count]) => [{ driver_name: driver }, count] as const);
    return [
      this.#operations.metric(),
      this.#calls.metric(),
      metric({ ...GAUGES.draClaims, type: 'gauge' }, inUse),
    ];
  }
}
