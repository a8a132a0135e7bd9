/** What an agent is made of, beside its context: the node itself comes from outside. */
import type { Observable } from 'rxjs';
import type { SupervisorEvent } from '../../machines/supervisor-machine.ts';
import type { NodeParts } from '../../runtime/node/pod-node.ts';
import type { OwnNodeFacts } from '../../../types/node-facts.ts';
import type { ShutdownPeriod } from '../../../types/node-settings.ts';
import type { AgentCore, ClusterParts } from '../cluster/cluster-parts.ts';
import type { EvictionParts } from '../eviction/eviction-figures.ts';
import type { NodeDevicePlugins } from '../devices/node-device-plugins.ts';
import type { NodeDra } from '../dra/node-dra.ts';
import type { NodeCsi } from '../volumes/node-csi.ts';
import type { NodePlugins } from '../plugins/plugin-parts.ts';
import type { InstanceCountsStore } from '../../runtime/pods/instance-counts.ts';
import type { EndedPodsStore } from '../pods/ended-pods.ts';
import type { PodEffects } from '../pods/pod-actor.ts';
import type { StartGates } from '../start/pod-starts.ts';
import type { ShutdownRecord } from './node-shutdown.ts';

export interface NodeAgentOptions {
  readonly parts: NodeParts;
  /** Every source must be seen once before anything is removed. */
  readonly sources: readonly string[];
  /** The events of the sources. Subscribed to once the runtime has listed its pods. */
  readonly configuration: Observable<SupervisorEvent>;
  /** A problem of a source that blocks its reader for ever: the agent is not healthy then. */
  readonly sourceProblem?: () => string | undefined;
  /** UIDs of pods whose objects at the API server have changed. */
  readonly objectChanges?: Observable<string>;
  /** Addresses of the node, the primary one first. */
  readonly hostIPs: readonly string[];
  readonly syncFrequencyMs: number;
  /** The present facts, without the capabilities of the runtime. */
  readonly nodeFacts: () => OwnNodeFacts;
  /** Of victims of preemption that are otherwise equal, lower priority goes first. */
  readonly preemptionLowerPriorityFirst: boolean;
  /** Without it no pod is evicted. */
  readonly eviction?: EvictionParts;
  /** Makes the node's part in a cluster. Without it the node belongs to no cluster. */
  readonly cluster?: (core: AgentCore) => ClusterParts;
  /** Makes the part that asks eviction plugins. Without it none is asked. */
  readonly plugins?: (core: AgentCore) => NodePlugins;
  /** Makes the part to which device plugins register. Without it no device is handed out. */
  readonly devicePlugins?: (core: AgentCore) => NodeDevicePlugins;
  /** Makes the part for volumes of CSI drivers. Without it there are none. */
  readonly csi?: ((core: AgentCore) => NodeCsi) | undefined;
  /** Makes the part for DRA drivers and what they prepare. Without it pods have no ResourceClaims. */
  readonly dra?: ((core: AgentCore) => NodeDra) | undefined;
  /** How long pods have when the node shuts down, by rising priority. Empty: a shutdown does not wait for pods. */
  readonly shutdownPeriods?: readonly ShutdownPeriod[];
  /** Without it, the agent forgets when it stops which pods were ended for a shutdown, and when. */
  readonly shutdownRecord?: ShutdownRecord;
  readonly maxContainerRestartPeriodMs: number;
  /** By default that of CrashLoopBackOff. */
  readonly initialContainerRestartPeriodMs?: number;
  readonly maximumDeadContainersPerContainer: number;
  /** How many sandboxes and containers the runtime starts at a time. */
  readonly startsAtOnce: number;
  /** Without it, deletions of pods are forgotten when the agent stops. */
  readonly endedPods?: EndedPodsStore;
  /** Without it, the agent forgets when it stops how often containers of removed pods have run. */
  readonly instanceCounts?: InstanceCountsStore;
  /** Puts something between the pod actors and their effects: the judges of tests and simulation do. */
  readonly wrapEffects?: (effects: PodEffects) => PodEffects;
  /** The same for what pods ask before they start. */
  readonly wrapGates?: (gates: StartGates) => StartGates;
}
