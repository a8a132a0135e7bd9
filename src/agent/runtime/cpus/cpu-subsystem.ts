/** Sets the CPUs of containers, exclusive or shared, in their configurations. */
import { NO_QUOTA } from '../../policies/cri/linux-resources.ts';
import { podOfUID } from '../node/compose-node.ts';
import type { PodSubsystem } from '../node/pod-node.ts';
import type { CpuManager } from './cpu-manager.ts';
import type { CpusetUpdates } from './cpuset-updates.ts';

/** The topology manager assigns and frees CPUs. `cpuCFSQuota`: whether other containers have a quota. */
export function cpuSubsystem(cpus: CpuManager, updates: CpusetUpdates, cpuCFSQuota: boolean): PodSubsystem {
  return {
    name: 'CPUs',
    sandbox: ({ metadata }) => ({ hasOwnCpus: cpus.holds(metadata.uid) }),
    container: ({ pod: { metadata }, container: { name } }) => {
      const cpusetCpus = cpus.cpusetOf(metadata.uid, name);
      // A quota would slow down a container with exclusive CPUs.
      const isExclusive = cpuCFSQuota && cpus.exclusive(metadata.uid, name).length > 0;
      const resources = { ...(cpusetCpus && { cpusetCpus }), ...(isExclusive && { cpuQuota: NO_QUOTA }) };
      return Promise.resolve({ resources });
    },
    created: ({ uid }, id, { metadata, linux }) =>
      updates.has(uid, metadata.name, { id, cpuset: linux?.resources?.cpusetCpus ?? '' }),
    release: (uid) => {
      updates.forget(uid);
      return Promise.resolve();
    },
    podsOnDisk: () => Promise.resolve(cpus.pods.map(podOfUID)),
  };
}
