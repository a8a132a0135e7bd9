import { isGoTrue } from '../../policies/formats/go-text.ts';
import type { NumaNodes } from '../../policies/topology/merge-hints.ts';
import { StateletError } from '../../../types/errors.ts';
import type { PlacementMeasurements } from '../../../types/measurements.ts';
import type { ResourceManagerSettings } from '../../../types/node-settings.ts';
import type { Machine } from '../cpus/read-topology.ts';
import type { HintProvider } from './hint-provider.ts';
import { TopologyManager } from './topology-manager.ts';

const NUMA_NODES_MAX = 8;

/** `providers` in the order in which they are asked: devices, CPUs, memory. `machine` is not asked without a policy. Rejects where it has too many NUMA nodes. */
export async function openTopologyManager(
  settings: ResourceManagerSettings,
  machine: () => Promise<Pick<Machine, 'numa'>>,
  providers: readonly (HintProvider | undefined)[],
  measurements?: PlacementMeasurements,
): Promise<TopologyManager> {
  const { topologyManagerPolicy: policy, topologyManagerPolicyOptions: options } = settings;
  const numa: NumaNodes = policy === 'none' ? { ids: [], distances: [] } : (await machine()).numa;
  const most = Number(options['max-allowable-numa-nodes'] ?? NUMA_NODES_MAX);
  if (numa.ids.length > most) {
    const problem = `topologyManagerPolicy ${policy}: unsupported on machines with more than ${most} NUMA Nodes`;
    throw new StateletError('FailedPrecondition', `${problem}: topologyManagerPolicyOptions may allow more`);
  }
  const prefersClosest = isGoTrue(options['prefer-closest-numa-nodes'] ?? '');
  return new TopologyManager({
    policy,
    scope: settings.topologyManagerScope,
    numa,
    prefersClosest,
    providers: providers.filter((provider) => provider !== undefined),
    measurements,
  });
}
