/** What the agent knows of its node: whether it is healthy, and what admission, the status of the node and its pods ask of it. */
import { withNodeObject } from '../../policies/node/initial-node.ts';
import { hostIPsOf } from '../../policies/node/reported-addresses.ts';
import type { NodeHealth } from '../../policies/node/ready-problems.ts';
import type { Pleg } from '../../runtime/pleg/pleg.ts';
import type { RuntimeState } from '../../runtime/pleg/runtime-state.ts';
import type { Clock } from '../../types/clock.ts';
import type { Node } from '../../types/kubernetes.ts';
import type { NodeFacts, OwnNodeFacts } from '../../types/node-facts.ts';
import type { ClusterParts } from '../cluster/cluster-parts.ts';
import type { EvictionManager } from '../eviction/eviction-manager.ts';
import type { NodeShutdown } from './node-shutdown.ts';
import type { StandingConditions } from '../plugins/plugin-parts.ts';
import type { Supervisor } from '../supervisor.ts';

/** The loop counts as stuck when it has not moved for twice the sync frequency, but not before this (the kubelet's). */
const LOOP_STUCK_MIN_MS = 5 * 60_000;

export interface NodeStateOptions {
  readonly clock: Clock;
  readonly syncFrequencyMs: number;
  /** Addresses of the node, the primary one first. */
  readonly hostIPs: readonly string[];
  /** As they are now, without the capabilities of the runtime. */
  readonly ownFacts: () => OwnNodeFacts;
  readonly pleg: Pick<Pleg, 'health'>;
  readonly runtimeState: Pick<RuntimeState, 'health' | 'supplementalGroupsPolicy'>;
  /** The parts of the agent that are put together after this one. */
  readonly parts: () => NodeStateParts;
}

export interface NodeStateParts {
  readonly supervisor: Pick<Supervisor, 'runtimeProblem'>;
  readonly eviction: Pick<EvictionManager, 'conditions'> | undefined;
  readonly shutdown: Pick<NodeShutdown, 'isShuttingDown'> | undefined;
  readonly cluster: Pick<ClusterParts, 'node' | 'freshNode'> | undefined;
  readonly plugins: StandingConditions | undefined;
}

export class NodeState {
  readonly #options: NodeStateOptions;
  #lastLoopAt: number;

  constructor(options: NodeStateOptions) {
    this.#options = options;
    this.#lastLoopAt = options.clock.now();
  }

  /** The loop of the agent has moved. */
  looped(): void {
    this.#lastLoopAt = this.#options.clock.now();
  }

  /** Why the agent is not healthy, if so. */
  problem(): string | undefined {
    const { clock, syncFrequencyMs, parts, pleg } = this.#options;
    const stuckMs = Math.max(2 * syncFrequencyMs, LOOP_STUCK_MIN_MS);
    if (clock.now() - this.#lastLoopAt > stuckMs) return 'the sync loop has not moved for too long';
    return parts().supervisor.runtimeProblem ?? pleg.health();
  }

  /** What decides whether the node is ready. */
  health(): NodeHealth {
    const { runtimeState, pleg } = this.#options;
    const { isShuttingDown } = this;
    return { runtime: runtimeState.health(), plegProblem: pleg.health(), isShuttingDown };
  }

  /** With the capabilities of the runtime, which are known once it is ready. In a cluster, as the API server has the node. */
  facts(node: Node | undefined = this.#options.parts().cluster?.node()): NodeFacts {
    const { ownFacts, runtimeState, parts } = this.#options;
    const { supplementalGroupsPolicy } = runtimeState;
    const facts = withNodeObject(ownFacts(), node);
    const { eviction, plugins } = parts();
    const conditions = eviction?.conditions() ?? facts.conditions;
    const ofPlugins = plugins && { pluginConditions: plugins.conditions() };
    const isShuttingDown = this.isShuttingDown && { isShuttingDown: true };
    return { ...facts, conditions, ...ofPlugins, supplementalGroupsPolicy, ...isShuttingDown };
  }

  /** Rejects where the API server does not answer. */
  async freshFacts(): Promise<NodeFacts> {
    return this.facts(await this.#options.parts().cluster?.freshNode());
  }

  /** In a cluster, as its node object has them. */
  hostIPs(): readonly string[] {
    const { parts, hostIPs } = this.#options;
    const ofNode = hostIPsOf(parts().cluster?.node()?.status?.addresses ?? []);
    return ofNode.length > 0 ? ofNode : hostIPs;
  }

  get isShuttingDown(): boolean {
    return this.#options.parts().shutdown?.isShuttingDown === true;
  }
}
