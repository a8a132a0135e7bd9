import { resolveConfig } from '../agent/config/config.ts';
import { shownConfiguration } from '../agent/config/shown-configuration.ts';
import { DEFAULT_EVICTION_HARD } from '../agent/policies/eviction/thresholds.ts';
import { parseQuantity, quantityValue } from '../agent/policies/formats/quantity.ts';
import type { HollowPlan } from '../hollow/plan/hollow-plan.ts';

const MEMORY = 'memory.available';

/**
 * `/configz` of hollow nodes, but for the port: the defaults of the kubelet, by which they behave, and what plan and flags say. `flags`: those of
 * the server, as in the tables of settings.
 */
export function hollowConfiguration(
  { capacity, taints, staticPodPath }: HollowPlan,
  flags: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const file = {
    registerWithTaints: [...taints],
    ...(staticPodPath !== undefined && { staticPodPath }),
    // Disks do not fill.
    evictionHard: { [MEMORY]: DEFAULT_EVICTION_HARD[MEMORY] },
    ...(capacity.pods !== undefined && { maxPods: Number(quantityValue(parseQuantity(capacity.pods))) }),
  };
  return shownConfiguration(resolveConfig({ ...flags, asKubelet: true }, file));
}
