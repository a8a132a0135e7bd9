/** Metrics that grow while the agent runs: counters and histograms. */
import type { PodEffect } from '../../../types/measurements.ts';
import { goNumber, type Labels, labelText, type Metric, type MetricHead, sample } from './metric-text.ts';

const MS_PER_S = 1000;

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

  /** What it returns observes the seconds from now on. `nowMs`: of a clock that is never set. */
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

/** The counters and histograms of the agent since its start. */
export interface AgentCounters {
  readonly effectsInFlight: ReadonlyMap<PodEffect, number>;
  metrics(): readonly Metric[];
  probeMetrics(): readonly Metric[];
}
