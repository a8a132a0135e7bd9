import { isGoTrue } from '../../policies/formats/go-text.ts';
import type { NumaNodes } from '../../policies/topology/merge-hints.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { StateletError } from '../../../types/errors.ts';
import type { ResourceManagerSettings } from '../../../types/node-settings.ts';
import type { Machine } from '../cpus/read-topology.ts';
import type { HintProvider } from './hint-provider.ts';
import { TopologyManager } from './topology-manager.ts';

const NUMA_NODES_MAX = 8;

export interface TopologyManagerSetup {
  readonly settings: ResourceManagerSettings;
  /** Not called without a policy. */
  readonly machine: () => Promise<Pick<Machine, 'numa'>>;
  /** In the order in which they are asked: devices, CPUs, memory. */
  readonly providers: readonly (HintProvider | undefined)[];
}

/** Rejects where the machine has too many NUMA nodes. */
export async function openTopologyManager(
  { measurements }: Pick<AgentContext, 'measurements'>,
  { settings, machine, providers }: TopologyManagerSetup,
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
    measurements: measurements?.placement,
  });
}
