/** How much memory simulated nodes have, and when they evict for it. */
import type { EvictionParts } from '../actors/eviction-figures.ts';
import { parseThresholds } from '../policies/eviction-thresholds.ts';

const MI = 2 ** 20;

/** By what a node evicts, in numbers: the agent gets it as configuration. */
export interface EvictionRules {
  readonly hardBytes: number;
  /** 0: no such threshold. */
  readonly softBytes: number;
  readonly softGracePeriodMs: number;
  readonly maxPodGracePeriodSeconds: number;
  readonly pressureTransitionPeriodMs: number;
}

export interface NodeMemory {
  readonly capacityBytes: number;
  readonly rules: EvictionRules;
}

/** How much a node has of what its pods use on average: most have plenty, or do not evict at all. */
const SHARES = [undefined, undefined, 10, 0.6, 0.35];
const USED_MI = 400;
const LEAST_MI = 512;

/** The memory of a node for so many pods; undefined where it does not evict. `random`: in [0, 1), by the key. */
export function drawnNodeMemory(pods: number, random: (key: string) => number): NodeMemory | undefined {
  const share = SHARES[Math.floor(SHARES.length * random('memory'))];
  if (share === undefined) return undefined;
  const rules: EvictionRules = {
    hardBytes: 100 * MI,
    softBytes: random('memory/soft') < 0.5 ? 300 * MI : 0,
    softGracePeriodMs: 30_000,
    maxPodGracePeriodSeconds: 10,
    pressureTransitionPeriodMs: 60_000,
  };
  return { capacityBytes: Math.round(Math.max(LEAST_MI, share * pods * USED_MI)) * MI, rules };
}

export function evictionConfiguration(rules: EvictionRules): EvictionParts['configuration'] {
  const { hardBytes, softBytes, softGracePeriodMs } = rules;
  const signal = 'memory.available';
  const soft = softBytes > 0;
  return {
    thresholds: parseThresholds({
      evictionHard: { [signal]: String(hardBytes) },
      evictionSoft: soft ? { [signal]: String(softBytes) } : {},
      evictionSoftGracePeriod: soft ? { [signal]: `${String(softGracePeriodMs)}ms` } : {},
      evictionMinimumReclaim: {},
      enforceNodeAllocatable: [],
    }),
    pressureTransitionPeriodMs: rules.pressureTransitionPeriodMs,
    maxPodGracePeriodSeconds: rules.maxPodGracePeriodSeconds,
    localStorageCapacityIsolation: true,
  };
}
