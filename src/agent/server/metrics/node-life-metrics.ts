/** How the node starts, shuts down, and tells the API server of its pods, as the kubelet's metrics. */
import { uptime } from 'node:os';
import type { NodeLifeMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { Histogram } from './counters.ts';
import { COUNTED, GAUGES, STATUS_BOUNDS } from './metric-names.ts';
import { type Metric, metric } from './metric-text.ts';

const MS_PER_S = 1000;

interface Starts {
  /** When the machine was started, and the process. Unix ms. */
  readonly bootMs: number;
  readonly processMs: number;
}

const thisProcess = (): Starts => ({
  bootMs: Date.now() - uptime() * MS_PER_S,
  processMs: performance.timeOrigin,
});

export class NodeLifeMetrics implements NodeLifeMeasurements {
  readonly #nowMs: () => number;
  readonly #starts: Starts;
  readonly #statusSync = new Histogram(COUNTED.statusSync, STATUS_BOUNDS);
  readonly #gauges = new Map<keyof typeof GAUGES, number>();
  #attemptedMs: number | undefined;
  #registeredMs: number | undefined;
  #isReady = false;

  /** `nowMs`: of a clock that is never set. */
  constructor(nowMs: () => number, starts: Starts = thisProcess()) {
    this.#nowMs = nowMs;
    this.#starts = starts;
  }

  statusChanged(): Stopwatch {
    return this.#statusSync.startTimer(this.#nowMs);
  }

  shutdownBegan(atMs: number): void {
    this.#gauges.set('shutdownStart', wholeSeconds(atMs));
    // The kubelet, too, shows 0 until the shutdown is over.
    this.#gauges.set('shutdownEnd', 0);
  }

  shutdownEnded(atMs: number): void {
    this.#gauges.set('shutdownEnd', wholeSeconds(atMs));
  }

  registrationBegan(atMs: number): void {
    this.#attemptedMs ??= atMs;
  }

  registered(atMs: number): void {
    if (this.#attemptedMs === undefined || this.#registeredMs !== undefined) return;
    const { bootMs, processMs } = this.#starts;
    this.#registeredMs = atMs;
    this.#took('startupPreKubelet', bootMs, processMs);
    this.#took('startupPreRegistration', processMs, this.#attemptedMs);
    this.#took('startupRegistration', this.#attemptedMs, atMs);
  }

  nodeReady(atMs: number): void {
    if (this.#registeredMs === undefined || this.#isReady) return;
    this.#isReady = true;
    this.#took('startupPostRegistration', this.#registeredMs, atMs);
    this.#took('startup', this.#starts.bootMs, atMs);
  }

  metrics(): readonly Metric[] {
    const gauges = NODE_GAUGES.map((key) => {
      const value = this.#gauges.get(key);
      return metric({ ...GAUGES[key], type: 'gauge' }, value === undefined ? [] : [[{}, value]]);
    });
    return [this.#statusSync.metric(), ...gauges];
  }

  #took(key: keyof typeof GAUGES, fromMs: number, toMs: number): void {
    this.#gauges.set(key, (toMs - fromMs) / MS_PER_S);
  }
}

/** The kubelet has no fractions in these times. */
const wholeSeconds = (ms: number) => Math.floor(ms / MS_PER_S);

const NODE_GAUGES = [
  'shutdownStart',
  'shutdownEnd',
  'startupPreKubelet',
  'startupPreRegistration',
  'startupRegistration',
  'startupPostRegistration',
  'startup',
] as const;
