import {
  confirmedThresholds,
  observeConditions,
  type ObservedCondition,
  type ObservedThreshold,
  observeThresholds,
  standingConditions,
} from '../../src/agent/policies/eviction-plugins/plugin-pass.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Threshold {
  readonly gracePeriodSeconds: number;
}

interface Input {
  readonly conditionTransitionPeriodSeconds: number;
  readonly rounds: readonly {
    readonly now: number;
    readonly thresholds: Readonly<Record<string, Threshold>>;
    readonly conditions: readonly string[];
  }[];
}

const seconds = <T>(observed: ReadonlyMap<string, T>, timeMs: (entry: T) => number) =>
  Object.fromEntries(Array.from(observed, ([name, entry]) => [name, timeMs(entry) / 1000]));

export const adapter: VectorAdapter = {
  adapt({ conditionTransitionPeriodSeconds, rounds }: Input) {
    let thresholds: ReadonlyMap<string, ObservedThreshold<Threshold>> = new Map();
    let conditions: ReadonlyMap<string, ObservedCondition<string>> = new Map();
    return {
      rounds: rounds.map((round) => {
        const now = round.now * 1000;
        thresholds = observeThresholds(new Map(Object.entries(round.thresholds)), thresholds, now);
        conditions = observeConditions(
          new Map(round.conditions.map((name) => [name, name])),
          conditions,
          now,
        );
        const standing = standingConditions(conditions, conditionTransitionPeriodSeconds * 1000, now);
        return {
          firstObservedAt: seconds(thresholds, ({ firstObservedAt }) => firstObservedAt),
          met: [...confirmedThresholds(thresholds, now).keys()].sort(),
          lastObservedAt: seconds(conditions, ({ lastObservedAt }) => lastObservedAt),
          conditions: [...standing.keys()].sort(),
        };
      }),
    };
  },
};
