/** How the agent learns of changes in the runtime, by lists and by events, as the kubelet's metrics. */
import type { PlegMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { Counter, Histogram } from './counters.ts';
import { COUNTED, USUAL_BOUNDS } from './metric-names.ts';
import type { Metric } from './metric-text.ts';

const MS_PER_S = 1000;

export class PlegMetrics implements PlegMeasurements {
  readonly #nowMs: () => number;
  readonly #relistDuration = new Histogram(COUNTED.relistDuration, USUAL_BOUNDS);
  readonly #relistInterval = new Histogram(COUNTED.relistInterval, USUAL_BOUNDS);
  readonly #podRelistDuration = new Histogram(COUNTED.podRelistDuration, USUAL_BOUNDS);
  readonly #streams = new Counter(COUNTED.eventStreams);
  readonly #streamErrors = new Counter(COUNTED.eventStreamErrors);
  readonly #latency = new Histogram(COUNTED.eventLatency, USUAL_BOUNDS);
  #relistedAtMs: number | undefined;

  /** `nowMs`: of a clock that is never set. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    for (const counter of [this.#streams, this.#streamErrors]) counter.add({}, 0);
  }

  relist(): Stopwatch {
    const nowMs = this.#nowMs();
    if (this.#relistedAtMs !== undefined)
      this.#relistInterval.observe({}, (nowMs - this.#relistedAtMs) / MS_PER_S);
    this.#relistedAtMs = nowMs;
    return this.#relistDuration.startTimer(this.#nowMs);
  }

  podRelist(): Stopwatch {
    return this.#podRelistDuration.startTimer(this.#nowMs);
  }

  eventsAsked(): void {
    this.#streams.add();
  }

  eventsFailed(): void {
    this.#streamErrors.add();
  }

  eventHeard(delayMs: number): void {
    this.#latency.observe({}, delayMs / MS_PER_S);
  }

  metrics(): readonly Metric[] {
    return [
      this.#relistDuration,
      this.#relistInterval,
      this.#podRelistDuration,
      this.#streams,
      this.#streamErrors,
      this.#latency,
    ].map((one) => one.metric());
  }
}
