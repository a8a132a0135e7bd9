/** How the node starts, shuts down, and reports its pods to the API server, as the kubelet's metrics. */
import { uptime } from 'node:os';
import type { NodeLifeMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { MetricSet } from './counters.ts';
import type { Metric } from './metric-text.ts';

const MS_PER_S = 1000;

/** In seconds. */
const STATUS_BOUNDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60];

const GAUGES = {
  shutdownStart: [
    'kubelet_graceful_shutdown_start_time_seconds',
    '[ALPHA] Last graceful shutdown start time since unix epoch in seconds',
  ],
  shutdownEnd: [
    'kubelet_graceful_shutdown_end_time_seconds',
    '[ALPHA] Last graceful shutdown end time since unix epoch in seconds',
  ],
  startupPreKubelet: [
    'kubelet_node_startup_pre_kubelet_duration_seconds',
    '[ALPHA] Duration in seconds of node startup before kubelet starts.',
  ],
  startupPreRegistration: [
    'kubelet_node_startup_pre_registration_duration_seconds',
    '[ALPHA] Duration in seconds of node startup before registration.',
  ],
  startupRegistration: [
    'kubelet_node_startup_registration_duration_seconds',
    '[ALPHA] Duration in seconds of node startup during registration.',
  ],
  startupPostRegistration: [
    'kubelet_node_startup_post_registration_duration_seconds',
    '[ALPHA] Duration in seconds of node startup after registration.',
  ],
  startup: ['kubelet_node_startup_duration_seconds', '[ALPHA] Duration in seconds of node startup in total.'],
} as const;

type NodeGauge = keyof typeof GAUGES;

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
  readonly #set = new MetricSet();
  readonly #nowMs: () => number;
  readonly #starts: Starts;
  readonly #statusSync = this.#set.histogram(
    'kubelet_pod_status_sync_duration_seconds',
    '[ALPHA] Duration in seconds to sync a pod status update. Measures time from detection of a change to pod status until the API is successfully updated for that pod, even if multiple intevening changes to pod status occur.',
    STATUS_BOUNDS,
  );
  readonly #gauges = new Map<NodeGauge, number>();
  #attemptedMs: number | undefined;
  #registeredMs: number | undefined;
  #isReady = false;

  /** `nowMs`: of a clock that is never set. */
  constructor(nowMs: () => number, starts: Starts = thisProcess()) {
    this.#nowMs = nowMs;
    this.#starts = starts;
    for (const [key, [name, help]] of Object.entries(GAUGES))
      this.#set.gauge(name, help, () => this.#gauges.get(key as NodeGauge));
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
    return this.#set.metrics();
  }

  #took(key: NodeGauge, fromMs: number, toMs: number): void {
    this.#gauges.set(key, (toMs - fromMs) / MS_PER_S);
  }
}

/** The kubelet has no fractions in these times. */
const wholeSeconds = (ms: number) => Math.floor(ms / MS_PER_S);
