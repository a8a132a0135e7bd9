import {
  conditionsLastObserved,
  conditionsObservedSince,
  nodeConditions,
} from '../../src/agent/policies/eviction/node-pressure.ts';
import {
  byEvictionPriority,
  mergeThresholds,
  thresholdsFirstObserved,
  thresholdsMet,
  thresholdsMetGracePeriod,
  thresholdsUpdatedStats,
} from '../../src/agent/policies/eviction/observations.ts';
import { type PressureCondition, starvedResource } from '../../src/agent/policies/eviction/signals.ts';
import type { Threshold } from '../../src/agent/policies/eviction/thresholds.ts';
import {
  type ObservationsJson,
  observationsFrom,
  type ThresholdJson,
  thresholdFrom,
} from '../support/eviction-json.ts';
import type { VectorAdapter } from '../support/vectors.ts';

type Seconds = Readonly<Record<string, number>>;

interface Input {
  readonly fn: keyof typeof FUNCTIONS;
  readonly thresholds: readonly ThresholdJson[];
  readonly a: readonly ThresholdJson[];
  readonly b: readonly ThresholdJson[];
  readonly observations: ObservationsJson;
  readonly lastObservations: ObservationsJson;
  readonly enforceMinReclaim: boolean;
  readonly current: readonly string[];
  readonly lastObservedAt: Seconds;
  readonly observedAt: Seconds;
  readonly conditions: readonly PressureCondition[];
  readonly periodSeconds: number;
  readonly now: number;
}

const FUNCTIONS = {
  thresholdsMet({ thresholds, observations, enforceMinReclaim }: Input) {
    // The kubelet has thresholds that are never exceeded; we have none.
    const named = new Named(thresholds.filter(({ operator }) => operator !== ''));
    const observed = observationsFrom(observations);
    return { met: named.ids(thresholdsMet(named.all, observed, { minReclaim: enforceMinReclaim })) };
  },
  thresholdsUpdatedStats({ thresholds, observations, lastObservations }: Input) {
    const named = new Named(thresholds);
    const [now, last] = [observationsFrom(observations), observationsFrom(lastObservations)];
    return { updated: named.ids(thresholdsUpdatedStats(named.all, now, last)) };
  },
  thresholdsFirstObservedAt({ thresholds, current, lastObservedAt, now }: Input) {
    const named = new Named(thresholds);
    const met = current.map((id) => named.get(id));
    const observed = thresholdsFirstObserved(met, named.observed(lastObservedAt), now * 1000);
    const seconds = observed.map(({ threshold, sinceMs }) => [named.id(threshold), sinceMs / 1000]);
    return { firstObservedAt: Object.fromEntries(seconds) as unknown };
  },
  thresholdsMetGracePeriod({ thresholds, observedAt, now }: Input) {
    const named = new Named(thresholds);
    return { metSorted: named.ids(thresholdsMetGracePeriod(named.observed(observedAt), now * 1000)).sort() };
  },
  nodeConditions({ thresholds }: Input) {
    return { conditions: nodeConditions(thresholds.map(thresholdFrom)) };
  },
  nodeConditionsLastObservedAt({ conditions, lastObservedAt, now }: Input) {
    const observed = conditionsLastObserved(conditions, milliseconds(lastObservedAt), now * 1000);
    return {
      lastObservedAt: Object.fromEntries(Array.from(observed, ([name, ms]) => [name, ms / 1000])) as unknown,
    };
  },
  nodeConditionsObservedSince({ observedAt, periodSeconds, now }: Input) {
    const observed = conditionsObservedSince(milliseconds(observedAt), periodSeconds * 1000, now * 1000);
    return { conditionsSorted: observed.toSorted() };
  },
  mergeThresholds({ a, b }: Input) {
    const named = new Named([...a, ...b]);
    const [first, second] = [named.all.slice(0, a.length), named.all.slice(a.length)];
    return { merged: named.ids(mergeThresholds(first, second)) };
  },
  sortAndReclaimable({ thresholds }: Input) {
    const named = new Named(thresholds);
    const sorted = byEvictionPriority(named.all);
    const first = sorted.find(({ signal }) => starvedResource(signal) !== undefined);
    const reclaimed = first && { threshold: named.id(first), resource: starvedResource(first.signal) };
    return { sorted: named.ids(sorted), found: first !== undefined, ...reclaimed };
  },
};

/** Thresholds whose identity is the object itself, as with the kubelet. */
class Named {
  readonly all: readonly Threshold[];
  readonly #ids: readonly string[];

  constructor(thresholds: readonly ThresholdJson[]) {
    this.all = thresholds.map(thresholdFrom);
    this.#ids = thresholds.map(({ id }) => id ?? '');
  }

  id(threshold: Threshold): string {
    return this.#ids[this.all.indexOf(threshold)]!;
  }

  ids(thresholds: readonly Threshold[]): string[] {
    return thresholds.map((threshold) => this.id(threshold));
  }

  get(id: string): Threshold {
    return this.all[this.#ids.indexOf(id)]!;
  }

  observed(seconds: Seconds) {
    return Object.entries(seconds).map(([id, at]) => ({ threshold: this.get(id), sinceMs: at * 1000 }));
  }
}

function milliseconds(seconds: Seconds): ReadonlyMap<PressureCondition, number> {
  return new Map(Object.entries(seconds).map(([name, at]) => [name as PressureCondition, at * 1000]));
}

export const adapter: VectorAdapter = {
  adapt: (input: Input): unknown => FUNCTIONS[input.fn](input),
};
