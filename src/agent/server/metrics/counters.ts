/** Metrics that grow while the agent runs: counters and histograms. */
import type { PodEffect } from '../../../types/measurements.ts';
import {
  goNumber,
  type Labels,
  labelText,
  type Metric,
  metric,
  type MetricHead,
  sample,
} from './metric-text.ts';

const MS_PER_S = 1000;

/** The default of Prometheus' libraries, in seconds. */
export const USUAL_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Of operations of volumes, in seconds. */
export const STORAGE_BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];
/** Of starts of pods, in seconds. */
export const START_BOUNDS = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700,
  3600,
];

type UntypedHead = Omit<MetricHead, 'type'>;

export class Counter {
  readonly #head: MetricHead;
  readonly #values = new Map<string, number>();

  constructor(head: UntypedHead) {
    this.#head = { ...head, type: 'counter' };
  }

  add(labels: Labels = {}, amount = 1): void {
    const text = labelText(labels);
    this.#values.set(text, (this.#values.get(text) ?? 0) + amount);
  }

  remove(labels: Labels): void {
    this.#values.delete(labelText(labels));
  }

  metric(): Metric {
    const { name } = this.#head;
    return { head: this.#head, samples: byLabels(this.#values, (text, value) => sample(name, text, value)) };
  }
}

interface Distribution {
  /** How many values are in each bucket, and in none below it; the last is above all bounds. */
  readonly counts: number[];
  sum: number;
}

export class Histogram {
  readonly #head: MetricHead;
  readonly #bounds: readonly number[];
  readonly #values = new Map<string, Distribution>();

  /** `bounds`: rising. */
  constructor(head: UntypedHead, bounds: readonly number[]) {
    this.#head = { ...head, type: 'histogram' };
    this.#bounds = bounds;
  }

  observe(labels: Labels, value: number): void {
    const text = labelText(labels);
    let found = this.#values.get(text);
    if (found === undefined) {
      found = { counts: Array.from({ length: this.#bounds.length + 1 }, () => 0), sum: 0 };
      this.#values.set(text, found);
    }
    const bucket = this.#bounds.findIndex((bound) => value <= bound);
    const index = bucket === -1 ? this.#bounds.length : bucket;
    found.counts[index] = (found.counts[index] ?? 0) + 1;
    found.sum += value;
  }

  /** Returns a function that observes the seconds since this call. `nowMs`: of a clock that is never set. */
  startTimer(nowMs: () => number, labels: Labels = {}): () => void {
    const beganMs = nowMs();
    return () => this.observe(labels, (nowMs() - beganMs) / MS_PER_S);
  }

  remove(labels: Labels): void {
    this.#values.delete(labelText(labels));
  }

  metric(): Metric {
    return {
      head: this.#head,
      samples: byLabels(this.#values, (text, distribution) => this.#samples(text, distribution)),
    };
  }

  #samples(text: string, { counts, sum }: Distribution): string {
    const { name } = this.#head;
    const before = text === '' ? '' : `${text},`;
    let below = 0;
    const lines = counts.map((count, index) => {
      below += count;
      const bound = this.#bounds[index] ?? Infinity;
      return sample(`${name}_bucket`, `${before}le="${goNumber(bound)}"`, below);
    });
    return `${lines.join('')}${sample(`${name}_sum`, text, sum)}${sample(`${name}_count`, text, below)}`;
  }
}

function byLabels<T>(
  values: ReadonlyMap<string, T>,
  toText: (labels: string, value: T) => string,
): readonly string[] {
  return [...values].sort(([a], [b]) => (a < b ? -1 : 1)).map(([labels, value]) => toText(labels, value));
}

type LabelledValues = Iterable<readonly [labels: Labels, value: number]>;

/** Metrics that are written out together. */
export class MetricSet {
  readonly #written: (() => Metric)[] = [];

  counter(name: string, help: string): Counter {
    const counter = new Counter({ name, help });
    this.#written.push(() => counter.metric());
    return counter;
  }

  /** `bounds`: rising. */
  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const histogram = new Histogram({ name, help }, bounds);
    this.#written.push(() => histogram.metric());
    return histogram;
  }

  /** `read` is asked at each scrape. A number is a value without labels; for undefined there is no sample. */
  gauge(name: string, help: string, read: () => LabelledValues | number | undefined): void {
    this.#written.push(() => {
      const value = read() ?? [];
      return metric({ name, help, type: 'gauge' }, typeof value === 'number' ? [[{}, value]] : value);
    });
  }

  metrics(): readonly Metric[] {
    return this.#written.map((write) => write());
  }
}

/** The counters and histograms of the agent since its start. */
export interface AgentCounters {
  readonly pods: { readonly effectsInFlight: ReadonlyMap<PodEffect, number> };
  metrics(): readonly Metric[];
  probeMetrics(): readonly Metric[];
}
