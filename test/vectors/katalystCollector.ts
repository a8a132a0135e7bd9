import {
  CollectedAnswers,
  type RuledPod,
} from '../../src/agent/policies/eviction-plugins/collected-answers.ts';
import { chosenPods, EvictionQueue } from '../../src/agent/policies/eviction-plugins/pod-choice.ts';
import type { PluginCondition, ThresholdMetType } from '../../src/types/eviction-plugin.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Values {
  readonly plugin: string;
  readonly scope: string;
  readonly thresholdValue: number;
  readonly observedValue: number;
}

type Call =
  | {
      readonly call: 'evictPods';
      readonly plugin: string;
      readonly evictPods: readonly {
        readonly pod: string | null;
        readonly reason: string;
        readonly forceEvict: boolean;
        readonly gracePeriodSeconds: number | null;
      }[];
      readonly condition: PluginCondition | null;
    }
  | (Values & {
      readonly call: 'metThreshold';
      readonly metType: ThresholdMetType;
      readonly gracePeriodSeconds: number;
      readonly condition: PluginCondition | null;
      readonly candidatePods: readonly string[];
    })
  | (Values & {
      readonly call: 'top' | 'topSoft';
      readonly targetPods: readonly (string | null)[];
      readonly gracePeriodSeconds: number | null;
    });

interface Input {
  readonly dryRun: readonly string[];
  readonly burst: number;
  readonly calls: readonly Call[];
  readonly pods: Readonly<Record<string, Pod>>;
}

const grace = (seconds: number | null) => (seconds === null ? {} : { gracePeriodSeconds: seconds });

function apply(collected: CollectedAnswers, call: Call, pods: Input['pods']): void {
  const podsOf = (uids: readonly (string | null)[]) =>
    uids.map((uid) => pods[uid ?? '']).filter((pod) => pod !== undefined);
  const condition = 'condition' in call && call.condition ? { condition: call.condition } : {};
  switch (call.call) {
    case 'evictPods': {
      const evictPods = call.evictPods.flatMap(({ pod: uid, reason, forceEvict, gracePeriodSeconds }) =>
        podsOf([uid]).map((pod) => ({ pod, reason, forceEvict, ...grace(gracePeriodSeconds) })),
      );
      collected.evictPods(call.plugin, { evictPods, ...condition });
      break;
    }
    case 'metThreshold': {
      const candidatePods = podsOf(call.candidatePods);
      const { metType, scope, thresholdValue, observedValue, gracePeriodSeconds } = call;
      const values = { metType, scope, thresholdValue, observedValue, gracePeriodSeconds };
      collected.thresholdMet(call.plugin, { ...values, ...condition, candidatePods });
      break;
    }
    case 'top':
    case 'topSoft': {
      const answer = { targetPods: podsOf(call.targetPods), ...grace(call.gracePeriodSeconds) };
      collected[call.call === 'top' ? 'topPods' : 'topSoftPods'](call.plugin, call, answer);
    }
  }
}

const shown = (pods: ReadonlyMap<string, RuledPod>) =>
  Object.fromEntries(
    Array.from(pods, ([uid, { reason, forceEvict, plugin, scope, gracePeriodSeconds = null }]) => [
      uid,
      { reason, forceEvict, plugin, scope, gracePeriodSeconds },
    ]),
  );

export const adapter: VectorAdapter = {
  adapt({ dryRun, burst, calls, pods }: Input) {
    const collected = new CollectedAnswers(dryRun);
    for (const call of calls) apply(collected, call, pods);
    const { best, evictable } = chosenPods(collected);
    const uids = evictable.map(({ pod }) => pod.metadata.uid);
    const queue = new EvictionQueue<{ readonly uid: string }>(burst);
    queue.replace(uids.map((uid) => ({ uid })));
    return {
      soft: shown(collected.soft),
      force: shown(collected.force),
      conditions: [...collected.conditions.keys()].sort(),
      metThresholds: [...collected.thresholds.keys()].sort(),
      candidatePods: [...collected.candidates.keys()].sort(),
      best: best?.pod.metadata.uid ?? null,
      evictable: uids.sort(),
      popCount: queue.take().length,
    };
  },
};
