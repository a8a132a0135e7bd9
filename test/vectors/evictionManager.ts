import {
  type NodeReclaim,
  withContainerFsThresholds,
} from '../../src/agent/policies/eviction/file-system-parts.ts';
import { observe } from '../../src/agent/policies/eviction/observations.ts';
import {
  chooseVictim,
  evaluateEviction,
  type Eviction,
  type EvictionFacts,
  INITIAL_EVICTION_STATE,
} from '../../src/agent/policies/eviction/pass.ts';
import { shortageAfterReclaim } from '../../src/agent/policies/eviction/shortage.ts';
import { isHardThreshold, type Threshold } from '../../src/agent/policies/eviction/thresholds.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { Summary } from '../../src/types/stats.ts';
import { type ThresholdJson, thresholdFrom } from '../support/eviction-json.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Step {
  readonly now: number;
  readonly activePods: readonly string[];
  readonly summary: Summary;
  /** null: the measurement failed. */
  readonly summaryAfterReclaim: Summary | null;
}

interface Input {
  readonly config: {
    readonly thresholds: readonly ThresholdJson[];
    readonly pressureTransitionPeriodSeconds: number;
    readonly maxPodGracePeriodSeconds: number;
  };
  readonly dedicatedImageFs: boolean;
  readonly dedicatedContainerFs: boolean;
  readonly localStorageCapacityIsolation: boolean;
  readonly pods: readonly Pod[];
  readonly steps: readonly Step[];
}

const NOBODY: ReadonlySet<string> = new Set();

export const adapter: VectorAdapter = {
  adapt(input: Input) {
    const given = input.config.thresholds.map(thresholdFrom);
    const settings = settingsFor(input, given);
    let state = INITIAL_EVICTION_STATE;
    const steps = input.steps.map((step, index) => {
      const pods = step.activePods.map((name) => input.pods.find(({ metadata }) => metadata.name === name)!);
      const thresholds = index === 0 ? knownAtFirst(given, settings.thresholds) : settings.thresholds;
      const facts = {
        summary: step.summary,
        pods,
        nowMs: step.now * 1000,
        ending: NOBODY,
        unendable: NOBODY,
      };
      const pass = evaluateEviction({ ...facts, settings: { ...settings, thresholds }, state });
      state = pass.state;
      const { evictions, reclaim } = done({ ...facts, settings, state }, step, pass);
      const kills = evictions.map(asJson);
      const evicted = kills.map(({ pod }) => pod);
      return { evicted, kills, nodeConditions: pass.conditions.toSorted(), reclaim, error: null };
    });
    return { steps };
  },
};

function settingsFor(input: Input, given: readonly Threshold[]): EvictionFacts['settings'] {
  const { config, dedicatedImageFs, dedicatedContainerFs: splitContainerFs } = input;
  const layout = { dedicatedImageFs, splitContainerFs };
  return {
    layout,
    thresholds: withContainerFsThresholds(given, layout).thresholds,
    pressureTransitionPeriodMs: config.pressureTransitionPeriodSeconds * 1000,
    maxPodGracePeriodSeconds: config.maxPodGracePeriodSeconds,
    localStorageCapacityIsolation: input.localStorageCapacityIsolation,
  };
}

/** In its first pass, the kubelet does not use thresholds yet that it has derived itself. */
function knownAtFirst(given: readonly Threshold[], all: readonly Threshold[]): readonly Threshold[] {
  const isGiven = (threshold: Threshold) =>
    given.some(
      (other) => other.signal === threshold.signal && isHardThreshold(other) === isHardThreshold(threshold),
    );
  return all.filter(isGiven);
}

interface Done {
  readonly evictions: readonly Eviction[];
  readonly reclaim: readonly NodeReclaim[];
}

function done(
  facts: EvictionFacts,
  { summaryAfterReclaim }: Step,
  { overLimit, shortage }: ReturnType<typeof evaluateEviction>,
): Done {
  if (shortage === undefined) return { evictions: overLimit, reclaim: [] };
  const { reclaim } = shortage;
  const observations = summaryAfterReclaim === null ? undefined : observe(summaryAfterReclaim);
  const { thresholds } = facts.settings;
  if (reclaim.length > 0 && shortageAfterReclaim(shortage, thresholds, observations) === undefined)
    return { evictions: [], reclaim };
  // The kubelet continues with the earlier figures.
  const { eviction } = chooseVictim({ ...facts, shortage });
  return { evictions: eviction ? [eviction] : [], reclaim };
}

function asJson({ pod, kill }: Eviction) {
  const { podTerminationGracePeriodSecondsOverride: gracePeriodSeconds, podStatus } = kill;
  return { pod: pod.name, gracePeriodSeconds, status: podStatus };
}
