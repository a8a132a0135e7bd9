/** Counts the calls to DRA drivers, as the kubelet does. */
import type { DraMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { MetricSet } from './counters.ts';
import type { Metric } from './metric-text.ts';

const MS_PER_S = 1000;
/** Of all drivers. */
const ANY_DRIVER = '<any>';

/** In seconds: 15 bounds from 0.1 to 40, each larger than the one before by the same factor. */
export const DRA_BOUNDS = Array.from({ length: 15 }, (_, index) => 0.1 * 400 ** (index / 14));

export class DraMetrics implements DraMeasurements {
  readonly #set = new MetricSet();
  readonly #operations = this.#set.histogram(
    'dra_operations_duration_seconds',
    "[ALPHA] Latency histogram in seconds for the duration of handling all ResourceClaims referenced by a pod when the pod starts or stops. Identified by the name of the operation (PrepareResources or UnprepareResources) and separated by the success of the operation. The number of failed operations is provided through the histogram's overall count.",
    DRA_BOUNDS,
  );
  readonly #calls = this.#set.histogram(
    'dra_grpc_operations_duration_seconds',
    '[ALPHA] Duration in seconds of the DRA gRPC operations',
    DRA_BOUNDS,
  );
  readonly #nowMs: () => number;
  #claims: readonly (readonly [driver: string, count: number])[] = [];

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#set.gauge(
      'dra_resource_claims_in_use',
      '[ALPHA] The number of ResourceClaims that are currently in use on the node, by driver name (driver_name label value) and across all drivers (special value <any> for driver_name). Note that the sum of all by-driver counts is not the total number of in-use ResourceClaims because the same ResourceClaim might use devices from different drivers. Instead, use the count for the <any> driver_name.',
      () => this.#claims.map(([driver, count]) => [{ driver_name: driver }, count] as const),
    );
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
    return this.#set.metrics();
  }
}
