/** Opens the cgroups of pods as a node is configured to have them. */
import type { CgroupDriverName } from '../../policies/cgroups/cgroup-names.ts';
import type { CgroupVersion } from '../../policies/cgroups/cgroup-values.ts';
import type { ContainerResourceFacts } from '../../policies/cri/linux-resources.ts';
import { memoryFacts, memoryQoSOf, memorySettingsWithoutEffect } from '../../policies/cri/memory-facts.ts';
import {
  enforcedAllocatable,
  type Reservations,
  reservedGroups,
  reservesPIDs,
} from '../../policies/node/node-allocatable.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { type ErrorKind, StateletError } from '../../../types/errors.ts';
import type { OwnNodeFacts } from '../../../types/node-facts.ts';
import type { NodeSettings } from '../../../types/node-settings.ts';
import { type MachineFacts, readMaxPIDs } from '../node/machine-facts.ts';
import { PodCgroups } from './pod-cgroups.ts';

/** systemd does not answer now. */
const SYSTEMD_WAITS: readonly ErrorKind[] = ['Unavailable', 'DeadlineExceeded'];

export interface PodCgroupsSetup {
  readonly facts: OwnNodeFacts;
  readonly reservations: Reservations;
  readonly settings: NodeSettings;
}

/** Rejects where this machine cannot have them. */
export async function openPodCgroups(
  context: AgentContext,
  { facts, reservations, settings }: PodCgroupsSetup,
  driver: CgroupDriverName,
  exclusiveCPUs?: { readonly holds: (uid: string) => boolean },
): Promise<PodCgroups> {
  const { logger } = context;
  const cgroups = await PodCgroups.open(context, {
    ...settings,
    driver,
    hasExclusiveCPUs: exclusiveCPUs && ((uid) => exclusiveCPUs.holds(uid)),
    cpuCFSQuotaPeriodUs: settings.cpuCFSQuotaPeriodMs * 1000,
    memoryQoS: memoryQoSOf(settings),
    reservesPIDs: reservesPIDs(reservations),
    reserved: reservedGroups(settings, reservations),
  });
  const capacity = { ...facts.capacity, pid: String(await readMaxPIDs()) };
  try {
    const limitsPods = settings.enforceNodeAllocatable.includes('pods');
    await cgroups.setUp(limitsPods ? enforcedAllocatable(capacity, reservations) : capacity);
  } catch (error) {
    // It is tried again for each pod.
    if (!(error instanceof StateletError && SYSTEMD_WAITS.includes(error.kind))) {
      cgroups.close();
      throw error;
    }
    logger.warn({}, `Pods wait for their cgroups: ${error.message}`);
  }
  for (const message of memorySettingsWithoutEffect(settings, cgroups.version ?? 1)) logger.warn({}, message);
  return cgroups;
}

/** What the resources of containers depend on. Throws InvalidArgument for a setting that this version of cgroups cannot keep. */
export function resourceFacts(
  { facts, reservations, settings }: PodCgroupsSetup,
  cgroupVersion: CgroupVersion,
  machine: MachineFacts,
): MachineFacts & ContainerResourceFacts {
  const { pageSizeBytes } = machine;
  const allocatable = enforcedAllocatable(facts.capacity, reservations);
  return {
    ...machine,
    ...memoryFacts(settings, { cgroupVersion, pageSizeBytes, allocatable }),
    cgroupVersion,
    cpuCFSQuota: settings.cpuCFSQuota,
    cpuCFSQuotaPeriodUs: settings.cpuCFSQuotaPeriodMs * 1000,
  };
}
