import { existsSync } from 'node:fs';
import { namedCgroup } from '../../policies/cgroups/cgroup-names.ts';
import { kubepodsResources } from '../../policies/cgroups/cgroup-resources.ts';
import { cgroupValues } from '../../policies/cgroups/cgroup-values.ts';
import type { ReservedGroup } from '../../policies/node/node-allocatable.ts';
import { errorKind, errorMessage, StateletError } from '../../types/errors.ts';
import type { NodeEventRecorder } from '../../types/event-recorder.ts';
import type { CgroupDriver } from './cgroup-driver.ts';
import type { CgroupTree } from './cgroup-tree.ts';

export interface ReservedLimits {
  readonly tree: CgroupTree;
  readonly driver: CgroupDriver;
  /** Whether the kernel keeps for daemons the memory that is reserved: the feature MemoryQoS. */
  readonly keepsMemory?: boolean;
  readonly recorder: NodeEventRecorder;
}

/** Limits cgroups of daemons to what is reserved for them. Rejects as FailedPrecondition for one that does not exist. */
export async function limitReservedGroups(
  reserved: readonly ReservedGroup[],
  { tree, driver, keepsMemory = false, recorder }: ReservedLimits,
): Promise<void> {
  for (const { title, field, name, limits } of reserved) {
    try {
      const group = namedCgroup(name, driver.name);
      const resources = kubepodsResources(limits);
      const { memoryLimitBytes } = resources;
      const kept = keepsMemory && memoryLimitBytes !== undefined ? { memoryMinBytes: memoryLimitBytes } : {};
      const values = cgroupValues(tree.version, { ...resources, ...kept });
      const missing = values
        .map(({ controller }) => tree.folder(controller, group))
        .find((path) => !existsSync(path));
      if (missing !== undefined) throw notThere(field, name, missing);
      await driver.write(group, values);
    } catch (error) {
      const what = `${title[0]?.toUpperCase() ?? ''}${title.slice(1)}`;
      const message = `Failed to enforce ${what} Cgroup Limits on "${name}": ${errorMessage(error)}`;
      recorder.nodeEvent('Warning', 'FailedNodeAllocatableEnforcement', message);
      throw new StateletError(errorKind(error), message, { cause: error });
    }
    recorder.nodeEvent('Normal', 'NodeAllocatableEnforced', `Updated limits on ${title} cgroup ${name}`);
  }
}

function notThere(field: string, name: string, missing: string): StateletError {
  const mend = `make it (with systemd: a slice that is started before this agent), or name another group as ${field}`;
  return new StateletError(
    'FailedPrecondition',
    `${field} "${name}" does not exist (there is no ${missing}): ${mend}`,
  );
}
