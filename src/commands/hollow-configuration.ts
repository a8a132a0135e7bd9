import { resolveConfig, type RunFlags } from '../agent/config/config.ts';
import { shownConfiguration } from '../agent/config/shown-configuration.ts';
import { shownFlags } from '../agent/config/shown-flags.ts';
import { cpuSetString } from '../agent/policies/cpus/cpu-set.ts';
import { parseQuantity, quantityValue } from '../agent/policies/formats/quantity.ts';
import { RESERVED_MEMORY_BYTES } from '../hollow/node/hollow-managers.ts';
import { evictionHardOf } from '../hollow/node/hollow-resources.ts';
import type { PlannedManagers } from '../hollow/plan/planned-managers.ts';
import type { HollowPlan } from '../hollow/plan/hollow-plan.ts';
import type { ServedSettings } from '../hollow/serve/hollow-routes.ts';

/**
 * What hollow nodes show at `/configz` and `/flagz`, but for names and ports: the defaults of the kubelet, by which they behave, and what plan and
 * flags say. `flags`: those of the server, as in the tables of settings.
 */
export function hollowConfiguration(
  plan: HollowPlan,
  flags: RunFlags,
): Pick<ServedSettings, 'configuration' | 'flags'> {
  const { capacity, taints, staticPodPath, managers } = plan;
  const file = {
    ...managersConfiguration(managers),
    registerWithTaints: [...taints],
    ...(staticPodPath !== undefined && { staticPodPath }),
    evictionHard: evictionHardOf(plan),
    ...(capacity.pods !== undefined && { maxPods: Number(quantityValue(parseQuantity(capacity.pods))) }),
  };
  const config = resolveConfig({ ...flags, asKubelet: true }, file);
  return { configuration: shownConfiguration(config), flags: shownFlags(config) };
}

function managersConfiguration({ reservedSystemCPUs, numaNodes: _numaNodes, ...policies }: PlannedManagers) {
  return {
    ...policies,
    ...(reservedSystemCPUs.length > 0 && { reservedSystemCPUs: cpuSetString(reservedSystemCPUs) }),
    ...(policies.memoryManagerPolicy === 'Static' && {
      reservedMemory: [{ numaNode: 0, limits: { memory: String(RESERVED_MEMORY_BYTES) } }],
    }),
  };
}
